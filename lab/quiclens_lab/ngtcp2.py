"""ngtcp2's example server, from Debian's package `ngtcp2-server`, unpacked below `target/` by `make servers`.

It serves files over HTTP/3, logs every connection or none, and writes no access log.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

from quiclens_lab.errors import CannotTryError, LabError
from quiclens_lab.machine import LAB
from quiclens_lab.ports import free_port, hears_udp
from quiclens_lab.servers import PATIENCE_S, TARGET, Running
from quiclens_lab.static_files import lay_out

_ROOT = TARGET / "ngtcp2"
SERVER = _ROOT / "usr" / "sbin" / "gtlsserver"
ENDS_ON = signal.SIGINT
"""It has no handler of SIGTERM: killed, it leaves the ends of open logs in its buffers."""


def missing() -> str | None:
    """Why it cannot be run here, or None."""
    relative = SERVER.relative_to(LAB.parent)
    return None if SERVER.is_file() else f"{relative} is not there: `make servers`, where apt-get reaches Debian"


@contextmanager
def serving(folder: Path, is_logged: bool, sizes: Iterable[int]) -> Iterator[Running]:
    """Run it until the block ends, with a file of each size and qlogs in `folder/traces`."""
    if reason := missing():
        raise CannotTryError(reason)
    lay_out(folder / "files", sizes)
    (folder / "traces").mkdir(exist_ok=True)
    port = free_port()
    said = folder / "server.log"
    package = files("quiclens_lab")
    with (
        as_file(package / "test_only_certificate.pem") as certificate,
        as_file(package / "test_only_key.pem") as key,
        said.open("wb") as log,
    ):
        words = [str(SERVER), "--quiet", f"--htdocs={folder / 'files'}"]
        words += [f"--qlog-dir={folder / 'traces'}"] if is_logged else []
        words += ["127.0.0.1", str(port), str(key), str(certificate)]
        process = subprocess.Popen(
            words, env={**os.environ, **environment()}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            until = time.monotonic() + PATIENCE_S
            while not hears_udp(port):
                if process.poll() is not None or time.monotonic() > until:
                    raise LabError(f"ngtcp2's server did not start: {said.read_text(errors='replace')[-500:]}")
                time.sleep(0.02)
            yield Running(port, process.pid)
        finally:
            process.send_signal(ENDS_ON)
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise LabError(f"ngtcp2's server did not end within {PATIENCE_S} s of {ENDS_ON.name}") from None


def environment() -> dict[str, str]:
    """Where the libraries of the unpacked packages are: a folder that is named after the machine."""
    folders = sorted(str(path) for path in (_ROOT / "usr" / "lib").glob("*-linux-gnu*"))
    return {"LD_LIBRARY_PATH": ":".join(folders)}
