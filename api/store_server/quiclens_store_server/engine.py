"""The embedded engine, a fresh handle for each request: settings and the database die with it, and handles run in
parallel. `Engine` may be used from many threads, a handle from one at a time.

Handles are for reading. Before a statement runs, `restrict` makes the engine refuse every write and every further
setting on that handle, for good; the engine's grants are those of the store (`quiclens_schema/engine.py`).
"""

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from quiclens_schema.engine import another_connection

from quiclens_store_server.reviewed import DATABASES
from quiclens_web.front.faults import Fault, of_engine

_TAG = "quiclens:"
_MEMORY, _TIME = 241, 159  # MEMORY_LIMIT_EXCEEDED, TIMEOUT_EXCEEDED
_OF_WRITING = ("output_format_", "format_", "date_time_output_format")


@dataclass(frozen=True, slots=True)
class EngineAnswer:
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
            yield Handle(inner)
        finally:
            inner.close()
            with self._lock:
                self._open -= 1

    @contextmanager
    def writer(
        self, settings: Mapping[str, str], own: Mapping[str, str], bounds: Mapping[str, str], tag: str
    ) -> Iterator["RowWriter"]:
        """What writes rows as one document of a format. Of the settings of a request, and of its statement, which are
        literals, those about the writing of formats are applied; `bounds` are its limits."""
        with self.handle(settings={**_of_writing(settings), **bounds}, tag=tag) as handle:
            handle.set(_of_writing(own))
            yield RowWriter(handle)

    def kill(self, tag: str) -> None:
        """Stop whatever runs on the handle of this tag."""
        with self.handle() as other:
            other.text(f"KILL QUERY WHERE Settings['log_comment'] = {quoted(_TAG + tag)} ASYNC")

    def _first(self, sql: str) -> list[str]:
        with _told():
            return str(self._root.query(sql, "TSVRaw").data()).strip().split("\t")


class Handle:
    """One request's own connection to the engine."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._is_restricted = False

    def set(self, settings: Mapping[str, str]) -> None:
        """Apply settings, values as literals."""
        with _told():
            if settings:
                self._inner.query("SET " + ", ".join(f"{name} = {value}" for name, value in settings.items()))

    def restrict(self, settings: Mapping[str, str]) -> None:
        """Apply a statement's own settings, values as literals; from then on nothing can be written or set here."""
        self.set(settings)
        with _told():
            self._inner.query("SET readonly = 1")
        self._is_restricted = True

    def run(self, sql: str, parameters: Mapping[str, str], format: str) -> EngineAnswer:
        """Run a statement of a request to its end, after `restrict`."""
        assert self._is_restricted, "a request's statement needs a handle that is for reading"
        return self._run(sql, parameters, format)

    def _run(self, sql: str, parameters: Mapping[str, str], format: str) -> EngineAnswer:
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
            return EngineAnswer(data, counts)

    def text(self, sql: str, parameters: Mapping[str, str] | None = None) -> str:
        """The answer of a small statement of ours as plain text."""
        return self._run(sql, parameters or {}, "TSVRaw").data.decode("utf-8", "replace")

    def stream(self, sql: str, parameters: Mapping[str, str], format: str) -> "Pieces":
        """Run a statement of a request, after `restrict`, and take its answer piece by piece; nothing else may run here
        until that is closed."""
        assert self._is_restricted, "a request's statement needs a handle that is for reading"
        with _told():
            return Pieces(self._inner.send_query(sql, format, params=dict(parameters) or None))

    def classify(self, sql: str) -> tuple[str, int]:
        """What kind of statement the engine's parser takes it for (READ_ONLY is one that neither writes, nor changes
        this handle, nor makes files), and how many there are, 0 when it does not parse; nothing runs."""
        found = self._inner._conn.classify_query(sql, "default")
        return str(found["query_class"].name), int(found["statement_count"])


class RowWriter:
    """Writes rows of our own making; the statement is ours, so the handle need not be for reading."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def document(self, rows: bytes, selected: str, format: str) -> EngineAnswer:
        """Rows in `RowBinaryWithNamesAndTypes` as one document of another format; Fault where that is too much."""
        sql = f"SELECT {selected} FROM format(RowBinaryWithNamesAndTypes, base64Decode({{rows:String}}))"
        try:
            return self._handle._run(sql, {"rows": base64.b64encode(rows).decode()}, format)
        except Fault as fault:
            if fault.code not in (_MEMORY, _TIME):  # a format that has no such type
                raise Fault(fault.code, fault.name, str(fault).partition(": In scope ")[0][:500]) from fault
            what = "memory" if fault.code == _MEMORY else "time"
            message = f"Writing {len(rows):,} bytes of rows as {format} takes more {what} than a statement has"
            raise Fault(fault.code, fault.name, message) from fault


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


def _of_writing(settings: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if name.startswith(_OF_WRITING)}


def _connect(path: str) -> Any:
    return another_connection(Path(path))


def _name(text: str) -> str:
    if text not in DATABASES:
        raise Fault(81, "UNKNOWN_DATABASE", f"Database {text!r} does not exist, or is not this store's")
    return f"`{text}`"


@contextmanager
def _told() -> Iterator[None]:
    """The engine's errors as ours."""
    try:
        yield
    except RuntimeError as error:  # chdb's own error is one
        raise of_engine(str(error)) from error
