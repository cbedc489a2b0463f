"""Batches of one table, however they differ, become one insert that loses nothing."""

import time
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest
from arrow_batches import batch, stream
from hypothesis import given, settings
from hypothesis import strategies as st
from quiclens_ingest.message import MessageLimits, Unreadable, read
from quiclens_ingest.stitch import encode, stitch
from quiclens_schema.store import Store

LIMITS = MessageLimits(message_bytes=1 << 20, decompressed_bytes=1 << 24)
KEY = {"connection_id": "c", "vantage": "server", "trace_id": "t"}


def message(table: str, value: bytes, rows: int) -> Any:
    return read(table, {"table": table.encode(), "rows": str(rows).encode()}, value, LIMITS)


def record_batch(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def dictionary(values: list[str], index: Any = None) -> pa.Array:
    return pa.array(values).dictionary_encode().cast(pa.dictionary(index or pa.int32(), pa.string()))


def events(first: int, count: int, **more: Any) -> pa.RecordBatch:
    """A batch of events with the columns of the key and those that are given."""
    return record_batch(
        connection_id=dictionary(["c"] * count),
        vantage=dictionary(["server"] * count),
        trace_id=dictionary(["t"] * count),
        seq=pa.array(range(first, first + count), pa.uint64()),
        trace_day=pa.array([0] * count, pa.int32()).cast(pa.date32()),
        **more,
    )


def test_batches_of_other_widths_dictionaries_and_columns_are_one_insert(store: Store) -> None:
    batches = [
        events(0, 2, name=dictionary(["a", "b"]), offset=pa.array([1, None], pa.uint32())),
        events(2, 2, name=dictionary(["b", "z"], pa.uint8()), offset=pa.array([1 << 40, 3], pa.uint64())),
        events(4, 2, name=pa.array(["q", "a"])),
        events(
            6,
            1,
            more=pa.array([[("k", "1")]], pa.map_(pa.dictionary(pa.uint32(), pa.string()), pa.string())),
            **{"frames.frame_type": pa.array([["ack", "x"]], pa.list_(pa.dictionary(pa.uint32(), pa.string())))},
        ),
        events(
            7,
            1,
            more=pa.array([[("m", "2"), ("k", "3")]], pa.map_(pa.dictionary(pa.uint32(), pa.string()), pa.string())),
            **{"frames.frame_type": pa.array([["y", "ack"]], pa.list_(pa.dictionary(pa.uint32(), pa.string())))},
        ),
    ]
    whole, rows = stitch("events", batches)
    store.insert_arrow("events", whole, rows)
    found = store.query("SELECT seq, name, `offset`, more, `frames.frame_type` FROM events ORDER BY seq LIMIT 100").rows
    assert found == [
        (0, "a", 1, {}, []),
        (1, "b", None, {}, []),
        (2, "b", 1 << 40, {}, []),
        (3, "z", 3, {}, []),
        (4, "q", None, {}, []),
        (5, "a", None, {}, []),
        (6, "", None, {"k": "1"}, ["ack", "x"]),
        (7, "", None, {"m": "2", "k": "3"}, ["y", "ack"]),
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.text(max_size=3), min_size=1, max_size=6),
            st.sampled_from(["dictionary", "text", "absent"]),
            st.sampled_from([pa.uint8(), pa.uint32(), pa.uint64()]),
            st.lists(st.lists(st.sampled_from("abcdef"), max_size=3), min_size=6, max_size=6),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_stitching_is_concatenation(parts: list[tuple[list[str], str, Any, list[list[str]]]]) -> None:
    batches: list[Any] = []
    expected: list[tuple[Any, ...]] = []
    for names, form, width, frames in parts:
        columns: dict[str, Any] = {"packet_number": pa.array([len(expected) % 250] * len(names), width)}
        if form != "absent":
            columns["name"] = dictionary(names) if form == "dictionary" else pa.array(names)
        kind = pa.list_(pa.dictionary(pa.uint32(), pa.string()) if form == "dictionary" else pa.string())
        columns["frames.frame_type"] = pa.array(frames[: len(names)], kind)
        number = len(expected) % 250
        for at, name in enumerate(names):
            expected.append((len(expected), number, name if form != "absent" else None, frames[at]))
        batches.append(events(len(expected) - len(names), len(names), **columns))
    is_named = any("name" in one.schema.names for one in batches)
    expected = [(*row[:2], row[2] if row[2] is not None else "" if is_named else None, row[3]) for row in expected]
    whole, rows = stitch("events", batches)
    table = pa.ipc.open_stream(whole).read_all()
    assert rows == len(expected) == table.num_rows
    found = [(row["seq"], row["packet_number"], row.get("name"), row["frames.frame_type"]) for row in table.to_pylist()]
    assert found == expected


def test_raw_bytes_of_a_reject_arrive_as_they_were(store: Store) -> None:
    rows = [{"source": "s", "offset": 1, "length": 4, "hash": "h", "reason": "not_json", "file": "f", "trace_id": ""}]
    value = encode("rejects", [{**rows[0], "bytes": b"\xff\x00\xfe!"}])
    other = batch("rejects", [{**rows[0], "offset": 2, "bytes": "text"}])
    batches = [message("rejects", value, 1).batch, message(*other).batch]
    store.insert_arrow("rejects", *stitch("rejects", batches))
    found = store.query("SELECT `offset`, hex(bytes) FROM rejects ORDER BY `offset` LIMIT 9").rows
    assert found == [(1, "FF00FE21"), (2, "74657874")]


def written(one: pa.RecordBatch, times: int = 1, compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, one.schema, options=options) as writer:
        for _ in range(times):
            writer.write_batch(one)
    return bytes(sink.getvalue().to_pybytes())


GOOD = written(events(0, 3), compression="zstd")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "not_arrow"),
        (b"garbage", "not_arrow"),
        (b"\xff\xff\xff\xff" + b"\x00" * 100, "not_arrow"),
        (GOOD[:-8], "not_arrow"),
        (GOOD[: len(GOOD) // 2], "not_arrow"),
        (GOOD[: len(GOOD) - 40], "not_arrow"),
        (GOOD + GOOD, "not_arrow"),
        (GOOD + b"x", "not_arrow"),
        (written(events(0, 3), times=2), "not_arrow"),
        (written(events(0, 3), times=0), "not_arrow"),
        (written(events(0, 2)), "rows_disagree"),
        (written(events(0, 3, nonsense=pa.array([1, 2, 3]))), "wrong_schema"),
        (written(events(0, 3, offset=pa.array(["1", "2", "3"]))), "wrong_schema"),
        (written(events(0, 3, offset=pa.array([1, 2, 3], pa.int64()))), "wrong_schema"),
        (written(events(0, 3, name=pa.array(["a", None, "b"]))), "wrong_schema"),
        (written(events(0, 3, exact=pa.array([[1], [None], []]))), "wrong_schema"),
        (written(events(0, 3).drop_columns(["seq"])), "wrong_schema"),
        (written(events(0, 3, offset=pa.array([0] * 3, pa.timestamp("us")))), "wrong_schema"),
        (b"\x00" * ((1 << 20) + 1), "message_too_large"),
    ],
)
def test_what_is_no_message_has_its_reason(value: bytes, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        message("events", value, 3)
    assert caught.value.reason == reason


def test_a_message_that_grows_too_much_is_told_before_it_is_decompressed() -> None:
    bomb = written(events(0, 1, shape=pa.array(["x" * (1 << 25)])), compression="zstd")
    assert len(bomb) < 1 << 16
    with pytest.raises(Unreadable, match="message_too_large"):
        message("events", bomb, 1)


@pytest.mark.parametrize("kind", [pa.int8(), pa.struct([(str(number), pa.int8()) for number in range(2)])])
@pytest.mark.parametrize(("count", "said"), [(50_000, "more than [0-9]+ fields"), (200, "more than [0-9]+ columns")])
def test_columns_are_counted_before_anything_is_made_of_them(count: int, said: str, kind: pa.DataType) -> None:
    """It took a time that grew with the square of their number: 50,000 a minute."""
    value = written(events(0, 3, **{f"c{number}": pa.nulls(3, kind) for number in range(count)}))
    limits = MessageLimits(message_bytes=1 << 26, decompressed_bytes=1 << 26)
    began = time.process_time()
    with pytest.raises(Unreadable, match=f"wrong_schema: {said}"):
        read("events", {"table": b"events", "rows": b"3"}, value, limits)
    assert time.process_time() - began < 1


def test_fields_inside_a_column_count_too() -> None:
    within = pa.struct([(str(number), pa.int8()) for number in range(2000)])
    with pytest.raises(Unreadable, match=r"wrong_schema: more than [0-9]+ fields"):
        message("events", written(events(0, 3, offset=pa.nulls(3, within))), 3)


def indexed(value: str, rows: int) -> pa.Array:
    """A column that has one value in every row, and once in memory."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.uint8()), pa.array([value]))


def listed(items: pa.Array) -> pa.Array:
    """One list in the first row, none in others."""
    return pa.ListArray.from_arrays(pa.array([0, len(items), *[len(items)] * 399], pa.int32()), items)


@pytest.mark.parametrize(
    "columns",
    [
        {"name": indexed("x" * (1 << 18), 400)},
        {"frames.frame_type": listed(indexed("x" * (1 << 18), 400))},
        {
            "more": pa.MapArray.from_arrays(
                pa.array(range(401), pa.int32()), indexed("x" * (1 << 18), 400), pa.array([""] * 400)
            )
        },
    ],
    ids=["text", "list", "map"],
)
def test_a_message_that_grows_too_much_when_its_dictionaries_are_made_plain_is_told_before(
    columns: dict[str, pa.Array],
) -> None:
    """400 rows with one value of 256 KiB: some KB on the wire, 100 MB beside a batch that has the column plain."""
    bomb = written(events(0, 400, **columns), compression="zstd")
    assert len(bomb) < 1 << 14
    with pytest.raises(Unreadable, match=r"message_too_large: 10[0-9]+ bytes as plain columns"):
        message("events", bomb, 400)


def test_a_message_counts_for_what_it_takes_when_its_dictionaries_are_plain() -> None:
    found = message("events", written(events(0, 100, name=indexed("x" * 1000, 100))), 100)
    plain = written(events(0, 100, name=pa.array(["x" * 1000] * 100)))
    assert abs(found.bytes - message("events", plain, 100).bytes) < 100


def test_dictionaries_of_lists_are_no_columns() -> None:
    lists = pa.DictionaryArray.from_arrays(pa.array([0] * 3, pa.uint8()), pa.array([["ack"]]))
    with pytest.raises(Unreadable, match=r"wrong_schema|not_arrow"):
        message("events", written(events(0, 3, **{"frames.frame_type": lists})), 3)


@pytest.mark.parametrize(
    "headers",
    [{}, {"table": b"streams", "rows": b"3"}, {"table": b"events"}, {"table": b"events", "rows": b"-3"}],
)
def test_headers_are_part_of_the_message(headers: dict[str, bytes]) -> None:
    with pytest.raises(Unreadable) as caught:
        read("events", headers, GOOD, LIMITS)
    assert caught.value.reason == "bad_headers"


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 7), st.integers(0, len(GOOD)))
def test_bytes_that_went_wrong_are_read_or_refused_and_never_more(at: int, bit: int, cut: int) -> None:
    bent = bytearray(GOOD)
    bent[at] ^= 1 << bit
    for value in (bytes(bent), bytes(bent[:cut])):
        with suppress(Unreadable):
            stitch("events", [message("events", value, 3).batch, events(0, 1)])


def test_every_column_of_the_catalogue_can_be_sent(store: Store) -> None:
    for table, row in (("connections", KEY), ("streams", KEY), ("request_lines", {"time_is": "start"})):
        one = message(*batch(table, [row]))
        store.insert_arrow(table, *stitch(table, [one.batch, one.batch]))


def test_a_stream_made_by_hand_is_what_the_fixture_says() -> None:
    one = events(0, 1)
    assert message("events", stream(one.schema, one.columns), 1).batch.num_rows == 1
