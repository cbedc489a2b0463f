"""The collector's standard output: lines of JSON, some followed by one Arrow batch.

{"table":"events","rows":50000,"bytes":1234567}   then exactly that many bytes of one Arrow IPC stream
{"progress":{…}}                                  now and then
{"summary":{…}}                                   last; without it nothing was finished
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

_LINE_BYTES_MAX = 1 << 20
_BATCH_BYTES_MAX = 1 << 30


class FrameError(Exception):
    """The collector wrote something that is no frame, or stopped inside one."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of one table, as one complete Arrow IPC stream."""

    table: str
    rows: int
    stream: bytes


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the collector is."""

    files: int
    files_total: int
    bytes: int
    bytes_total: int
    events: int
    rejected: int


@dataclass(frozen=True, slots=True)
class CollectorSummary:
    """What the collector read in all."""

    files: int
    connections: int
    events: int
    requests: int
    rejected: dict[str, int]
    values_unread: int  # that their column cannot hold
    limits_crossed: dict[str, int]  # by limit; those whose crossing makes no reject
    bytes: int
    seconds: float


Frame = Batch | Progress | CollectorSummary


def frames(output: BinaryIO) -> Iterator[Frame]:
    """Read frames until the output ends; FrameError where it is not one."""
    while line := output.readline(_LINE_BYTES_MAX):
        if not line.endswith(b"\n"):
            raise FrameError("the collector's output ends inside a line")
        yield _frame(line, output)


def _frame(line: bytes, output: BinaryIO) -> Frame:
    try:
        head = json.loads(line)
        if "table" in head:
            return _batch(head, output)
        if "progress" in head:
            return _progress(head["progress"])
        if "summary" in head:
            return _summary(head["summary"])
    except (ValueError, KeyError, TypeError) as error:
        raise FrameError(f"the collector wrote no frame but {line[:80]!r}: {error}") from error
    raise FrameError(f"the collector wrote no frame but {line[:80]!r}")


def _batch(head: dict[str, Any], output: BinaryIO) -> Batch:
    rows, size = int(head["rows"]), int(head["bytes"])
    if not 0 < size <= _BATCH_BYTES_MAX or rows < 0:
        raise ValueError(f"a batch of {rows} rows and {size} bytes")
    stream = output.read(size)
    if len(stream) != size:
        raise FrameError(f"the collector's output ends inside a batch of table {head['table']}")
    return Batch(str(head["table"]), rows, stream)


def _progress(body: dict[str, Any]) -> Progress:
    return Progress(**{name: int(body.get(name, 0)) for name in Progress.__dataclass_fields__})


def _summary(body: dict[str, Any]) -> CollectorSummary:
    return CollectorSummary(
        files=int(body["files"]),
        connections=int(body["connections"]),
        events=int(body["events"]),
        requests=int(body["requests"]),
        rejected={str(reason): int(count) for reason, count in body["rejected"].items()},
        values_unread=int(body["values_unread"]),
        limits_crossed={str(limit): int(times) for limit, times in body["limits_crossed"].items()},
        bytes=int(body["bytes"]),
        seconds=float(body["seconds"]),
    )
