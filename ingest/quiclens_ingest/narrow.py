"""Rows that the store refuses for what they hold, told from their neighbours.

A refused insert does not say which of its rows are at fault. So its halves are tried, and the halves of those that are
refused: what can be stored is stored, and what is refused alone becomes a row of `rejects`.
"""

import json
import logging
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import xxhash
from quiclens_schema import catalogue
from quiclens_schema.store import Store, StoreError

from quiclens_ingest.frames import Batch

if TYPE_CHECKING:
    import pyarrow as pa

TRIES_MAX = 256
"""Inserts by which the rows of one batch are told apart; what is refused after these is one reject, whatever it has."""
REASON = "refused_by_store"
# ClickHouse's codes for data that it cannot take, whoever sends them however often: CANNOT_PARSE_TEXT,
# CANNOT_PARSE_DATE, CANNOT_READ_ALL_DATA, TYPE_MISMATCH, CANNOT_CONVERT_TYPE, INCORRECT_DATA, TOO_LARGE_STRING_SIZE,
# ARGUMENT_OUT_OF_BOUND, VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN.
_DATA_IS_BAD = frozenset((6, 38, 33, 53, 70, 117, 131, 69, 321, 349))
_BYTES_KEPT = 64 << 10
_OFFSETS = (1 << 63) - 1

_log = logging.getLogger("quiclens.ingest")


@dataclass(frozen=True, slots=True)
class RowsStored:
    """Of rows that were given to a store: how many were dropped as erased, and how many it refused."""

    erased: int = 0
    refused: int = 0

    def plus(self, other: "RowsStored") -> "RowsStored":
        """Both together."""
        return RowsStored(self.erased + other.erased, self.refused + other.refused)

    @property
    def rejected(self) -> dict[str, int]:
        """Rows that became rejects, by reason."""
        return {REASON: self.refused} if self.refused else {}


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What became of a batch that was refused: rows that were dropped as erased, and the rows that are refused alone,
    or together where there were too many to tell apart."""

    erased: int
    refused: tuple["pa.Table", ...]

    @property
    def rows_refused(self) -> int:
        return sum(each.num_rows for each in self.refused)

    def rejects(self, table: str, file: str) -> list[dict[str, Any]]:
        """Rows of `rejects`. What is refused is known by what its row would be known by, so that the same comes of it
        each time; `file` is where it was read."""
        return [_reject(table, rows, file) for rows in self.refused]


def is_about_data(error: StoreError) -> bool:
    """Whether the store refuses the rows for what they hold: they are refused however often they are sent."""
    return error.code in _DATA_IS_BAD


def store_batch(store: Store, batch: Batch, file: str = "") -> RowsStored:
    """Store the rows of a batch, and as rejects those that the store refuses; StoreError when it takes nothing now."""
    try:
        return RowsStored(store.insert_arrow(batch.table, batch.stream, batch.rows))
    except StoreError as error:
        if not is_about_data(error):
            raise
        found = narrow(store, batch.table, batch.stream, error)
    if rejects := found.rejects(batch.table, file):
        from quiclens_ingest.stitch import encode

        store.insert_arrow("rejects", encode("rejects", rejects), len(rejects))
    return RowsStored(found.erased, found.rows_refused)


def narrow(store: Store, table: str, stream: bytes, refused: StoreError, newer: Collection[str] = ()) -> Narrowed:
    """Store what can be stored of an Arrow stream that was refused as a whole. `newer` as of `Store.insert_arrow`."""
    import pyarrow as pa  # starts threads, which a process that is yet to confine itself must not have

    try:
        whole = pa.ipc.open_stream(stream).read_all().combine_chunks()
    except (pa.ArrowException, OSError, ValueError):
        raise refused from None
    erased, tries, alone = 0, 0, list[pa.Table]()
    waiting = deque(_halves(whole))
    if not waiting:
        alone.append(whole)
    while waiting:
        rows = waiting.popleft()
        tries += 1
        try:
            erased += store.insert_arrow(table, _stream(rows), rows.num_rows, newer)
        except StoreError as error:
            if not is_about_data(error):
                raise
            halves = _halves(rows) if tries < TRIES_MAX else []
            waiting += halves
            if not halves:
                alone.append(rows)
    found = Narrowed(erased, tuple(alone))
    said = str(refused).partition("\n")[0][:300]
    _log.warning("table %s refuses %d of %d rows: %s", table, found.rows_refused, whole.num_rows, said)
    return found


def _halves(rows: "pa.Table") -> list["pa.Table"]:
    """Both halves of several rows; nothing of one, which has none."""
    half = rows.num_rows // 2
    return [rows.slice(0, half), rows.slice(half)] if half else []


def _stream(rows: "pa.Table") -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue().to_pybytes())


def _reject(table: str, rows: "pa.Table", file: str) -> dict[str, Any]:
    columns = {name: _values(rows.column(name)) for name in rows.column_names}
    (first, *_) = plain = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    text = b"\n".join(json.dumps(row, ensure_ascii=False, default=_text).encode() for row in plain)
    key = json.dumps([first.get(name) for name in catalogue.load().table(table).order_by], default=_text).encode()
    kept = text[:_BYTES_KEPT]
    return {
        "source": first.get("log_id") or first.get("trace_id") or xxhash.xxh3_64_hexdigest(file.encode()),
        "offset": first["offset"] if table == "request_lines" else xxhash.xxh3_64_intdigest(key) & _OFFSETS,
        "length": len(text),
        "hash": xxhash.xxh3_64_hexdigest(kept),
        "reason": REASON,
        "file": file,
        "trace_id": first.get("trace_id") or "",
        "seq": first.get("seq") if table == "events" else None,
        "bytes": kept,
    }


def _values(column: "pa.ChunkedArray") -> Iterable[Any]:
    """A column's values, times and days as numbers: what a store refuses may be past what Python's have."""
    import pyarrow as pa

    kind = column.type
    try:
        if pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
        if pa.types.is_temporal(kind):
            column = column.cast(f"int{kind.bit_width}")
        return list(column.to_pylist())
    except (pa.ArrowException, ValueError, OverflowError):
        return [None] * len(column)


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
