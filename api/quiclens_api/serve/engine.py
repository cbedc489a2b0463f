"""The embedded engine, a fresh handle for each request: settings and the database die with it, and handles run in
parallel. The only module that speaks with chdb itself; `Engine` may be used from many threads, a handle from one.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import chdb
from chdb import ChdbError

from quiclens_api.serve.faults import Fault, of_engine

_TAG = "quiclens:"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer: its bytes and what X-ClickHouse-Summary counts."""

    data: bytes
    counts: Mapping[str, int]


class Engine:
    """The engine over one folder; stays open until `close`."""

    def __init__(self, folder: Path) -> None:
        self._path = str(folder)
        self._lock = Lock()
        self._open = 0
        self._root: Any = _connect(self._path)  # the engine ends with its last handle
        self.version, self.timezone = self._first("SELECT version(), timezone()")

    @property
    def open_handles(self) -> int:
        """Handles of requests that run now."""
        return self._open

    def close(self) -> None:
        self._root.close()

    @contextmanager
    def handle(
        self,
        database: str = "default",
        settings: Mapping[str, str] | None = None,
        tag: str = "",
        readonly: bool = False,
    ) -> Iterator["Handle"]:
        """A handle with its own settings, closed afterwards; `tag` is what `kill` knows it by."""
        with _told():
            inner = _connect(self._path)
        with self._lock:
            self._open += 1
        try:
            with _told():
                if database != "default":
                    inner.query(f"USE {_name(database)}")
                given = {**(settings or {}), **({"log_comment": _TAG + tag} if tag else {})}
                if given:
                    inner.query("SET " + ", ".join(f"{name} = {quoted(value)}" for name, value in given.items()))
                if readonly:
                    inner.query("SET readonly = 2")
            yield Handle(inner)
        finally:
            inner.close()
            with self._lock:
                self._open -= 1

    def kill(self, tag: str) -> None:
        """Stop whatever runs on the handle of this tag."""
        with self.handle() as other:
            other.run(f"KILL QUERY WHERE Settings['log_comment'] = {quoted(_TAG + tag)} ASYNC", {}, "Null")

    def _first(self, sql: str) -> list[str]:
        with _told():
            return str(self._root.query(sql, "TSVRaw").data()).strip().split("\t")


class Handle:
    """One request's own connection to the engine."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def run(self, sql: str, parameters: Mapping[str, str], format: str) -> Answer:
        """Run one statement to its end."""
        with _told():
            result = self._inner.query(sql, format, params=dict(parameters) or None)
            data = result.bytes() or b""
            counts = {
                "read_rows": int(result.storage_rows_read() or 0),
                "read_bytes": int(result.storage_bytes_read() or 0),
                "result_rows": int(result.rows_read() or 0),
                "result_bytes": len(data),
                "elapsed_ns": int((result.elapsed() or 0) * 1e9),
            }
            return Answer(data, counts)

    def text(self, sql: str, parameters: Mapping[str, str] | None = None) -> str:
        """The answer of a small statement as plain text."""
        return self.run(sql, parameters or {}, "TSVRaw").data.decode("utf-8", "replace")

    def stream(self, sql: str, parameters: Mapping[str, str], format: str) -> "Pieces":
        """Run one statement and take its answer piece by piece; nothing else may run here until that is closed."""
        with _told():
            return Pieces(self._inner.send_query(sql, format, params=dict(parameters) or None))

    def classify(self, sql: str) -> int:
        """How many statements there are, 0 when it does not parse; nothing runs."""
        return int(self._inner._conn.classify_query(sql, "default")["statement_count"])


class Pieces:
    """An answer that is still being made."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.rows = 0
        self.rows_read = 0

    def next(self) -> bytes:
        """The next piece, empty after the last."""
        with _told():
            piece = self._inner.fetch()
            if piece is None or not (data := piece.bytes()):
                return b""
            self.rows += int(piece.rows_read() or 0)
            self.rows_read += int(piece.storage_rows_read() or 0)
            return bytes(data)

    def close(self) -> None:
        """Give up the rest."""
        with _told():
            self._inner.cancel()


def quoted(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _connect(path: str) -> Any:
    return chdb.connect(path)


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise Fault(81, "UNKNOWN_DATABASE", f"Database {text!r} does not exist")
    return f"`{text}`"


@contextmanager
def _told() -> Iterator[None]:
    """The engine's errors as ours."""
    try:
        yield
    except (ChdbError, RuntimeError) as error:
        raise of_engine(str(error)) from error
