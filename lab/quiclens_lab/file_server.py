"""A server that is a program of others and serves files over HTTP/3, run until a block ends."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

from quiclens_lab.errors import LabError
from quiclens_lab.ports import free_port, hears_udp
from quiclens_lab.servers import PATIENCE_S, RunningServer
from quiclens_lab.static_files import lay_out

Words = Callable[[int, Path, Path], Sequence[str]]
"""The command for a port, a certificate and its key."""


@contextmanager
def serving(
    name: str,
    folder: Path,
    sizes: Iterable[int],
    words: Words,
    environment: Mapping[str, str] | None = None,
    ends_on: signal.Signals = signal.SIGTERM,
) -> Iterator[RunningServer]:
    """Run it with a file of each size in `folder/files`, and make `folder/traces` for its logs."""
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
        process = subprocess.Popen(
            words(port, certificate, key),
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            until = time.monotonic() + PATIENCE_S
            while not hears_udp(port):
                if process.poll() is not None or time.monotonic() > until:
                    raise LabError(f"{name}'s server did not start: {said.read_text(errors='replace')[-500:]}")
                time.sleep(0.02)
            yield RunningServer(port, process.pid)
        finally:
            process.send_signal(ends_on)
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise LabError(f"{name}'s server did not end within {PATIENCE_S} s of {ends_on.name}") from None
