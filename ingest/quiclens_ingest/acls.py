"""The least that Kafka must allow each program, as `schema/topics` says who writes and who reads what.

A program is one user of Kafka, or several; what is not here, no program needs. Making topics and allowing are for an
administrator, whose user `quiclens migrate` is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from quiclens_schema.topics import Topic


class AclRight(Enum):
    """Kafka's own names; READ and WRITE have DESCRIBE in them. An idempotent producer needs no more than WRITE."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Allowed:
    """One operation of one user, from any host, on a topic or on a consumer group of exactly this name."""

    user: str
    operation: AclRight
    topic: str = ""
    group: str = ""


class UnknownProgram(Exception):  # noqa: N818 (a name that is none, as on the command line)
    """No topic is written or read by a program of that name; one line for people."""


_PROGRAMS = {"collector": "quiclens-collector run", "ingest": "quiclens ingest", "servers": "servers"}
"""By their names here, as the topics' files call them."""


def least(users: Mapping[str, Iterable[str]], topics: Iterable[Topic], group: str) -> list[Allowed]:
    """What the users of each program need: to write its topics, to read its topics, and who reads, the group.

    `users` has them by program: `collector`, `ingest`, or `servers` that write their logs to Kafka. UnknownProgram for
    another. The group is ingest's; a collector that reads servers' logs assigns partitions to itself and has none.
    """
    topics = list(topics)
    if unknown := sorted(set(users) - set(_PROGRAMS)):
        raise UnknownProgram(f"{unknown[0]!r} is no program that uses Kafka; there are {', '.join(_PROGRAMS)}")
    found = []
    for program, names in users.items():
        written = [topic.name for topic in topics if _PROGRAMS[program] in topic.producer.split(", ")]
        read = [topic.name for topic in topics if _PROGRAMS[program] in topic.consumer.split(", ")]
        for user in names:
            found += [Allowed(user, AclRight.WRITE, topic=name) for name in written]
            found += [Allowed(user, AclRight.READ, topic=name) for name in read]
            found += [Allowed(user, AclRight.READ, group=group)] if program == "ingest" else []
    return found
