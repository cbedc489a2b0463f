"""The servers that log, each with how its logging is switched."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from quiclens_lab import ngtcp2, picoquic
from quiclens_lab.errors import LabError
from quiclens_lab.logging_cost.load import LARGE, SMALL
from quiclens_lab.ports import free_port
from quiclens_lab.servers import PATIENCE_S, RunningServer, missing, serving
from quiclens_lab.static_files import lay_out

CADDY = Path(sys.executable).with_name("caddy")
_CADDYFILE = """{{
	admin off
	skip_install_trust
	default_sni localhost
	fallback_sni localhost
}}
:{port} {{
	tls {folder}/chain.pem {folder}/key.pem
	log {{
		output file {folder}/access.jsonl {{
			mode 0644
		}}
		format json
	}}
	root * {folder}/files
	file_server
}}
"""
_SERVES = "serving initial configuration"


@dataclass(frozen=True, slots=True)
class Packaged:
    """A server from its own package, which logs all connections or none."""

    missing: Callable[[], str | None]
    serving: Callable[[Path, bool], AbstractContextManager[RunningServer]]
    """Below a folder, with or without qlogs."""


@dataclass(frozen=True, slots=True)
class Stack:
    """A server as it is measured."""

    name: str
    logs: str  # by whom and how
    runs: str | Packaged  # a program of `servers.py`, or a package's
    options: Sequence[str] = ()
    takes_a_share: bool = True
    names_first_ids: bool = True  # its logs are called by their clients' first destination ids
    has_access_log: bool = True
    ends_on: signal.Signals = signal.SIGTERM

    def missing(self) -> str | None:
        """Why it cannot be run here, or None."""
        return missing(self.runs) if isinstance(self.runs, str) else self.runs.missing()

    def serving(self, folder: Path, share: float) -> AbstractContextManager[RunningServer]:
        """Run it until the block ends, with qlogs of that share of the connections below `folder/traces`."""
        if isinstance(self.runs, Packaged):
            return self.runs.serving(folder, share > 0)
        return serving(self.runs, folder, [*self.options, "--log-share", f"{share:g}"])


def _no_caddy() -> str | None:
    return None if CADDY.is_file() else f"no {CADDY}"


@contextmanager
def _caddy(folder: Path, is_logged: bool) -> Iterator[RunningServer]:
    lay_out(folder / "files", (SMALL, LARGE))
    for name, source in (("chain.pem", "test_only_certificate.pem"), ("key.pem", "test_only_key.pem")):
        (folder / name).write_bytes((files("quiclens_lab") / source).read_bytes())
    port = free_port()
    (folder / "Caddyfile").write_text(_CADDYFILE.format(port=port, folder=folder))
    environment = {name: value for name, value in os.environ.items() if name != "QLOGDIR"}
    environment |= {"HOME": str(folder)} | ({"QLOGDIR": str(folder / "traces")} if is_logged else {})
    words = [str(CADDY), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    said = folder / "server.log"
    with said.open("wb") as log:
        process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        until = time.monotonic() + PATIENCE_S
        while _SERVES not in said.read_text():
            if process.poll() is not None or time.monotonic() > until:
                raise LabError(f"Caddy did not start: {said.read_text()[-500:]}")
            time.sleep(0.02)
        yield RunningServer(port, process.pid)
    finally:
        process.terminate()
        process.wait()


def _ngtcp2(folder: Path, is_logged: bool) -> AbstractContextManager[RunningServer]:
    return ngtcp2.serving(folder, is_logged, (SMALL, LARGE))


def _picoquic(folder: Path, is_logged: bool) -> AbstractContextManager[RunningServer]:
    return picoquic.serving(folder, is_logged, (SMALL, LARGE))


STACKS = (
    Stack("caddy", "`QLOGDIR`, a file that grows", Packaged(_no_caddy, _caddy), takes_a_share=False),
    Stack("quic-go", "its own tracer, a file that grows", "quic-go"),
    Stack("quiche", "tokio-quiche's `qlog_dir`, a file that grows", "quiche", (), False, False),
    Stack("quinn", "`QlogConfig`, a file that grows; four events, no frames", "quinn"),
    Stack("aioquic", "`QuicFileLogger`, a document at the end", "aioquic", ("--documents",)),
    Stack("aioquic-growing", "the lab's writer, a line flushed for each event", "aioquic"),
    Stack(
        "ngtcp2",
        "its example server's `--qlog-dir`, a file that grows by 4 kB",
        Packaged(ngtcp2.missing, _ngtcp2),
        takes_a_share=False,
        names_first_ids=False,
        has_access_log=False,
        ends_on=ngtcp2.ENDS_ON,
    ),
    Stack(
        "picoquic",
        "`picoquic_set_qlog`, a document that grows",
        Packaged(picoquic.missing, _picoquic),
        takes_a_share=False,
        has_access_log=False,
    ),
)
