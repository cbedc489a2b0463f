"""Whether Kafka lets anything be taken: said by /healthz, with the reason that says most, until it does again."""

import json
import socket
import urllib.error
from threading import Event, Thread
from urllib.request import urlopen

import pytest
from quiclens_ingest import reach
from quiclens_ingest.ingest import ingest
from quiclens_ingest.kafka import KafkaError
from quiclens_ingest.reach import Reach
from quiclens_ingest.settings import Settings
from quiclens_schema.store import Store
from taking import until

DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN, "2/2 brokers are down")
PASSWORD = KafkaError(KafkaError._AUTHENTICATION, "SASL authentication failed")
GROUP = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED, "not for this group")
MOVED = KafkaError(KafkaError._TRANSPORT, "disconnected")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_short_absence_is_none_and_a_long_one_says_since_when() -> None:
    clock = Clock()
    kafka = Reach(clock)
    kafka.heard(MOVED)
    assert not kafka.is_failing
    kafka.heard(DOWN)
    clock.now = 44
    assert list(kafka.unwell()) == []
    clock.now = 46
    assert list(kafka.unwell()) == ["Kafka has not let anything be taken for 46 s: 2/2 brokers are down"]
    kafka.answered(has_partitions=False)
    assert list(kafka.unwell()) == []


def test_a_wrong_password_is_not_told_as_brokers_that_are_down() -> None:
    clock = Clock()
    kafka = Reach(clock)
    kafka.heard(PASSWORD)
    kafka.heard(DOWN)
    kafka.failed(MOVED)
    clock.now = 60
    assert list(kafka.unwell()) == ["Kafka has not let anything be taken for 60 s: SASL authentication failed"]


def test_a_group_that_is_refused_is_unwell_though_brokers_answer() -> None:
    clock = Clock()
    kafka = Reach(clock)
    kafka.failed(GROUP)
    kafka.answered(has_partitions=False)
    clock.now = 60
    assert list(kafka.unwell()) == ["Kafka has not let anything be taken for 60 s: not for this group"]
    kafka.answered(has_partitions=True)
    assert list(kafka.unwell()) == []


def test_without_a_broker_the_process_is_not_well(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "LONGEST_AWAY_SECONDS", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    stop = Event()
    settings = Settings(brokers="127.0.0.1:1", metrics_address=address, link_seconds=0)
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
