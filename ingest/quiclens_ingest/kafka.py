"""The only door to Kafka: administration, producing, and what clients have in common."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)
from quiclens_schema.topics import Topic

from quiclens_ingest.acls import AclRight, Allowed

__all__ = [
    "TIMESTAMP_NOT_AVAILABLE",
    "Consumer",
    "KafkaError",
    "KafkaException",
    "Message",
    "Producer",
    "TopicPartition",
]

OnCommit = Callable[[KafkaError | None, list[TopicPartition]], None]

_log = logging.getLogger("quiclens.kafka")
_SIZE = "max.message.bytes"
_SCRAM = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)  # as many iterations as Kafka's own tools take


_COORDINATOR_COMES = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)


class BrokerError(Exception):
    """The brokers cannot be reached or refused; one line for people."""


def producer(brokers: str, more: Mapping[str, str] | None = None) -> Producer:
    """An idempotent producer: a message that was acknowledged is on the topic once."""
    return Producer(_common(brokers, more) | {"enable.idempotence": "true", "linger.ms": "5"})


def consumer(
    brokers: str,
    group: str,
    message_bytes_max: int,
    more: Mapping[str, str] | None = None,
    on_commit: OnCommit | None = None,
    on_error: Callable[[KafkaError], None] | None = None,
    instance: str = "",
) -> Consumer:
    """A consumer that commits only what it is told to, and never skips to the end. `on_error` hears what the client
    tells beside its answers; most of it mends itself. With `instance` it is a static member of its group: its
    partitions wait for it while it starts again (KIP-345)."""
    return Consumer(
        {
            # The sticky one counts partitions of all topics together, and gives one member all of events; this one
            # deals each topic's out in turn. It takes all back at a rebalance, which costs what was not yet stored.
            "partition.assignment.strategy": "roundrobin",
            "session.timeout.ms": "30000" if instance else "10000",
            "topic.metadata.refresh.interval.ms": "15000",  # a topic that is made later is taken from soon
            "fetch.message.max.bytes": "4194304",  # a larger message comes alone
            "receive.message.max.bytes": str(max(100_000_000, 2 * message_bytes_max)),
            "queued.max.messages.kbytes": "65536",  # read ahead, beside what blocks hold
        }
        | _common(brokers, more)
        | {
            **({"on_commit": on_commit} if on_commit else {}),
            **({"error_cb": on_error} if on_error else {}),
            **({"group.instance.id": instance} if instance else {}),
            "group.id": group,
            "enable.auto.commit": "false",
            "enable.auto.offset.store": "false",
            "auto.offset.reset": "earliest",
        }
    )


def wait_until_ready(brokers: str, seconds: float, more: Mapping[str, str] | None = None) -> None:
    """Return when a broker answers; BrokerError when none does in time."""
    until = time.monotonic() + seconds
    admin = _admin(brokers, more)
    while True:
        try:
            if admin.list_topics(timeout=2).brokers:
                return
        except KafkaException as error:
            if time.monotonic() > until:
                raise BrokerError(f"no broker answers at {brokers}: {error.args[0].str()}") from error


@dataclass(frozen=True, slots=True)
class TopicDifference:
    """A setting of a topic that was there, and what this version would give a new one."""

    topic: str
    setting: str
    has: str
    new_has: str


@dataclass(frozen=True, slots=True)
class TopicsMade:
    """The names of topics that were made, and in what those that were there differ. They stay as they are."""

    made: list[str]
    differ: list[TopicDifference]


def create_topics(
    brokers: str, topics: Iterable[Topic], replicas: int = 1, more: Mapping[str, str] | None = None
) -> TopicsMade:
    """Make the topics that are missing; BrokerError when the brokers refuse.

    Partitions, replicas and settings of topics that are there belong to who runs the brokers, but for one: where a
    topic takes only smaller messages than collectors send, it takes those of this version from now on. With three
    replicas or more, a message is acknowledged when two have it.
    """
    admin = _admin(brokers, more)
    copies = {"min.insync.replicas": "2"} if replicas > 2 else {}
    wanted = {topic.name: topic for topic in topics}
    try:
        there = admin.list_topics(timeout=10).topics
    except KafkaException as error:
        raise BrokerError(f"no broker answers at {brokers}: {error.args[0].str()}") from error
    missing = [topic for name, topic in wanted.items() if name not in there]
    new = [NewTopic(topic.name, topic.partitions, replicas, config=topic.settings() | copies) for topic in missing]
    made: list[str] = []
    differ: list[TopicDifference] = []
    try:
        for name, future in (admin.create_topics(new) if new else {}).items():
            if _is_made(future):
                made.append(name)
        for name, has in _settings(admin, [name for name in wanted if name in there]).items():
            topic = wanted[name]
            ours = topic.settings() | {"partitions": str(topic.partitions)}
            has |= {"partitions": str(len(there[name].partitions))}
            differ += [TopicDifference(name, each, has[each], ours[each]) for each in ours if has[each] != ours[each]]
        small = [each for each in differ if each.setting == _SIZE and int(each.has) < int(each.new_has)]
        for future in (admin.incremental_alter_configs(list(map(_taking, small))) if small else {}).values():
            future.result(timeout=30)
    except KafkaException as error:
        raise BrokerError(f"the topics cannot be made: {error.args[0].str()}") from error
    return TopicsMade(made, [each for each in differ if each not in small])


def _is_made(future: Future[None]) -> bool:
    """Whether this made the topic; false where another process was first, and made it as this one would."""
    try:
        future.result(timeout=30)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
        return False
    return True


def _settings(admin: AdminClient, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """What brokers say of these topics, by name and setting."""
    asked = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names]
    if not asked:
        return {}
    found = {resource.name: future.result(timeout=30) for resource, future in admin.describe_configs(asked).items()}
    return {name: {setting: entry.value for setting, entry in each.items()} for name, each in found.items()}


def _taking(small: TopicDifference) -> ConfigResource:
    entry = ConfigEntry(small.setting, small.new_has, incremental_operation=AlterConfigOpType.SET)
    return ConfigResource(ConfigResource.Type.TOPIC, small.topic, incremental_configs=[entry])


def allow(brokers: str, allowed: Sequence[Allowed], more: Mapping[str, str] | None = None) -> None:
    """Have the brokers allow these, beside what they allow already; BrokerError when they refuse, as brokers without
    an authorizer do."""
    admin = _admin(brokers, more)  # kept: what it was asked for ends with it
    try:
        for future in admin.create_acls([_binding(each) for each in allowed]).values():
            future.result(timeout=30)
    except KafkaException as error:
        raise BrokerError(f"users cannot be allowed anything: {error.args[0].str()}") from error


def set_passwords(brokers: str, passwords: Mapping[str, str]) -> None:
    """Users and their passwords, of SCRAM-SHA-512; one that a user had before is refused from now on. BrokerError when
    the brokers refuse."""
    given: list[UserScramCredentialAlteration] = [
        UserScramCredentialUpsertion(user, _SCRAM, password.encode()) for user, password in passwords.items()
    ]
    admin = _admin(brokers)  # kept: what it was asked for ends with it
    try:
        for future in admin.alter_user_scram_credentials(given).values():
            future.result(timeout=30)
    except KafkaException as error:
        raise BrokerError(f"users get no passwords: {error.args[0].str()}") from error


def lag(brokers: str, group: str, topics: Sequence[str], more: Mapping[str, str] | None = None) -> dict[str, int]:
    """By topic, how many messages the group has not yet stored; BrokerError when nobody answers."""
    reader = consumer(brokers, group, 1, more)
    try:
        known = reader.list_topics(timeout=5).topics
        places = [TopicPartition(name, part) for name in topics if name in known for part in known[name].partitions]
        behind = dict.fromkeys((place.topic for place in places), 0)
        for place in _committed(reader, places) if places else []:
            low, high = reader.get_watermark_offsets(place, timeout=10)
            behind[place.topic] += high - max(place.offset, low)
        return behind
    except KafkaException as error:
        raise BrokerError(f"no broker answers at {brokers}: {error.args[0].str()}") from error
    finally:
        reader.close()


def delete_before(brokers: str, places: Sequence[TopicPartition]) -> None:
    """Delete the messages before these offsets, as retention does when their time has come."""
    admin = _admin(brokers)  # kept: what it was asked for ends with it
    for future in admin.delete_records(list(places)).values():
        future.result(timeout=30)


def _committed(reader: Consumer, places: list[TopicPartition]) -> list[TopicPartition]:
    """What the group has stored; a broker that has just started may not yet know who coordinates the group."""
    until = time.monotonic() + 10
    while True:
        try:
            return reader.committed(places, timeout=10)
        except KafkaException as error:
            if error.args[0].code() not in _COORDINATOR_COMES or time.monotonic() > until:
                raise
            time.sleep(0.2)


def _binding(allowed: Allowed) -> AclBinding:
    operations = {AclRight.READ: AclOperation.READ, AclRight.WRITE: AclOperation.WRITE}
    return AclBinding(
        ResourceType.TOPIC if allowed.topic else ResourceType.GROUP,
        allowed.topic or allowed.group,
        ResourcePatternType.LITERAL,
        f"User:{allowed.user}",
        "*",
        operations[allowed.operation],
        AclPermissionType.ALLOW,
    )


def _admin(brokers: str, more: Mapping[str, str] | None = None) -> AdminClient:
    return AdminClient(_common(brokers, more))


def _common(brokers: str, more: Mapping[str, str] | None) -> dict[str, Any]:
    return {
        "bootstrap.servers": brokers,
        "client.id": "quiclens",
        "reconnect.backoff.max.ms": "2000",
        "error_cb": _say,
        "log_level": 2,  # what matters comes by error_cb and by poll
        "logger": _log,
        **(more or {}),
    }


def _say(error: KafkaError) -> None:
    """Connections come and go; the client goes on by itself, and what cannot go on is raised by poll."""
    _log.debug("%s", error.str())
