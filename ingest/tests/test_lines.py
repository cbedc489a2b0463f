"""Lines of others as rows: what one message holds changes nothing of what is read of those around it."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quiclens_ingest import mapping
from quiclens_ingest.from_topic import MESSAGE_LINES, lines_of
from quiclens_ingest.lines import Converted, Converter, JsonLine
from taking import COLLECTOR

pytestmark = pytest.mark.skipif(not COLLECTOR.is_file(), reason="no quiclens-collector: cargo build --release")

COLUMNS = {"time": {"from": "ts"}, "path": {"from": "url"}, "external_id": {"from": "id"}}
SOURCE = mapping.of({"topic": "edge.access", "name": "edge", "format": {"columns": COLUMNS}})
AT = 1_795_168_800


@dataclass(frozen=True)
class Message:
    """What is asked of a Kafka message."""

    at: int
    content: bytes | None

    def partition(self) -> int:
        return 7

    def offset(self) -> int:
        return self.at

    def value(self) -> bytes | None:
        return self.content


def converted(*contents: bytes | None) -> Converted:
    messages = [Message(at, content) for at, content in enumerate(contents)]
    return Converter(SOURCE, COLLECTOR, None).convert(lines_of(SOURCE, cast("Any", messages)))


def good(number: int) -> bytes:
    return json.dumps({"ts": AT + number, "url": f"/{number}", "id": str(number)}).encode()


def rows_of(found: Converted, places: Sequence[int]) -> list[dict[str, Any]]:
    """The rows of the messages at these places, as if they stood one after the other from 0 on."""
    by_place = {row["offset"]: row for row in found.rows()}
    return [{**by_place[place * MESSAGE_LINES], "offset": number} for number, place in enumerate(places)]


def rejects_of(found: Converted) -> list[tuple[str, int, str, str]]:
    tables = [pa.ipc.open_stream(each.stream).read_all() for each in found.batches if each.table == "rejects"]
    names = ("source", "offset", "reason", "file")
    return sorted(tuple(row[name] for name in names) for table in tables for row in table.to_pylist())


EVIL = json.dumps({"ts": AT, "url": "/evil", "id": "evil"}).encode() + b"\n"
FOREIGN: dict[str, bytes | None] = {
    "tombstone": None,
    "empty": b"",
    "blank": b" \t\r\n ",
    "gzip, broken": b"\x1f\x8b\x08 no gzip",
    "gzip": gzip.compress(EVIL * 3, mtime=0),
    "gzip of many lines": gzip.compress(EVIL * 300, mtime=0),
    "zstd, broken": b"\x28\xb5\x2f\xfd no zstd",
    "zstd": pa.compress(EVIL * 300, "zstd", asbytes=True),
    "UTF-8's mark": b"\xef\xbb\xbf" + EVIL,
    "UTF-16": b"\xff\xfe" + EVIL.decode().encode("utf-16-le"),
    "no UTF-8": b'{"ts":1795168800,"url":"\xff\xfe"}',
    "NUL": b"\0\0\0\0",
    "record separator": b"\x1e" + EVIL,
    "carriage return": b'{"ts":1795168800,\r"url":"/evil"}',
    "carriage return alone": b"\r" + EVIL.strip() + b"\r",
    "lines": EVIL * 3,
    "over several lines": json.dumps(json.loads(EVIL), indent=1).encode(),
    "broken over several lines": b'{"ts":1795168800,\n"url":"/evil"',
    "array": b"[" + EVIL.strip() + b"," + EVIL.strip() + b"]",
    "number": b"1",
    "open string": b'{"ts":1795168800,"url":"',
    "deep": b"[" * 10_000,
    "too long": b'{"ts":1795168800,"url":"' + b"x" * (5 << 20) + b'"}',
    "comment": b"#Fields: time url",
    "header of a trace": b'{"qlog_version":"0.3","qlog_format":"NDJSON","trace":{}}',
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN.keys())
def test_good_messages_are_read_alike_whatever_stands_before_between_or_behind_them(content: bytes | None) -> None:
    alone = rows_of(converted(good(0), good(1)), [0, 1])
    assert [(row["log_id"], row["path"], row["external_id"]) for row in alone] == [
        ("edge/7", "/0", "0"),
        ("edge/7", "/1", "1"),
    ]
    found = converted(content, good(0), content, good(1), content)
    assert rows_of(found, [1, 3]) == alone
    at_other_places = [row["offset"] // MESSAGE_LINES for row in found.rows() if row["external_id"] not in ("0", "1")]
    assert set(at_other_places) <= {0, 2, 4}
    assert {offset // MESSAGE_LINES for _, offset, _, _ in rejects_of(found)} <= {0, 2, 4}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.one_of(st.sampled_from(list(FOREIGN.values())), st.binary(max_size=40), st.integers(0, 9)),
        max_size=12,
    )
)
def test_good_messages_are_read_alike_among_any_others(contents: list[bytes | int | None]) -> None:
    places = [at for at, content in enumerate(contents) if isinstance(content, int)]
    numbers = [content for content in contents if isinstance(content, int)]
    found = converted(*(good(content) if isinstance(content, int) else content for content in contents))
    assert rows_of(found, places) == rows_of(converted(*map(good, numbers)), range(len(numbers)))


def test_what_is_compressed_is_a_reject_with_its_place() -> None:
    gzipped, zstd = gzip.compress(b"x", mtime=0), pa.compress(b"x", "zstd", asbytes=True)
    for contents, places in (((good(0), gzipped, zstd), (1, 2)), ((gzipped, good(0), zstd), (0, 2))):
        found = converted(*contents)
        want = [("edge/7", place * MESSAGE_LINES, "invalid_utf8", "topic edge.access") for place in places]
        assert (rejects_of(found), found.lines, found.rejected) == (want, 1, {"invalid_utf8": 2})


@pytest.mark.parametrize("contents", [[], [None], [b"", b" \n"]])
def test_where_there_are_no_lines_there_are_no_rows(contents: list[bytes | None]) -> None:
    assert converted(*contents) == Converted("topic edge.access")


def test_a_carriage_return_within_a_line_ends_none() -> None:
    found = converted(b'{"ts":1795168800,\r"url":"/a","id":"a"}\r\n{"ts":1795168800,"url":"/b","id":"b"}')
    assert [(row["offset"], row["external_id"]) for row in found.rows()] == [(0, "a"), (1, "b")]


def test_a_line_that_is_known_by_a_place_of_its_own_keeps_it() -> None:
    lines = [JsonLine("log/1", 9, b"\x1f\x8b"), JsonLine("log/2", 5, good(0)), JsonLine("log/1", 2, good(1))]
    found = Converter(SOURCE, COLLECTOR, None).convert(lines)
    assert [(row["log_id"], row["offset"], row["path"]) for row in found.rows()] == [
        ("log/2", 5, "/0"),
        ("log/1", 2, "/1"),
    ]
    assert rejects_of(found) == [("log/1", 9, "invalid_utf8", "topic edge.access")]
