"""Inserts: every way to send rows, and what the engine would have left out in silence."""

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from serve_process import Served

ALIAS = {"alias": "aa", "connection_id": "cc", "vantage": "server", "trace_id": "1" * 16, "role": "source"}


def stream(columns: dict[str, Sequence[Any]], batches: int = 1, **types: pa.DataType) -> bytes:
    schema = pa.schema([pa.field(name, types.get(name, pa.string())) for name in columns])
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as writer:
        for _ in range(batches):
            writer.write_batch(pa.record_batch([pa.array(v, schema.field(n).type) for n, v in columns.items()], schema))
    return sink.getvalue()


def aliases(batches: int = 1, **more: Sequence[Any]) -> bytes:
    import datetime

    columns: dict[str, Sequence[Any]] = {name: [value, value + "2"] for name, value in ALIAS.items()}
    columns |= {"version": [1, 1], "trace_day": [datetime.date(2026, 1, 1)] * 2, **more}
    types = {"version": pa.uint64(), "trace_day": pa.date32()}
    return stream(columns, batches, **types)


@pytest.fixture(autouse=True)
def table(served: Served) -> None:
    got = served.ask("CREATE OR REPLACE TABLE t (a UInt32, s String) ENGINE = MergeTree ORDER BY a")
    assert got.status == 200, got.text


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("", b"INSERT INTO t FORMAT TSV\n1\tx\n2\ty\n"),
        ("", b"INSERT INTO t FORMAT TabSeparated 1\tx\n2\ty\n"),
        ("", b'insert into default.t (a, s) format JSONEachRow\r\n{"a":1,"s":"x"}{"a":2,"s":"y"}'),
        ("", b"INSERT INTO t VALUES (1, 'x'), (2, 'y')"),
        ("", b"INSERT INTO t VALUES (1, 'x'), (1 + 1, lower('Y'));"),
        (
            "",
            b"/* ' */ INSERT INTO t -- FORMAT CSV\n (a, `s`) SETTINGS max_insert_threads = 1 VALUES (1, 'x') (2, 'y')",
        ),
        ("INSERT INTO t FORMAT CSV", b"1,x\n2,y\n"),
        ("INSERT INTO t FORMAT CSV\n", b"1,x\n2,y\n"),
        ("INSERT INTO t FORMAT CSV 1,x", b"2,y\n"),
        ("INSERT INTO t VALUES", b"(1, 'x'), (2, 'y')"),
        ("INSERT INTO t SELECT number + 1, ['x', 'y'][number + 1] FROM numbers(2)", b""),
    ],
)
def test_rows_arrive_however_they_are_sent(served: Served, query: str, body: bytes) -> None:
    got = served.request(body, "POST", "/", {}, **({"query": query} if query else {}))
    assert got.status == 200 and got.headers["content-length"] == "0", got.text
    assert '"written_rows":"2"' in got.headers["x-clickhouse-summary"]
    assert served.ask("SELECT * FROM t ORDER BY a").body == b"1\tx\n2\ty\n"


def test_parameters_in_values_are_bound(served: Served) -> None:
    got = served.ask("INSERT INTO t (a, s) VALUES ({a:UInt32}, {s:String})", param_a="7", param_s="it's)")
    assert got.status == 200, got.text
    assert served.one("SELECT s FROM t WHERE a = 7") == "it\\'s)"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"INSERT INTO t FORMAT TSV\nx\ty\n", 27),
        (b'INSERT INTO t FORMAT JSONEachRow\n{"a":1,"colour":2}', 117),
        (b"INSERT INTO t FORMAT ArrowStream\ngarbage", 33),
        (b"INSERT INTO nowhere FORMAT TSV\n1", 60),
        (b"INSERT INTO t (nothing) FORMAT TSV\n1", 16),
        (b"INSERT INTO t FORMAT Nothing\n1", 73),
        (b"INSERT INTO t VALUES (1, 'x'); SELECT 1", 62),
        (b"INSERT INTO t VALUES (1, 'x'); (2, 'y')", 62),
        (b"INSERT INTO t VALUES (1", None),
    ],
)
def test_rows_that_cannot_be_read_are_an_error_and_none_is_kept(served: Served, body: bytes, code: int | None) -> None:
    got = served.ask(body)
    assert got.status >= 400 and (code is None or got.code == code), got.text
    assert served.one("SELECT count() FROM t") == "0"


def insert_aliases(served: Served, data: bytes) -> tuple[int, str]:
    got = served.request(data, "POST", "/", {}, query="INSERT INTO connection_aliases FORMAT ArrowStream")
    return got.code, got.text


def test_an_arrow_stream_of_the_catalogue_is_taken_whole_or_not_at_all(served: Served) -> None:
    good = aliases(batches=2)
    got = served.request(good, "POST", "/", {}, query="INSERT INTO connection_aliases FORMAT ArrowStream")
    assert got.status == 200 and '"written_rows":"4"' in got.headers["x-clickhouse-summary"]
    before = served.one("SELECT count() FROM connection_aliases")
    assert insert_aliases(served, good[:-8])[0] == 33  # cut between messages
    assert insert_aliases(served, good[: len(good) // 2])[0] == 33
    assert insert_aliases(served, good + good)[0] == 33  # the engine would drop the second
    code, text = insert_aliases(served, aliases(colour=["red", "blue"]))
    assert code == 16 and "unknown colour" in text
    code, text = insert_aliases(served, stream({"alias": ["a"]}))
    assert code == 16 and "lacks connection_id" in text
    assert served.one("SELECT count() FROM connection_aliases") == before


def test_rows_that_replace_each_other_all_count_as_written(served: Served) -> None:
    data = aliases(alias=["same", "same"], connection_id=["c", "c"], trace_id=["t", "t"], vantage=["v", "v"])
    got = served.request(data, "POST", "/", {}, query="INSERT INTO connection_aliases FORMAT ArrowStream")
    assert got.status == 200, got.text


def test_an_insert_without_rows_is_none(served: Served) -> None:
    assert served.ask("INSERT INTO t FORMAT TSV\n").status == 200
    assert served.ask("INSERT INTO t FORMAT TSV").status == 200
    assert served.one("SELECT count() FROM t") == "0"
