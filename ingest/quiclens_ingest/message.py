"""One Kafka message: a record batch of one table, or the reason why it is none."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pyarrow as pa
from quiclens_schema import catalogue
from quiclens_schema.arrow_schema import has_more_fields
from quiclens_schema.arrow_values import declared_sizes
from quiclens_schema.version import VERSION

from quiclens_ingest.arrow_types import canonical, growth, has_nulls_inside, is_of_a_catalogue, is_readable_as

_NAME_CHARACTERS = 100
_COLUMN = re.compile(r"[a-z][a-z0-9_]{0,99}")
_NEWER_AT_MOST = 100  # columns, beside those of the table
_FIELDS_PER_COLUMN = 4  # a map has three inside it
_VERSION = re.compile(r"(\d{1,5})\.(\d{1,5})\.(\d{1,5})")
_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"


class Unreadable(Exception):  # noqa: N818 (what the message is)
    """The message is no batch; `reason` is one of catalogue/rejects.toml."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class MessageLimits:
    """How large a message may be, as it comes, and decompressed with its dictionaries as plain columns."""

    message_bytes: int
    decompressed_bytes: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A mark that a collector puts on messages now and then: who, and when it was made, us since 1970."""

    collector: str
    made_us: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What a message says: its rows, and the heartbeat that goes with them, where there is one."""

    batch: pa.RecordBatch = field(repr=False)
    bytes: int
    """What its columns take, dictionaries as plain ones."""
    heartbeat: Heartbeat | None
    newer: tuple[str, ...] = ()
    """Columns of a newer catalogue, which the store may have and this version does not know."""


def read(table: str, headers: Mapping[str, bytes], value: bytes, limits: MessageLimits) -> Reading:
    """Read and check a message of a table's topic; Unreadable when anything about it is not as agreed.

    Everything that the engine would pass over in silence is looked at here: names, types, nulls, the number of rows
    and of batches, the end mark. Of a collector of a newer version, columns that are not known here are no fault: the
    store is the judge of those.
    """
    if len(value) > limits.message_bytes:
        raise Unreadable("message_too_large", f"{len(value)} bytes, the limit is {limits.message_bytes}")
    rows = _headers(table, headers)
    most = (len(columns(table)) + _NEWER_AT_MOST) * _FIELDS_PER_COLUMN
    try:
        if has_more_fields(value, most):
            raise Unreadable("wrong_schema", f"more than {most} fields")
        batch = _only_batch(value, limits)
    except (pa.ArrowException, OSError, ValueError, UnicodeDecodeError) as error:
        raise Unreadable("not_arrow", str(error).partition("\n")[0]) from None
    newer = _check_schema(table, batch, is_newer=_is_newer(headers.get("catalogue", b"")))
    if batch.num_rows != rows:
        raise Unreadable("rows_disagree", f"the header says {rows} rows, the batch has {batch.num_rows}")
    size = batch.get_total_buffer_size() + sum(map(growth, batch.columns))
    if size > limits.decompressed_bytes:
        raise Unreadable(
            "message_too_large", f"{size} bytes as plain columns, the limit is {limits.decompressed_bytes}"
        )
    return Reading(batch, size, _heartbeat(headers), newer)


def _headers(table: str, headers: Mapping[str, bytes]) -> int:
    named = headers.get("table", b"").decode(errors="replace")
    if named != table:
        raise Unreadable("bad_headers", f"its table is {named!r}, the topic's is {table!r}")
    rows = _whole(headers.get("rows"))
    if rows is None:
        raise Unreadable("bad_headers", f"its number of rows is {headers.get('rows')!r}")
    return rows


def _heartbeat(headers: Mapping[str, bytes]) -> Heartbeat | None:
    made_us = _whole(headers.get("heartbeat_us"))
    if made_us is None:
        return None
    return Heartbeat(headers.get("collector", b"").decode(errors="replace")[:_NAME_CHARACTERS], made_us)


def _whole(text: bytes | None) -> int | None:
    return int(text) if text is not None and len(text) < 20 and text.isdigit() else None


def _only_batch(value: bytes, limits: MessageLimits) -> pa.RecordBatch:
    """The stream's one record batch, once it is known that it ends as it should and how large it becomes."""
    _check_messages(value, limits)
    reader = pa.ipc.open_stream(value)
    batch = reader.read_next_batch()
    batch.schema.names  # noqa: B018 (names that are no UTF-8 raise)
    batch.validate(full=True)  # offsets, indices and UTF-8 from foreign bytes: combining them reads where they point
    return batch


def _check_messages(value: bytes, limits: MessageLimits) -> None:
    source = pa.BufferReader(value)
    batches = total = 0
    for is_batch, size in declared_sizes(source):
        batches += is_batch
        total += size
        if total > limits.decompressed_bytes:
            raise Unreadable("message_too_large", f"more than {limits.decompressed_bytes} bytes when decompressed")
    if batches != 1:
        raise ValueError(f"{batches} record batches, expected one")
    if source.tell() != len(value):
        raise ValueError(f"{len(value) - source.tell()} bytes after the stream's end")
    if not value.endswith(_END_OF_STREAM):
        raise ValueError("the stream breaks off before its end mark")


def _is_newer(catalogue: bytes) -> bool:
    """Whether a version is above this one's; a text that is none is not."""
    theirs, ours = (_VERSION.match(text) for text in (catalogue.decode(errors="replace"), VERSION))
    return theirs is not None and ours is not None and [*map(int, theirs.groups())] > [*map(int, ours.groups())]


def _check_schema(table: str, batch: pa.RecordBatch, *, is_newer: bool) -> tuple[str, ...]:
    """The columns of a newer catalogue; Unreadable where something is wrong."""
    known = columns(table)
    names = batch.schema.names
    if len(names) > (most := len(known) + _NEWER_AT_MOST):
        raise Unreadable("wrong_schema", f"more than {most} columns")
    newer = tuple(name for name in names if name not in known and is_newer and _COLUMN.fullmatch(name))
    problems = [f"unknown column {name}" for name in names if name not in known and name not in newer]
    problems += [f"more than {_NEWER_AT_MOST} unknown columns"] * (len(newer) > _NEWER_AT_MOST)
    problems += [f"column {name} twice" for name, count in sorted(Counter(names).items()) if count > 1]
    problems += [f"no column {name}" for name in catalogue.load().table(table).key_columns if name not in names]
    for at, name in enumerate(names):
        if problems:
            break
        if name in known:
            problems += _column_problems(name, known[name], batch, at)
        elif not is_of_a_catalogue(kind := batch.schema.field(at).type):
            problems += [f"unknown column {name} is {kind}, which no catalogue has"]
    if problems:
        raise Unreadable("wrong_schema", ", ".join(problems[:3]))
    return newer


def _column_problems(name: str, wanted: pa.Field, batch: pa.RecordBatch, at: int) -> list[str]:
    # The type first: of some, such as an interval of months, pyarrow has no arrays.
    kind = batch.schema.field(at).type
    if not is_readable_as(kind, wanted.type):
        return [f"column {name} is {kind}, not {wanted.type}"]
    column = batch.column(at)
    if (column.null_count and not wanted.nullable) or has_nulls_inside(column):
        return [f"column {name} has nulls"]
    return []


@cache
def columns(table: str) -> Mapping[str, Any]:
    """The Arrow field of every column that a batch of this table may have, in the catalogue's order."""
    described = catalogue.load().table(table)
    return {name: canonical(name, described.column(name).type) for name in described.sent_columns}
