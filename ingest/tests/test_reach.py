"""Whether Kafka lets anything be taken: said by /healthz, with the reason that says most, until it does again."""

import json
import time
import urllib.error
from dataclasses import replace
from threading import Event, Thread
from urllib.request import urlopen
from uuid import uuid4

import pytest
from quiclens_ingest import kafka, reach
from quiclens_ingest.ingest import ingest
from quiclens_ingest.kafka import KafkaError
from quiclens_ingest.reach import Reach
from quiclens_ingest.settings import IngestSettings
from quiclens_schema import topics
from quiclens_schema.store import Store
from taking import Pipe, free_address, running, told, until

DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN, "2/2 brokers are down")
PASSWORD = KafkaError(KafkaError._AUTHENTICATION, "SASL authentication failed")
GROUP = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED, "not for this group")
ABSENT = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART, "Subscribed topic not available: a")
MOVED = KafkaError(KafkaError._TRANSPORT, "disconnected")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_short_absence_is_none_and_a_long_one_says_since_when() -> None:
    clock = Clock()
    reached = Reach(clock)
    reached.heard(MOVED)
    assert not reached.is_failing
    reached.heard(DOWN)
    clock.now = 44
    assert list(reached.unwell()) == []
    clock.now = 46
    assert list(reached.unwell()) == ["Kafka has not let anything be taken for 46 s: 2/2 brokers are down"]
    reached.answered(has_partitions=False)
    assert list(reached.unwell()) == []


def test_a_wrong_password_is_not_told_as_brokers_that_are_down() -> None:
    clock = Clock()
    reached = Reach(clock)
    reached.heard(PASSWORD)
    reached.heard(DOWN)
    reached.failed(MOVED)
    clock.now = 60
    assert list(reached.unwell()) == ["Kafka has not let anything be taken for 60 s: SASL authentication failed"]


def test_a_group_that_is_refused_is_unwell_though_brokers_answer() -> None:
    clock = Clock()
    reached = Reach(clock)
    reached.failed(GROUP)
    reached.answered(has_partitions=False)
    clock.now = 60
    assert list(reached.unwell()) == ["Kafka has not let anything be taken for 60 s: not for this group"]
    reached.answered(has_partitions=True)
    assert list(reached.unwell()) == []


def test_a_topic_that_is_absent_is_unwell_though_brokers_and_the_group_answer() -> None:
    clock = Clock()
    reached = Reach(clock)
    reached.failed(ABSENT)
    reached.absent(["b", "a"])
    reached.answered(has_partitions=True)
    clock.now = 44
    assert list(reached.unwell()) == [] and reached.is_failing
    reached.absent(["b", "a"])
    clock.now = 46
    assert list(reached.unwell()) == ["Kafka has not had all topics for 46 s, quiclens migrate makes them: a, b"]
    reached.absent([])
    assert list(reached.unwell()) == [] and not reached.is_failing


def test_a_topic_that_is_absent_is_told_until_it_is_made(
    store: Store, pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "LONGEST_AWAY_SECONDS", 0.0)
    late = replace(topics.of_tables()["rejects"], name=f"test.late-{uuid4().hex[:8]}", partitions=1)
    ours = topics.of_tables()
    monkeypatch.setattr(topics, "of_tables", lambda: {**ours, "rejects": late})
    address = free_address()
    with running(store, pipe, metrics_address=address) as process:
        known = sum(topic.partitions for topic in ours.values()) - ours["rejects"].partitions
        until(lambda: process.count("partitions") == known, 60)
        until(lambda: len(told(address)) == 1, 60)
        time.sleep(6)  # brokers answer, as a look at them shows, and others have partitions: that mends nothing
        assert told(address)[0].endswith(f": {late.name}")
        kafka.create_topics(pipe.brokers, [late])
        until(lambda: told(address) == [], 60)
        until(lambda: process.count("partitions") == known + 1, 60)


def test_a_member_without_partitions_is_ready(store: Store, pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "LONGEST_AWAY_SECONDS", 0.0)
    only = replace(topics.of_tables()["connections"], name=f"test.spare-{uuid4().hex[:8]}", partitions=1)
    monkeypatch.setattr(topics, "of_tables", lambda: {"connections": only})
    kafka.create_topics(pipe.brokers, [only])
    one, other = free_address(), free_address()
    with running(store, pipe, metrics_address=one) as first, running(store, pipe, metrics_address=other) as second:
        until(lambda: second.count("rebalances_total", kind="assigned") > 0, 60)
        until(lambda: sorted((first.count("partitions"), second.count("partitions"))) == [0, 1], 60)
        until(lambda: told(one) == told(other) == [], 60)
        time.sleep(6)
        assert told(one) == told(other) == []


def test_without_a_broker_the_process_is_not_well(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "LONGEST_AWAY_SECONDS", 0.0)
    address = free_address()
    stop = Event()
    settings = IngestSettings(brokers="127.0.0.1:1", metrics_address=address, link_seconds=0)
    process = Thread(target=ingest, args=(store, settings, stop))
    process.start()
    said: list[str] = []

    def is_unwell() -> bool:
        try:
            urlopen(f"http://{address}/healthz", timeout=5).close()
        except urllib.error.HTTPError as answer:
            with answer:
                said[:] = json.load(answer)["reasons"]
        except OSError:
            return False
        return bool(said)

    try:
        until(is_unwell)
        assert said[0].startswith("Kafka has not let anything be taken for ")
    finally:
        stop.set()
        process.join(60)
