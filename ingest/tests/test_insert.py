"""Blocks on their way: how long one is being stored, which the health of a process rests on; what is stored stays so
while the rest is tried again; and rejects in messages that brokers take."""

import json
import random
import time
from collections.abc import Callable, Mapping
from datetime import date
from threading import Event, Thread
from typing import Any, cast

import pytest
from arrow_batches import batch
from quiclens_ingest import rejects
from quiclens_ingest.blocks import Block, BlockLimits, Source, TakenMessage, next_block
from quiclens_ingest.insert import Inserter
from quiclens_ingest.kafka import BrokerError
from quiclens_ingest.message import MessageLimits, read
from quiclens_ingest.metrics import IngestMetrics
from quiclens_schema.store import Store, StoreError

SOURCE = Source("cluster", "quic.streams.v1", "streams")
LIMITS = MessageLimits(message_bytes=1 << 20, decompressed_bytes=1 << 24)


def test_a_store_that_hangs_is_noticed_as_one_that_fails_is(monkeypatch: pytest.MonkeyPatch) -> None:
    inserter = Inserter(cast("Any", None), cast("Any", None), "test", IngestMetrics())
    assert inserter.oldest_seconds() == 0
    answers = Event()
    tries: list[Block] = []

    def once(block: Block, _: object) -> None:
        tries.append(block)
        if len(tries) == 1:
            raise StoreError("away")
        answers.wait(30)

    monkeypatch.setattr(inserter, "_store_once", once)
    block = Block(Source("cluster", "topic", "events"), (), {}, 0, 0)
    thread = Thread(target=inserter.store_until_done, args=(block, Event()))
    thread.start()
    while len(tries) < 2:
        time.sleep(0.01)
    assert inserter.oldest_seconds() >= 0.2  # since before the failure, not since the second try
    answers.set()
    thread.join()
    assert inserter.oldest_seconds() == 0


class FakeStore:
    """Remembers how often it was given rows, and may refuse them."""

    def __init__(self) -> None:
        self.given: list[int] = []
        self.answers: list[StoreError | None] = []

    def insert_arrow(self, table: str, stream: bytes, rows: int, newer: object) -> int:
        if self.answers and (error := self.answers.pop(0)):
            raise error
        self.given.append(rows)
        return 0


def good(offset: int, rows: int, others: Mapping[int, Mapping[str, Any]] | None = None) -> TakenMessage:
    """A message; `others` has what some of its rows have otherwise."""
    row = {"connection_id": str(offset), "vantage": "server", "trace_id": "t"}
    made = [{**row, "stream_id": number, **(others or {}).get(number, {})} for number in range(rows)]
    table, value, _ = batch("streams", made)
    found = read(table, {"table": table.encode(), "rows": str(rows).encode()}, value, LIMITS)
    return TakenMessage(0, offset, 0.0, value, len(value), batch=found.batch)


def bad(offset: int) -> TakenMessage:
    return TakenMessage(0, offset, 0.0, b"", 0, reject=rejects.reject(SOURCE, 0, offset, b"", "not_arrow"))


def block_of(*messages: TakenMessage) -> Block:
    found = next_block(SOURCE, messages, BlockLimits(1000, 1 << 20, 0.0), 0.0, is_hurried=True)
    assert found is not None
    return found


def test_rows_are_stored_once_while_their_rejects_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    store, metrics, tries = FakeStore(), IngestMetrics(), list[int]()

    def produce(producer: object, instance: str, rows: list[object]) -> None:
        tries.append(len(rows))
        if len(tries) < 3:
            raise BrokerError("away")

    monkeypatch.setattr("quiclens_ingest.insert.produce", produce)
    inserter = Inserter(cast("Any", store), cast("Any", None), "test", metrics)
    assert inserter.store_until_done(block_of(good(1, 2), bad(2), good(3, 3)), Event())
    assert (store.given, tries) == ([5], [1, 1, 1])
    assert metrics.registry.get_sample_value("quiclens_ingest_rows_total", {"table": "streams"}) == 5


def test_what_was_stored_alone_is_not_stored_again_when_a_later_message_has_to_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, metrics, refused = FakeStore(), IngestMetrics(), list[Any]()
    monkeypatch.setattr("quiclens_ingest.insert.produce", lambda producer, instance, rows: refused.extend(rows))
    is_bad = StoreError("it cannot be taken", code=117)
    # All, two of them, the first, the second and both of its rows, the other two, the rest.
    store.answers = [is_bad, is_bad, None, is_bad, is_bad, is_bad, StoreError("away"), None]
    inserter = Inserter(cast("Any", store), cast("Any", None), "test", metrics)
    assert inserter.store_until_done(block_of(*(good(offset, offset) for offset in (1, 2, 3, 4))), Event())
    assert store.given == [1, 3 + 4]
    assert [(row["offset"], row["reason"]) for row in refused] == [(2, "refused_by_store")]
    assert metrics.registry.get_sample_value("quiclens_ingest_rows_total", {"table": "streams"}) == 8


def test_rows_that_the_store_refuses_cost_their_neighbours_in_the_message_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics, refused = IngestMetrics(), list[Any]()
    monkeypatch.setattr("quiclens_ingest.insert.produce", lambda producer, instance, rows: refused.extend(rows))
    far = {"trace_day": date(2160, 1, 1), "trace_id": "far"}
    messages = [
        good(1, 3),
        good(2, 300, {7: far, 250: {**far, "trace_id": "farther"}}),
        good(3, 2),
        good(4, 1, {0: far}),
    ]
    inserter = Inserter(store, cast("Any", None), "test", metrics)
    assert inserter.store_until_done(block_of(*messages), Event())
    found = store.query("SELECT connection_id, stream_id FROM streams ORDER BY ALL LIMIT 1000").rows
    kept = [number for number in range(300) if number not in (7, 250)]
    assert found == [("1", number) for number in range(3)] + [("2", number) for number in kept] + [("3", 0), ("3", 1)]
    told = [(row["source"], row["reason"], row["file"], row["trace_id"]) for row in refused]
    whole, *rows = sorted(told, key=lambda row: row[2])
    assert whole[1:] == ("refused_by_store", "kafka:quic.streams.v1/0", "")  # all of a message is as it came
    assert sorted(rows) == [
        (name, "refused_by_store", "kafka:quic.streams.v1/0/2", name) for name in ("far", "farther")
    ]
    by_source = {row["source"]: json.loads(row["bytes"]) for row in refused if row["trace_id"]}
    assert [(by_source[name]["stream_id"], by_source[name]["trace_day"]) for name in ("far", "farther")] == [
        (7, 69_396),
        (250, 69_396),
    ]
    assert len({(row["source"], row["offset"]) for row in refused}) == 3
    assert metrics.registry.get_sample_value("quiclens_ingest_rows_total", {"table": "streams"}) == 3 + 298 + 2
    counted = metrics.registry.get_sample_value("quiclens_ingest_rejects_total", {"reason": "refused_by_store"})
    assert counted == 1 + 2


def test_rejects_that_cannot_be_compressed_are_cut_into_messages_that_a_producer_takes() -> None:
    class FakeProducer:
        def __init__(self) -> None:
            self.sent: list[tuple[int, int]] = []
            self.waiting: list[Callable[[None, None], None]] = []

        def produce(self, topic: str, value: bytes, headers: dict[str, str], on_delivery: Any) -> None:
            self.sent.append((int(headers["rows"]), len(value)))
            self.waiting.append(on_delivery)

        def poll(self, seconds: float) -> None:
            self.waiting.pop()(None, None)

    chance, producer = random.Random(1), FakeProducer()
    rows = [rejects.reject(SOURCE, 0, offset, chance.randbytes(100_000), "not_arrow") for offset in range(64)]
    rows += [rejects.reject(SOURCE, 0, offset, b"", "not_arrow") for offset in range(64, 200)]
    rejects.produce(cast("Any", producer), "test", rows)
    assert max(size for _, size in producer.sent) < 700_000
    assert sum(count for count, _ in producer.sent) == 200
    assert len(producer.sent) < 15
