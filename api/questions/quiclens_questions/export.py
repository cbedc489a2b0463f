"""`export`: one trace back as qlog, as it was logged or as qvis takes it. The store gives Arrow, the collector qlog."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any

from quiclens_schema.store import Store

from quiclens_questions import anonymous, collector
from quiclens_questions.aliases import connections_called
from quiclens_questions.connection_page import place_of
from quiclens_questions.failure import CannotRun
from quiclens_questions.statements import ask, sql

_PAGE = 50_000  # events held in memory at once
_TIME_MAX = (1 << 63) - 1
_ROWS = ("quic_trace", "line_v1")  # serializations that are no qlog
_CLOCK_NS = 10**16  # a trace whose first time is later than four months has it from a wall clock
_HEADER = (
    "header",
    "time_unit",
    "unit_rule",
    "time_base_ns",
    "serialization",
    "connection_id",
    "vantage",
    "stack",
    "dialect",
)

Row = dict[str, Any]


@dataclass(frozen=True)
class ExportRequest:
    """Which trace, in which form, and where it goes; `file` None is standard output."""

    connection_id: str
    format: str
    mode: str
    file: Path | None
    vantage: str = ""
    trace_id: str = ""
    from_us: int | None = None
    to_us: int | None = None
    is_anonymous: bool = False


def chosen(store: Store, wanted: ExportRequest) -> Row | None:
    """The trace to export: of several, the one that speaks for the connection, which may be named by an alias."""
    found = _trace_of(store, wanted, wanted.connection_id)
    for connection_id in connections_called(store, wanted.connection_id) if found is None else ():
        found = found or _trace_of(store, wanted, connection_id)
    return found


def _trace_of(store: Store, wanted: ExportRequest, connection_id: str) -> Row | None:
    parameters = {"connection_id": connection_id, "vantage": wanted.vantage, "trace_id": wanted.trace_id}
    rows = ask(store, "connection_chosen", parameters).dicts()
    return rows[0] if rows else None


def export(store: Store, wanted: ExportRequest, trace: Row, standard_output: IO[bytes]) -> Row:
    """Write the trace and say what was written. A file appears whole or not at all."""
    place = place_of(trace)
    if wanted.is_anonymous and trace["serialization"] in _ROWS:
        raise CannotRun("not_qlog", "rows of QUIC_TRACE and of line v1 have texts of their own form, which no word list"
                        " covers; --anonymous writes qlog alone")  # fmt: skip
    collector.find()
    lowest = -_TIME_MAX if wanted.from_us is None else wanted.from_us
    highest = _TIME_MAX if wanted.to_us is None else wanted.to_us
    extent = ask(store, "export_extent", {**place, "from_us": lowest, "to_us": highest}).dicts()[0]
    pieces = _pieces(store, wanted, trace, extent)
    make = _anonymous if wanted.is_anonymous else _as_it_is
    written = _to_stream(make, pieces, standard_output) if wanted.file is None else _to_file(make, pieces, wanted.file)
    return answer(wanted, trace, extent["events"], written)


def export_watched(
    store: Store, wanted: ExportRequest, trace: Row, file: IO[bytes], holds: Callable[[int], None]
) -> None:
    """Write the whole trace into a file; `holds` hears how large it is now and then, and ends it with an exception."""
    collector.find()
    extent = ask(store, "export_extent", {**place_of(trace), "from_us": -_TIME_MAX, "to_us": _TIME_MAX}).dicts()[0]

    def watched() -> Iterator[bytes]:
        for piece in _pieces(store, wanted, trace, extent):
            yield piece
            holds(os.fstat(file.fileno()).st_size)

    _as_it_is(watched(), file)
    holds(os.fstat(file.fileno()).st_size)


def answer(wanted: ExportRequest, trace: Row, events: int, written: int) -> Row:
    return {
        "connection_id": trace.get("connection_id", wanted.connection_id),
        "trace_id": trace.get("trace_id"),
        "vantage": trace.get("vantage"),
        "events": events,
        "file": None if wanted.file is None else str(wanted.file),
        "mode": wanted.mode,
        "bytes": written,
    }


def first_line(wanted: ExportRequest, trace: Row) -> bytes:
    """What the collector must know beside the events."""
    started_at = trace["started_at"]
    about = {name: trace[name] for name in _HEADER} | {
        "started_at_ms": None if started_at is None else started_at.timestamp() * 1e3,
        "format": wanted.format,
        "mode": wanted.mode,
        "from_us": wanted.from_us,
        "to_us": wanted.to_us,
    }
    if wanted.is_anonymous:
        base_ns = trace["time_base_ns"] if abs(trace["time_base_ns"]) < _CLOCK_NS else 0
        about |= {"connection_id": "", "started_at_ms": None, "time_base_ns": base_ns, "serialization": "sequential"}
        about["one_clock"] = True
        about["header"] = anonymous.header_of(trace["header"], trace["dialect"])
    return json.dumps(about, ensure_ascii=False).encode() + b"\n"


def _pieces(store: Store, wanted: ExportRequest, trace: Row, extent: Row) -> Iterator[bytes]:
    yield first_line(wanted, trace)
    place = place_of(trace)
    for first in range(extent["first_seq"], extent["next_seq"], _PAGE):
        page = {"first_seq": first, "next_seq": first + _PAGE, "limit": _PAGE}
        yield from store.stream_arrow(sql("export_events"), {**place, **page})


def _as_it_is(pieces: Iterator[bytes], target: IO[bytes]) -> None:
    collector.feed(["export"], pieces, target)


def _anonymous(pieces: Iterator[bytes], target: IO[bytes]) -> None:
    with NamedTemporaryFile() as draft:
        collector.feed(["export"], pieces, draft)
        draft.seek(0)
        for record in anonymous.records(draft):
            target.write(record)
        target.flush()


Make = Callable[[Iterator[bytes], IO[bytes]], None]


def _to_file(make: Make, pieces: Iterator[bytes], file: Path) -> int:
    try:
        with NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as draft:
            try:
                make(pieces, draft)
                written = os.fstat(draft.fileno()).st_size
                if written == 0:  # even a trace without events has a header
                    raise CannotRun("collector_failed", "the collector wrote nothing", "cargo build --release")
                os.chmod(draft.name, 0o666 & ~_umask())
                os.replace(draft.name, file)
            except BaseException:
                os.unlink(draft.name)
                raise
    except OSError as error:
        message = f"cannot write {file}: {error.strerror or error}"
        raise CannotRun("cannot_write", message, "choose another -o") from error
    return written


def _to_stream(make: Make, pieces: Iterator[bytes], target: IO[bytes]) -> int:
    with NamedTemporaryFile() as draft:
        make(pieces, draft)
        draft.seek(0)
        written = 0
        while piece := draft.read(1 << 20):
            written += target.write(piece)
        target.flush()
    return written


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
