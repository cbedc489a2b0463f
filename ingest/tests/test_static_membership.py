"""A process of ingest that has a name in its group starts again, and no other one is disturbed."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import uuid4

import pytest
from quiclens_ingest import kafka
from quiclens_ingest.kafka import Consumer, TopicPartition, create_topics
from quiclens_schema.topics import Topic
from taking import Broker

pytestmark = pytest.mark.kafka
_PATIENCE_S = 120


@dataclass
class Member:
    """A member of a group, and what it was told of its partitions."""

    consumer: Consumer
    partitions: set[int] = field(default_factory=set)
    rebalances: int = 0

    def subscribe(self, topic: str) -> None:
        def assigned(_: Consumer, given: list[TopicPartition]) -> None:
            self.partitions = {each.partition for each in given}
            self.rebalances += 1

        def revoked(_: Consumer, __: list[TopicPartition]) -> None:
            self.partitions = set()

        self.consumer.subscribe([topic], on_assign=assigned, on_revoke=revoked, on_lost=revoked)


@contextmanager
def member(broker: Broker, group: str, topic: str, instance: str) -> Iterator[Member]:
    joined = Member(kafka.consumer(broker.address, group, 1 << 20, instance=instance))
    joined.subscribe(topic)
    try:
        yield joined
    finally:
        joined.consumer.close()


def share(*members: Member) -> None:
    """Until the members have all four partitions among them."""
    until = time.monotonic() + _PATIENCE_S
    while {2} != {len(each.partitions) for each in members}:
        assert time.monotonic() < until, [each.partitions for each in members]
        for each in members:
            each.consumer.poll(0.1)


@pytest.mark.parametrize("is_named", [True, False])
def test_who_has_a_name_keeps_its_partitions_while_it_starts_again(broker: Broker, is_named: bool) -> None:
    group, topic = f"test.{uuid4().hex[:8]}", f"test.{uuid4().hex[:8]}"
    create_topics(broker.address, [Topic(topic, "lines", "none", "others", "ingest", 4, 1, 1 << 20)])
    with member(broker, group, topic, "b" if is_named else "") as other:
        with member(broker, group, topic, "a" if is_named else "") as first:
            share(first, other)
            had, others = first.partitions, other.rebalances
        with member(broker, group, topic, "a" if is_named else "") as again:
            share(again, other)
            assert not is_named or again.partitions == had
        assert (other.rebalances == others) == is_named
