"""Messages of a collector that is newer than this ingest: what is not known yet is stored, or waits."""

import time
from threading import Event
from typing import Any, cast

import pyarrow as pa
import pytest
from arrow_batches import stream as stream_of
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME
from quiclens_ingest.blocks import BlockLimits, Source, TakenMessage, next_block
from quiclens_ingest.insert import Inserter, _Progress
from quiclens_ingest.kafka import TIMESTAMP_NOT_AVAILABLE, Message
from quiclens_ingest.message import MessageLimits, Unreadable, read
from quiclens_ingest.metrics import IngestMetrics
from quiclens_ingest.stitch import StitchError, stitch
from quiclens_ingest.take import sent_at
from quiclens_schema.store import Store, StoreError
from quiclens_schema.version import VERSION

LIMITS = MessageLimits(message_bytes=1 << 20, decompressed_bytes=1 << 24)
NEWER = "999.0.0"
KEY: dict[str, Any] = {"connection_id": ["c"], "vantage": ["server"], "trace_id": ["t"], "trace_day": [0]}


def batch(seq: int, **columns: Any) -> pa.RecordBatch:
    """A row of events, with more columns."""
    fields = {
        **{name: pa.array(KEY[name]) for name in ("connection_id", "vantage", "trace_id")},
        "trace_day": pa.array(KEY["trace_day"], pa.date32()),
        "seq": pa.array([seq], pa.uint64()),
        **columns,
    }
    return pa.RecordBatch.from_pydict(fields)


def stream(made: pa.RecordBatch) -> bytes:
    return stream_of(made.schema, made.columns)


def reading(made: pa.RecordBatch, catalogue: str) -> Any:
    headers = {"table": b"events", "rows": b"1", "catalogue": catalogue.encode()}
    return read("events", headers, stream(made), LIMITS)


def taken(seq: int, at: float, sent_at: float = 0.0, **columns: Any) -> TakenMessage:
    made = batch(seq, **columns)
    found = reading(made, NEWER)
    return TakenMessage(0, seq, at, stream(made), 100, sent_at=sent_at, batch=found.batch, newer=found.newer)


def inserter(store: Store) -> Inserter:
    return Inserter(store, cast("Any", None), "test", IngestMetrics())


def block(*messages: TakenMessage) -> Any:
    source = Source("cluster", "quic.events.v1", "events")
    return next_block(source, messages, BlockLimits(1000, 1 << 20, 0.0), time.monotonic(), is_hurried=True)


def test_a_column_of_a_newer_catalogue_is_no_fault() -> None:
    brand_new = {"brand_new_us": pa.array([7], pa.uint32())}
    assert reading(batch(1, **brand_new), NEWER).newer == ("brand_new_us",)
    assert reading(batch(1), NEWER).newer == ()
    for theirs in (VERSION, "0.0.1", "", "x", "999", "1e9.0.0", "-1.0.0"):
        with pytest.raises(Unreadable, match="wrong_schema: unknown column brand_new_us"):
            reading(batch(1, **brand_new), theirs)


@pytest.mark.parametrize("name", ["a b", "x'y", "`", "A", "1x", "", "é", "a" * 101, "x.y"])
def test_a_name_that_is_none_of_a_column_is_a_fault_of_whoever_sends_it(name: str) -> None:
    with pytest.raises(Unreadable, match="wrong_schema"):
        reading(batch(1, **{name: pa.array([7])}), NEWER)


def test_not_any_number_of_them() -> None:
    with pytest.raises(Unreadable, match="more than 100 unknown columns"):
        reading(batch(1, **{f"c{number}": pa.array([7]) for number in range(101)}), NEWER)


def test_batches_of_both_versions_are_one_block() -> None:
    texts = pa.array(["x"]).dictionary_encode()
    made = [
        batch(1),
        batch(2, fresh=pa.array([7], pa.uint8())),
        batch(3, fresh=pa.array([70_000], pa.uint32()), word=texts),
    ]
    found = pa.ipc.open_stream(stitch("events", made)[0]).read_all()
    assert found.column("fresh").to_pylist() == [None, 7, 70_000] and found.column("seq").to_pylist() == [1, 2, 3]
    assert found.column("word").to_pylist() == [None, None, "x"]
    with pytest.raises(StitchError, match="no type has the values"):
        stitch("events", [batch(1, fresh=pa.array([1])), batch(2, fresh=pa.array(["x"]))])


def test_rows_wait_until_the_store_has_the_column_and_are_stored_with_it(store: Store) -> None:
    """The collectors were upgraded before the store: nothing is rejected, nothing is stored without its value."""
    inserts, given_up = inserter(store), Event()
    message = block(taken(1, time.monotonic(), time.time(), brand_new_us=pa.array([7], pa.uint32())))
    with pytest.raises(Exception, match="is newer than the store, and sends brand_new_us; its rows wait"):
        inserts._store_once(message, _Progress())
    assert store.query("SELECT count() FROM events").one() == (0,)
    store.command("ALTER TABLE events ADD COLUMN brand_new_us UInt64")
    assert inserts.store_until_done(message, given_up)
    assert inserts.store_until_done(block(taken(2, time.monotonic())), given_up)  # one of this version, beside it
    assert store.query("SELECT seq, brand_new_us FROM events ORDER BY seq").rows == [(1, 7), (2, 0)]


def test_nobody_waits_for_ever(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a day such a message is rejected, alone: its neighbours are stored."""
    rejected: list[Any] = []
    monkeypatch.setattr("quiclens_ingest.insert.produce", lambda producer, instance, rows: rejected.extend(rows))
    begun, a_day_ago = time.monotonic() - 601, time.time() - 86_401
    message = block(taken(1, begun, a_day_ago, never_comes=pa.array([7])), taken(2, begun, a_day_ago))
    inserter(store)._store_once(message, _Progress())
    assert store.query("SELECT seq FROM events").rows == [(2,)]
    assert [(row["reason"], row["bytes"]) for row in rejected] == [("refused_by_store", message.taken[0].value)]


@pytest.mark.parametrize(("here_seconds", "since_sent_seconds"), [(500, 90_000), (90_000, 80_000)])
def test_it_waits_for_a_day_since_it_was_sent_and_some_minutes_here(
    store: Store, here_seconds: float, since_sent_seconds: float
) -> None:
    """The day goes on where a process starts again; and one that was away rejects nothing at once."""
    at, sent_at = time.monotonic() - here_seconds, time.time() - since_sent_seconds
    with pytest.raises(StoreError, match="its rows wait"):
        inserter(store)._store_once(block(taken(1, at, sent_at, never_comes=pa.array([7]))), _Progress())


@pytest.mark.parametrize(("kind", "expected"), [(TIMESTAMP_CREATE_TIME, 1.5), (TIMESTAMP_LOG_APPEND_TIME, 1.5)])
def test_when_it_was_sent_is_what_kafka_says(kind: int, expected: float) -> None:
    assert sent_at(Message(topic="t", timestamp=(kind, 1500))) == expected
    assert time.time() - sent_at(Message(topic="t", timestamp=(TIMESTAMP_NOT_AVAILABLE, 0))) < 60
