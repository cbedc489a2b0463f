"""The servers that log, each with how its logging is switched."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from quiclens_lab.errors import LabError
from quiclens_lab.logging_cost.load import LARGE, SMALL
from quiclens_lab.servers import PATIENCE_S, Running, missing, serving

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
class Stack:
    """A server as it is measured."""

    name: str
    logs: str  # by whom and how
    program: str = ""  # of `servers.py`; Caddy where there is none
    options: Sequence[str] = ()
    takes_a_share: bool = True
    names_first_ids: bool = True  # its logs are called by their clients' first destination ids

    def missing(self) -> str | None:
        """Why it cannot be run here, or None."""
        if self.program:
            return missing(self.program)
        return None if CADDY.is_file() else f"no {CADDY}"

    def serving(self, folder: Path, share: float) -> AbstractContextManager[Running]:
        """Run it until the block ends, with qlogs of that share of the connections below `folder/traces`."""
        if not self.program:
            return _caddy(folder, share > 0)
        return serving(self.program, folder, [*self.options, "--log-share", f"{share:g}"])


STACKS = (
    Stack("caddy", "`QLOGDIR`, a file that grows", takes_a_share=False),
    Stack("quic-go", "its own tracer, a file that grows", "quic-go"),
    Stack("quiche", "tokio-quiche's `qlog_dir`, a file that grows", "quiche", (), False, False),
    Stack("quinn", "`QlogConfig`, a file that grows; four events, no frames", "quinn"),
    Stack("aioquic", "`QuicFileLogger`, a document at the end", "aioquic", ("--documents",)),
    Stack("aioquic-growing", "the lab's writer, a line flushed for each event", "aioquic"),
)


@contextmanager
def _caddy(folder: Path, is_logged: bool) -> Iterator[Running]:
    (folder / "files").mkdir(parents=True)
    for size in (SMALL, LARGE):
        (folder / "files" / str(size)).mkdir()
        (folder / "files" / str(size) / "0").write_bytes(bytes(size))
    for name, source in (("chain.pem", "test_only_certificate.pem"), ("key.pem", "test_only_key.pem")):
        (folder / name).write_bytes((files("quiclens_lab") / source).read_bytes())
    port = _free_port()
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
        yield Running(port, process.pid)
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    """One that is free for TCP and for UDP."""
    while True:
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            tcp.bind(("127.0.0.1", 0))
            port = int(tcp.getsockname()[1])
            try:
                udp.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
