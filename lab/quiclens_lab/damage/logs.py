"""A log of one trace as its records, so that it can be damaged and written again in the form that it had."""

import gzip
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import Any

from quiclens_lab.errors import LabError

NS_PER_MS = 1_000_000
SEPARATOR = b"\x1e"
GZIP = b"\x1f\x8b"
HOLE = "@events@"
"""Stands for the events while the rest of a document is written."""
_TIME_FIRST = re.compile(rb'\{"time": ?(-?[0-9.eE+-]+), ?("name": ?"([^"\\]*)".*)', re.DOTALL)


@dataclass(frozen=True)
class Record:
    """One event: its time, its name, and its JSON object from behind the time on."""

    time: bytes
    """As it stands in the log, in milliseconds."""
    name: str
    rest: bytes

    @property
    def text(self) -> bytes:
        return b'{"time":' + self.time + b"," + self.rest

    @cached_property
    def time_ns(self) -> int:
        return int(Decimal(self.time.decode()) * NS_PER_MS)

    @cached_property
    def data(self) -> dict[str, Any]:
        found: Any = json.loads(b"{" + self.rest).get("data")
        return found if isinstance(found, dict) else {}

    @property
    def kind(self) -> str:
        """The name without its category."""
        return self.name.rpartition(":")[2]

    def at(self, time_ns: int) -> "Record":
        """The same at another time; one whose time stays the same is not written anew."""
        return self if time_ns == self.time_ns else Record(_milliseconds(time_ns), self.name, self.rest)

    def with_data(self, data: dict[str, Any]) -> "Record":
        """The same with other data."""
        fields = json.loads(b"{" + self.rest) | {"data": data}
        return Record(self.time, self.name, json.dumps(fields, separators=(",", ":"))[1:].encode())


@dataclass(frozen=True)
class LogRecords:
    """A log's records between what stands before and behind them; `between` parts the records of a document."""

    head: bytes
    records: tuple[Record, ...]
    tail: bytes = b""
    before: bytes = SEPARATOR
    behind: bytes = b"\n"
    between: bytes = b""

    def of(self, records: Iterable[Record]) -> "LogRecords":
        """The same log with other records."""
        return replace(self, records=tuple(records))

    def content(self) -> bytes:
        """What is written to a file."""
        lines = self.between.join(self.before + record.text + self.behind for record in self.records)
        return self.head + lines + self.tail


def _milliseconds(time_ns: int) -> bytes:
    sign, (whole, rest) = "-" if time_ns < 0 else "", divmod(abs(time_ns), NS_PER_MS)
    return f"{sign}{whole}.{rest:06d}".encode()


def read_log(path: Path) -> LogRecords:
    """The log in a file: lines (JSON-SEQ, NDJSON), or one document with one trace. Times count from one moment."""
    content = path.read_bytes()
    content = gzip.decompress(content) if content.startswith(GZIP) else content
    try:
        return _lines(content) if _is_lines(content) else _document(content)
    except (ValueError, KeyError, TypeError, InvalidOperation) as error:
        raise LabError(f"{path}: no log of one trace with times in its records: {error!r}") from error


def _is_lines(content: bytes) -> bool:
    """Whether the first line is a whole value, and there are more."""
    if content.startswith(SEPARATOR):
        return True
    first, _, more = content.partition(b"\n")
    try:
        json.loads(first)
    except ValueError:
        return False
    return bool(more.strip())


def _lines(content: bytes) -> LogRecords:
    head, *lines = content.splitlines()
    common = json.loads(head.removeprefix(SEPARATOR)).get("trace", {}).get("common_fields", {})
    _refuse_differences(common)
    before = SEPARATOR if head.startswith(SEPARATOR) else b""
    records = tuple(_record(line.removeprefix(SEPARATOR)) for line in lines if line)
    return LogRecords(head + b"\n", records, before=before)


def _document(content: bytes) -> LogRecords:
    document = json.loads(content)
    (trace,) = document["traces"]
    _refuse_differences(trace.get("common_fields", {}))
    records = tuple(_fields(event) for event in trace["events"])
    trace["events"] = HOLE
    head, tail = json.dumps(document).encode().split(f'"{HOLE}"'.encode())
    return LogRecords(head + b"[", records, b"]" + tail, before=b"", behind=b"", between=b",")


def _refuse_differences(common: dict[str, Any]) -> None:
    """Where times are differences, a record that is missing moves all later ones: that is another damage."""
    if common.get("time_format") in ("delta", "relative_to_previous_event"):
        raise ValueError("times are differences")


def _record(line: bytes) -> Record:
    if found := _TIME_FIRST.fullmatch(line):
        return Record(found[1], found[3].decode(), found[2])
    return _fields(json.loads(line))


def _fields(event: dict[str, Any]) -> Record:
    others = {"name": event["name"]} | {key: value for key, value in event.items() if key not in ("time", "name")}
    rest = json.dumps(others, separators=(",", ":"))[1:].encode()
    return Record(json.dumps(event["time"]).encode(), str(event["name"]), rest)
