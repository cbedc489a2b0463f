"""A running `quiclens serve`, as a process of its own, and plain HTTP requests to it."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkstemp
from typing import Any
from urllib.parse import urlencode, urlsplit

from migrated import migrated

_SECONDS = 60


@dataclass(frozen=True)
class Got:
    """One HTTP answer; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def code(self) -> int:
        return int(self.headers.get("x-clickhouse-exception-code", "0"))

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Served:
    """One serve process and how to reach it."""

    folder: Path
    process: "subprocess.Popen[str]"
    document: dict[str, Any]
    log: Path
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def store_url(self) -> str:
        return f"chdb:{self.folder}"

    @property
    def url(self) -> str:
        return str(self.document["url"])

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=_SECONDS)

    def ask(self, sql: str | bytes = b"", method: str = "POST", path: str = "/", **parameters: str) -> Got:
        return self.request(sql.encode() if isinstance(sql, str) else sql, method, path, {}, **parameters)

    def request(self, body: bytes, method: str, path: str, headers: Mapping[str, str], **parameters: str) -> Got:
        connection = self.connection()
        try:
            where = f"{path}?{urlencode(parameters)}" if parameters else path
            # Who is refused before all of the body came finds nobody who reads the rest, and the answer all the same.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, where, body, {**self.headers, **headers})
            answer = connection.getresponse()
            return Got(answer.status, {n.lower(): v for n, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def one(self, sql: str) -> str:
        """The only value of an answer."""
        got = self.ask(sql)
        assert got.status == 200, got.text
        return got.text.strip()

    def logged(self) -> str:
        """What it wrote to standard error so far."""
        return self.log.read_text()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        self.process.communicate(timeout=_SECONDS)
        return self.process.returncode


def start(folder: Path, *options: str, **environment: str) -> Served:
    """Serve the store in a folder, a new one where there is none."""
    migrated(folder)
    return start_words(folder, "--store", f"chdb:{folder}", *options, **environment)


def start_words(folder: Path, *options: str, **environment: str) -> Served:
    """Start serve on a free port and wait until it says that it is ready."""
    words = [sys.executable, "-m", "quiclens_command_line", "serve", "--listen", "127.0.0.1:0", "--json", *options]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("QUICLENS_")}
    descriptor, log = mkstemp(".log", "serve-", folder.parent)  # a pipe that nobody reads would stop it once it is full
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=descriptor, text=True, env={**kept, **environment})
    os.close(descriptor)
    assert process.stdout is not None
    line = process.stdout.readline()
    served = Served(folder, process, json.loads(line or "{}"), Path(log))
    if not line:
        process.wait(_SECONDS)
        raise AssertionError(served.logged())
    return served


def until(true: Any, seconds: float = 10) -> bool:
    """Whether it becomes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return False


def quiclens(*words: str) -> dict[str, Any]:
    """The document of a command, in a process of its own."""
    done = subprocess.run(
        [Path(sys.executable).with_name("quiclens"), *words, "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
