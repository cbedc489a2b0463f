"""A real broker behind TLS, passwords and ACLs: programs do with the least that is written down, and with no less."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from quiclens_ingest import broker as brokers
from quiclens_ingest import kafka
from quiclens_ingest.acls import AclRight, Allowed, UnknownProgram, least
from quiclens_ingest.broker import BrokerMissing
from quiclens_ingest.ingest import ingest
from quiclens_ingest.kafka import BrokerError, KafkaError, KafkaException
from quiclens_ingest.settings import PASSWORD_VARIABLE, IngestSettings
from quiclens_schema import topics
from quiclens_schema.store import Store
from taking import collected, until, value

GROUP = "quiclens-ingest"
PASSWORDS = {"admin": "admin-password", "edge": "edge-password", "taker": "taker-password", "other": "other-password"}


@dataclass(frozen=True)
class Walled:
    address: str
    inside: str
    authority: Path
    certificate: Path
    data: Path

    def client(self, user: str, password: str = "") -> dict[str, str]:
        return {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.authority),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": password or PASSWORDS.get(user, ""),
        }


@pytest.fixture(scope="module")
def walled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walled]:
    folder = tmp_path_factory.mktemp("walled")
    certificate = folder / "broker.pem"
    key, chain = folder / "key.pem", folder / "chain.pem"
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(chain), "-days", "2"]
    names = ["-subj", "/CN=broker", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run(["openssl", *made, *names], check=True, capture_output=True)
    certificate.write_bytes(key.read_bytes() + chain.read_bytes())
    passwords = folder / "passwords"
    passwords.write_text("".join(f"{name}={password}\n" for name, password in PASSWORDS.items()))
    try:
        brokers.fetch_jars()
    except BrokerMissing as missing:
        pytest.skip(f"no broker: {missing}")
    # By its script, as a user starts it.
    script = [sys.executable, "-m", "quiclens_ingest.broker", "start", "--data", str(folder / "data")]
    walls = ["--certificate", str(certificate), "--passwords", str(passwords)]
    started = subprocess.run([*script, *walls], capture_output=True, text=True, check=False)
    if started.returncode and "Java" in started.stderr:
        pytest.skip(f"no broker: {started.stderr.strip()}")
    assert started.returncode == 0, started.stderr
    running = json.loads(started.stdout)
    yield Walled(running["brokers"], running["inside"], chain, certificate, folder / "data")
    brokers.stop(folder / "data")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("admin=a\nedge\n", "line 2: not NAME=PASSWORD"),
        ("admin=a\nedge=\n", "line 2: not NAME=PASSWORD"),
        ("edge=secret\n", "no user admin"),
    ],
)
def test_a_file_of_passwords_that_is_none_is_refused_by_its_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "passwords").write_text(text)
    with pytest.raises(BrokerError) as refused:
        brokers.passwords_of(tmp_path / "passwords")
    assert said in str(refused.value)
    assert "secret" not in str(refused.value)


def sent(walled: Walled, user: str, topic: str, message: bytes, headers: dict[str, str]) -> KafkaError | None:
    """What the broker says of a message of this user: nothing, when it has it."""
    said: list[KafkaError | None] = []
    producer = kafka.producer(walled.address, walled.client(user))
    producer.produce(topic, message, headers=dict(headers), on_delivery=lambda error, _: said.append(error))
    assert producer.flush(60) == 0
    return said[0]


def taken_by(walled: Walled, user: str, topic: str) -> KafkaError | None:
    """What the broker says to this user who reads a topic in the group: nothing, where a message comes."""
    reader = kafka.consumer(walled.address, GROUP, 1 << 20, walled.client(user))
    try:
        reader.subscribe([topic])
        while True:
            for message in reader.consume(1, 10):
                return message.error()
    finally:
        reader.close()


def ids(batch: Any) -> list[str]:
    return [str(each) for each in batch.column("connection_id").to_pylist()]


def test_the_least_is_enough_and_nothing_more_is_allowed(walled: Walled) -> None:
    names = topics.of_tables()
    kafka.allow(walled.inside, least({"collector": ["edge"], "ingest": ["taker"]}, topics.load().values(), GROUP))
    ((table, batch), *_) = [row for row in collected() if row[0] == "connections"]
    topic = names[table].name
    headers = {"table": table, "rows": str(batch.num_rows)}
    until(lambda: sent(walled, "edge", topic, value(batch), headers) is None)
    until(lambda: taken_by(walled, "taker", topic) is None)
    for user, forbidden in (("taker", topic), ("other", topic), ("other", topics.REJECTS)):
        refused = sent(walled, user, forbidden, b"", headers)
        assert refused is not None and refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED, (user, forbidden)
    for user in ("edge", "other"):
        refused = taken_by(walled, user, topic)
        assert refused is not None, user
        assert refused.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED)


def test_a_wrong_password_is_told_and_a_mended_one_is_taken(
    walled: Walled, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka.allow(walled.inside, least({"collector": ["edge"], "ingest": ["taker"]}, topics.load().values(), GROUP))
    rows = [row for row in collected() if row[0] in ("connections", "streams")]
    for table, batch in rows:
        headers = {"table": table, "rows": str(batch.num_rows)}
        topic = topics.of_tables()[table].name
        until(lambda: sent(walled, "edge", topic, value(batch), headers) is None)  # noqa: B023 (at once)
    file = tmp_path / "password"
    file.write_text("not it\n")
    monkeypatch.setenv(f"{PASSWORD_VARIABLE}_FILE", str(file))
    settings = IngestSettings(
        brokers=walled.address, group=GROUP, kafka=walled.client("taker", "not it"), metrics_address="", link_seconds=0
    )
    stop = Event()
    taking = Thread(target=ingest, args=(store, settings, stop))
    taking.start()
    try:
        with pytest.raises(KafkaException, match=r"(?i)auth|broker"):
            kafka.consumer(walled.address, GROUP, 1, walled.client("taker", "not it")).list_topics(timeout=5)
        file.write_text(PASSWORDS["taker"] + "\n")
        wanted = {each for table, batch in rows if table == "connections" for each in ids(batch)}
        until(lambda: wanted <= {each for (each,) in store.query("SELECT connection_id FROM connections").rows})
    finally:
        stop.set()
        taking.join()


def test_a_password_that_changed_is_the_one_from_the_next_start_on(walled: Walled) -> None:
    def topics_seen(password: str) -> set[str]:
        reader = kafka.consumer(walled.address, GROUP, 1, walled.client("other", password))
        return set(reader.list_topics(timeout=5).topics)

    assert topics_seen(PASSWORDS["other"]) == set()  # let in, and allowed nothing
    assert brokers.stop(walled.data)
    changed = brokers.Walls(walled.certificate, {**PASSWORDS, "other": "another, [stranger] one"})
    try:
        running = brokers.start(walled.data, walls=changed)
        assert (running.brokers, running.inside) == (walled.address, walled.inside)
        assert topics_seen("another, [stranger] one") == set()
        with pytest.raises(KafkaException, match=r"(?i)auth|broker"):
            topics_seen(PASSWORDS["other"])
    finally:
        kafka.set_passwords(walled.inside, PASSWORDS)


def test_what_each_program_needs_is_what_the_topics_say() -> None:
    found = least({"collector": ["a", "b"], "ingest": ["c"], "servers": ["d"]}, topics.load().values(), "group")
    tables = {topic.name for topic in topics.of_tables().values()}
    logs = set(topics.load()) - tables
    write = {
        name: {each.topic for each in found if each.user == name and each.operation is AclRight.WRITE}
        for name in "abcd"
    }
    read = {
        name: {each.topic for each in found if each.user == name and each.topic and each.operation is AclRight.READ}
        for name in "abcd"
    }
    assert write == {"a": tables, "b": tables, "c": {topics.REJECTS}, "d": logs}
    assert read == {"a": logs, "b": logs, "c": tables, "d": set()}
    assert [each for each in found if each.group] == [Allowed("c", AclRight.READ, group="group")]
    with pytest.raises(UnknownProgram, match="'colector'"):
        least({"colector": ["a"]}, topics.load().values(), "group")
