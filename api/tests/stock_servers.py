"""What tests of servers from their own packages have in common: a certificate, processes, requests."""

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from quiclens_lab.errors import LabError
from quiclens_lab.live_client import client
from quiclens_lab.logging_cost.load import Load, Loaded, ids
from quiclens_lab.logging_cost.load import ask as ask_for_files
from quiclens_lab.relay import Conditions, Passed, relayed

BIN = Path(sys.executable).parent
COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", "target/release/quiclens-collector"))
needs_collector = pytest.mark.skipif(not COLLECTOR.is_file(), reason="no quiclens-collector: cargo build --release")

# One connection after the other, and on each one request after the other.
_HTTP2_CLIENT = """
const [port, connections, requests] = process.argv.slice(1).map(Number);
for (let connection = 0; connection < connections; connection++) {
  const session = require("http2").connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  for (let request = 0; request < requests; request++) {
    const id = `h2-${connection}-${request}`;
    const fields = { ":path": `/${id}`, ":authority": "live.lab.example", "x-request-id": id };
    const stream = session.request(fields);
    await new Promise((done, failed) => stream.resume().on("end", done).on("error", failed));
  }
  await new Promise((done) => session.close(done));
}
"""


def make_certificate(folder: Path) -> None:
    """`chain.pem` and `key.pem` of localhost."""
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=DNS:localhost", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/chain.pem"]
    subprocess.run(["openssl", *made], check=True, capture_output=True)


async def ask_behind(port: int, path: Conditions, load: Load) -> tuple[Loaded, Passed]:
    """Ask a server of files over such a path: what the clients saw, and what went over the path."""
    async with relayed(port, path) as (entry, passed):
        return await ask_for_files(entry, load), passed


def of_the_clients_time(streams: Iterable[Mapping[str, Any]], loaded: Loaded, load: Load) -> list[float]:
    """Each stream's duration as a share of the time that its client waited."""
    of_id = dict(zip((each.hex() for each in ids(load)), loaded.latencies_us, strict=True))
    return [each["duration_us"] / of_id[each["connection_id"]][each["stream_id"] // 4] for each in streams]


async def ask(port: int, connections: int, requests: int) -> None:
    """Connections one after the other, as soon as the server is there."""
    until = time.monotonic() + 600
    for number in range(connections):
        while True:
            try:
                await client(port, number, requests, 0)
                break
            except LabError:  # it is not there yet
                assert number == 0 and time.monotonic() < until


def ask_http2(port: int, connections: int, requests: int) -> None:
    """Connections over HTTP/2, of a server that is there."""
    program = f"(async () => {{{_HTTP2_CLIENT}}})().catch((error) => {{ console.error(error); process.exit(1) }})"
    words = ["node", "-e", program, str(port), str(connections), str(requests)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr


@contextmanager
def running(words: Sequence[str | Path], said: Path, **environment: str) -> Iterator[None]:
    """A process that is ended with the block; what it says goes to a file."""
    with said.open("wb") as log:
        process = subprocess.Popen(words, env={**os.environ, **environment}, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait()
