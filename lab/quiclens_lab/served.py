"""A new store, served by a process of its own, with a token of each role."""

import hashlib
import http.client
import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from quiclens_lab.errors import LabError

CODE = (
    "requirements.lock",
    *(f"api/{name}/quiclens_{name}" for name in ("questions", "web", "store_server", "command_line")),
    *(f"schema/{name}" for name in ("quiclens_schema", "catalogue", "clickhouse", "topics")),
    "ingest/quiclens_ingest",
    "lab/quiclens_lab/served.py",
)
"""What a served store is built of, in the source tree; see `machine.code_of`."""


@dataclass(frozen=True)
class Served:
    """A running `quiclens serve`, and the tokens that it takes, one a role."""

    port: int
    process: "subprocess.Popen[str]"
    reader: str
    writer: str
    uploader: str
    log: Path

    def ask(
        self, method: str, path: str, body: bytes | str = b"", token: str = "", kind: str = "", seconds: float = 300
    ) -> tuple[int, int]:
        """The status of an answer and how many bytes came; whatever stops it is an OSError or HTTPException."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        headers = {"X-ClickHouse-Key": token} if token else {}
        try:
            connection.request(method, path, body, headers | ({"Content-Type": kind} if kind else {}))
            answer, size = connection.getresponse(), 0
            while piece := answer.read(1 << 20):
                size += len(piece)
            return answer.status, size
        finally:
            connection.close()

    def logged(self, name: str) -> str:
        """What the log says from the line on that names this; empty where none does."""
        _, found, rest = self.log.read_text(encoding="utf-8", errors="replace").partition(name)
        return (found + rest)[:4000]

    def memory_bytes(self) -> int:
        """The most that the process has held in memory so far."""
        said = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in said.splitlines() if line.startswith("VmHWM")) * 1024


@contextmanager
def served(folder: Path, needs_token: bool = True) -> Iterator[Served]:
    """Serve the store below a folder, a new one where there is none; without tokens, whoever reaches it may do
    everything."""
    reader, writer, uploader = (secrets.token_hex(16) for _ in range(3))
    tokens = folder / "tokens"
    tokens.write_text(
        "".join(
            f"{role} {role} sha256:{hashlib.sha256(token.encode()).hexdigest()}\n"
            for role, token in (("reader", reader), ("writer", writer), ("uploader", uploader))
        )
    )
    words = [sys.executable, "-m", "quiclens_command_line", "serve", "--listen", "127.0.0.1:0", "--json"]
    words += ["--store", f"chdb:{folder / 'store'}", *(["--tokens", str(tokens)] if needs_token else [])]
    with (folder / "serve.log").open("w") as log:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise LabError(f"quiclens serve did not start: {(folder / 'serve.log').read_text()}")
        yield Served(
            urlsplit(json.loads(line)["url"]).port or 0, process, reader, writer, uploader, folder / "serve.log"
        )
    finally:
        process.terminate()
        process.communicate(timeout=60)
