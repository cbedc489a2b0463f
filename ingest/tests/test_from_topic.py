"""Lines of somebody else's topic, by a real broker: each once, also when they are taken again."""

import json
from collections import Counter
from collections.abc import Collection
from threading import Event
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from quiclens_ingest import mapping
from quiclens_ingest.from_topic import MESSAGE_LINES, TopicReader, TopicSummary, newest
from quiclens_ingest.kafka import create_topics
from quiclens_ingest.lines import Converter
from quiclens_ingest.load import LoadError
from quiclens_schema.store import Store, StoreError
from quiclens_schema.topics import Topic
from taking import COLLECTOR

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.skipif(not COLLECTOR.is_file(), reason="no quiclens-collector: cargo build --release"),
]

COLUMNS = {"time": {"from": "ts"}, "path": {"from": "http.url"}, "external_id": {"from": "id"}}
AT = 1_795_168_800


@pytest.fixture
def topic(broker: Any) -> mapping.Mapping:
    name = f"edge.{uuid4().hex[:8]}"
    create(broker, name)
    return mapping.of({"topic": name, "name": "edge", "format": {"columns": COLUMNS}})


def create(broker: Any, name: str) -> None:
    create_topics(broker.address, [Topic(name, "lines", "none", "others", "quiclens lines", 2, 1, 1 << 20)])


def line(name: str) -> bytes:
    return json.dumps({"ts": AT, "http": {"url": "/"}, "id": name}).encode()


def send(broker: Any, topic: str, partition: int, *messages: bytes | None) -> None:
    producer = Producer({"bootstrap.servers": broker.address})
    for message in messages:
        producer.produce(topic, message, partition=partition)
    assert producer.flush(60) == 0


def take(store: Store, broker: Any, source: mapping.Mapping, group: str = "lines") -> TopicSummary:
    reader = TopicReader(store, source, Converter(source, COLLECTOR, None), broker.address, group, {})
    return reader.take(Event(), lambda: None, until_end=True)


def stored(store: Store) -> Counter[str]:
    return Counter(str(name) for (name,) in store.query("SELECT external_id FROM request_lines FINAL").rows)


def test_each_line_is_one_row_however_often_and_by_whom_it_is_taken(
    store: Store, broker: Any, topic: mapping.Mapping
) -> None:
    send(broker, topic.topic, 0, line("a"), line("b") + b"\n" + line("c") + b"\n", b"no json", None, b"")
    send(broker, topic.topic, 1, line("a"), json.dumps(json.loads(line("d")), indent=1).encode())
    found = take(store, broker, topic)
    assert (found.messages, found.lines, found.rejected) == (7, 5, Counter({"bad_line": 1}))
    want = Counter({"a": 2, "b": 1, "c": 1, "d": 1})
    assert stored(store) == want
    ((source, offset, file, kept),) = store.query("SELECT source, offset, file, bytes FROM rejects FINAL").rows
    assert (source, offset, file, kept) == (
        "edge/0",
        2 * MESSAGE_LINES,
        f"topic {topic.topic}",
        "",
    )  # what may be an address is not kept
    assert take(store, broker, topic).messages == 0
    assert take(store, broker, topic, "another group").messages == 7
    assert stored(store) == want
    send(broker, topic.topic, 1, line("e"))
    assert (take(store, broker, topic).lines, stored(store)) == (1, want + Counter("e"))


def test_nothing_is_committed_that_is_not_stored(
    store: Store, broker: Any, topic: mapping.Mapping, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(broker, topic.topic, 0, *(line(str(number)) for number in range(20)))
    stop, tried = Event(), []
    insert = Store.insert_arrow

    def fails_twice(self: Store, table: str, stream: bytes, rows: int) -> int:
        tried.append(table)
        if len(tried) < 3:
            raise StoreError("away")
        return insert(self, table, stream, rows)

    def is_away(self: Store, table: str, stream: bytes, rows: int) -> int:
        stop.set()
        raise StoreError("away for good")

    monkeypatch.setattr(Store, "insert_arrow", is_away)
    reader = TopicReader(store, topic, Converter(topic, COLLECTOR, None), broker.address, "lines", {})
    assert reader.take(stop, lambda: None).messages == 0 and not stored(store)
    monkeypatch.setattr(Store, "insert_arrow", fails_twice)
    assert take(store, broker, topic).lines == 20
    assert stored(store) == Counter(str(number) for number in range(20))


def test_a_line_that_the_store_refuses_is_a_reject_and_those_around_it_are_stored(
    store: Store, broker: Any, topic: mapping.Mapping, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = Store.insert_arrow

    def choosy(self: Store, table: str, stream: bytes, rows: int, newer: Collection[str] = ()) -> int:
        """As a store that cannot hold a value: what the collector lets through, its columns take."""
        if table == "request_lines" and "/far" in pa.ipc.open_stream(stream).read_all()["path"].to_pylist():
            raise StoreError("Code: 321. VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE", 321)
        return taken(self, table, stream, rows, newer)

    monkeypatch.setattr(Store, "insert_arrow", choosy)
    far = json.dumps({"ts": AT, "http": {"url": "/far"}, "id": "far"}).encode()
    send(broker, topic.topic, 0, line("a"), far, line("b"), line("c") + b"\n" + far + b"\n" + line("d"))
    found = take(store, broker, topic)
    assert (found.messages, found.lines, found.rejected) == (4, 4, Counter({"refused_by_store": 2}))
    assert stored(store) == Counter("abcd")
    rejects = "SELECT source, offset, reason, file, bytes FROM rejects FINAL ORDER BY offset"
    told = store.query(rejects).rows
    assert [row[:4] for row in told] == [
        ("edge/0", offset, "refused_by_store", f"topic {topic.topic}")
        for offset in (1 * MESSAGE_LINES, 3 * MESSAGE_LINES + 1)
    ]
    kept = [json.loads(row[4]) for row in told]
    assert [(row["time"], row["path"], row["external_id"]) for row in kept] == [(AT * 1_000_000, "/far", "far")] * 2
    assert take(store, broker, topic).messages == 0
    assert take(store, broker, topic, "another group").lines == 4
    assert (stored(store), store.query(rejects).rows) == (Counter("abcd"), told)


def test_a_check_looks_at_the_newest_and_commits_nothing(store: Store, broker: Any, topic: mapping.Mapping) -> None:
    send(broker, topic.topic, 0, *(line(str(number)) for number in range(20)))
    send(broker, topic.topic, 1, line("x"))
    found = newest(topic, broker.address, {}, 10)
    assert {json.loads(each.text)["id"] for each in found} == {"15", "16", "17", "18", "19", "x"}
    assert take(store, broker, topic).lines == 21
    nowhere = mapping.of({"topic": "nowhere.at.all", "format": {"columns": COLUMNS}})
    with pytest.raises(LoadError, match=r"nowhere\.at\.all"):
        newest(nowhere, broker.address, {}, 10)
    with pytest.raises(LoadError, match=r"nowhere\.at\.all"):
        take(store, broker, nowhere)


def test_who_follows_waits_for_a_topic_that_is_not_there_yet(
    store: Store, broker: Any, caplog: pytest.LogCaptureFixture
) -> None:
    later = mapping.of({"topic": "edge.later", "format": {"columns": COLUMNS}})
    stop, made = Event(), list[str]()

    def turned() -> None:
        if "edge.later is not there" in caplog.text and not made:
            made.append("edge.later")
            create(broker, "edge.later")
            send(broker, "edge.later", 0, line("a"))
        if stored(store):
            stop.set()

    reader = TopicReader(store, later, Converter(later, COLLECTOR, None), broker.address, "lines", {})
    found = reader.take(stop, turned)
    assert (found.lines, stored(store)) == (1, Counter("a")) and made


def test_who_follows_waits_for_a_broker_that_is_away(
    store: Store, topic: mapping.Mapping, caplog: pytest.LogCaptureFixture
) -> None:
    stop = Event()
    reader = TopicReader(store, topic, Converter(topic, COLLECTOR, None), "127.0.0.1:9", "lines", {})
    found = reader.take(stop, lambda: stop.set() if "trying again" in caplog.text else None)
    assert not found.messages and topic.place in caplog.text


def test_a_broker_that_is_away_is_told(store: Store, topic: mapping.Mapping) -> None:
    reader = TopicReader(store, topic, Converter(topic, COLLECTOR, None), "127.0.0.1:9", "lines", {})
    with pytest.raises(LoadError, match=topic.place):
        reader.take(Event(), lambda: None, until_end=True)
