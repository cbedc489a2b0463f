"""The servers that can be run live, and the one protocol by which all are run.

A server is a program: `PROGRAM --out DIR --certificate PEM --key PEM [--log-share SHARE]`. It listens on 127.0.0.1,
prints `{"port":N}` as its first line, answers `GET /<bytes>/<think in us>` over HTTP/3, writes its qlogs as its stack
does below `DIR/traces` and the lines it can honestly log to `DIR/access.jsonl`, and ends on SIGTERM. Of a share it logs
the connections whose first destination id's SHA-256 begins with a number below it, of 2^32; quiche's takes 0 and 1.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from quiclens_lab.errors import CannotTryError, LabError
from quiclens_lab.machine import LAB

TARGET = LAB.parent / "target"
PATIENCE_S = 20

OLD_QUIC_GO = sorted(path.name.removesuffix(".mod") for path in (LAB / "quicgo" / "versions").glob("v*.mod"))
"""Versions of quic-go before the lab's own, one at least of each form of its interface and of its logs."""

PROGRAMS: dict[str, list[str]] = {
    "aioquic": [sys.executable, "-m", "quiclens_lab.aioquic_server"],
    "aioquic-documents": [sys.executable, "-m", "quiclens_lab.aioquic_server", "--documents"],
    "quic-go": [str(TARGET / "quicgo-server")],
    "quiche": [str(TARGET / "quiche" / "release" / "quiche-server")],
    "quinn": [str(TARGET / "quinn" / "release" / "quinn-server")],
    **{f"quic-go-{version}": [str(TARGET / f"quicgo-server-{version}")] for version in OLD_QUIC_GO},
}


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that answers."""

    port: int
    pid: int


def missing(name: str) -> str | None:
    """Why this server cannot be run here, or None."""
    program = Path(PROGRAMS[name][0])
    target = "quic-go-versions" if name.startswith("quic-go-") else "servers"
    return None if program.is_file() else f"{program.relative_to(LAB.parent)} is not built: `make {target}`"


@contextmanager
def serving(name: str, folder: Path, options: Sequence[str] = ()) -> Iterator[RunningServer]:
    """Run a server until the block ends. What it says goes to `folder/server.log`."""
    if reason := missing(name):
        raise CannotTryError(reason)
    folder.mkdir(parents=True, exist_ok=True)
    package = files("quiclens_lab")
    with (
        as_file(package / "test_only_certificate.pem") as certificate,
        as_file(package / "test_only_key.pem") as key,
        (folder / "server.log").open("ab") as log,
    ):
        words = [*PROGRAMS[name], "--out", str(folder), "--certificate", str(certificate), "--key", str(key)]
        words += options
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        try:
            yield RunningServer(_port(name, folder, process), process.pid)
        finally:
            process.terminate()
            try:
                process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise LabError(f"{name}'s server did not end within {PATIENCE_S} s of SIGTERM") from None


def _port(name: str, folder: Path, process: "subprocess.Popen[bytes]") -> int:
    assert process.stdout is not None
    first = process.stdout.readline()
    if not first:
        raise LabError(f"{name}'s server did not start; see {folder / 'server.log'}")
    return int(json.loads(first)["port"])
