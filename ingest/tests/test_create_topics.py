"""Topics that are made, and those that were there: they belong to who runs the brokers."""

import time
from dataclasses import replace
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic
from quiclens_ingest.kafka import TopicDifference, TopicsMade, create_topics
from quiclens_schema.topics import Topic
from taking import Broker

pytestmark = pytest.mark.kafka
_OURS = Topic("", "rows", "none", "collector", "ingest", partitions=3, retention_hours=72, message_bytes_max=1 << 20)


@pytest.fixture
def topic() -> Topic:
    return replace(_OURS, name=f"test.{uuid4().hex[:8]}")


def test_a_topic_that_is_missing_is_made_once_as_this_version_has_it(broker: Broker, topic: Topic) -> None:
    assert create_topics(broker.address, [topic]) == TopicsMade([topic.name], [])
    assert create_topics(broker.address, [topic]) == TopicsMade([], [])
    assert _found(broker, topic) == {"partitions": "3", **topic.settings()}


@pytest.mark.parametrize("partitions", [2, 5])
def test_what_an_operator_chose_stays_and_is_told(broker: Broker, topic: Topic, partitions: int) -> None:
    theirs = {"retention.ms": "3600000", "max.message.bytes": str(4 << 20), "compression.type": "zstd"}
    _make(broker, topic, partitions, theirs)
    told = [
        TopicDifference(topic.name, "retention.ms", "3600000", str(72 * 3_600_000)),
        TopicDifference(topic.name, "max.message.bytes", str(4 << 20), str(1 << 20)),
        TopicDifference(topic.name, "compression.type", "zstd", "producer"),
        TopicDifference(topic.name, "partitions", str(partitions), "3"),
    ]
    for _ in range(2):
        assert create_topics(broker.address, [topic]) == TopicsMade([], told)
        assert _found(broker, topic) == {"partitions": str(partitions), "cleanup.policy": "delete", **theirs}


def test_messages_of_this_version_are_taken(broker: Broker, topic: Topic) -> None:
    """A collector could not send its largest ones else: they would be lost."""
    _make(broker, topic, 3, {"max.message.bytes": "1000", "retention.ms": "3600000"})
    made = create_topics(broker.address, [topic])
    assert [each.setting for each in made.differ] == ["retention.ms"]
    found = _found(broker, topic)
    assert (found["max.message.bytes"], found["retention.ms"]) == (str(1 << 20), "3600000")


def _make(broker: Broker, topic: Topic, partitions: int, settings: dict[str, str]) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    (made,) = admin.create_topics([NewTopic(topic.name, partitions, 1, config=settings)]).values()
    made.result(30)
    _until_known(admin, topic)


def _until_known(admin: AdminClient, topic: Topic) -> None:
    """A broker knows a topic some moments after it was made."""
    while topic.name not in admin.list_topics(timeout=10).topics:
        time.sleep(0.05)


def _found(broker: Broker, topic: Topic) -> dict[str, str]:
    """What the broker says of the topic, of what this version sets."""
    admin = AdminClient({"bootstrap.servers": broker.address})
    _until_known(admin, topic)
    (told,) = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, topic.name)]).values()
    settings = told.result(30)
    partitions = len(admin.list_topics(topic.name, timeout=10).topics[topic.name].partitions)
    return {"partitions": str(partitions)} | {name: settings[name].value for name in topic.settings()}
