"""Whether Kafka can be reached and lets us in: what the client says of it, and since when."""

import time
from collections.abc import Callable, Collection, Iterator

from quiclens_ingest.kafka import KafkaError

LONGEST_AWAY_SECONDS = 45.0
"""How long brokers, or the store, may be away, as when they are started again, before this process is not well."""
_OF_THE_GROUP = (KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED)
_TELLING = (
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError.SASL_AUTHENTICATION_FAILED,
)
_NO_BROKER = (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._TIMED_OUT)


class Reach:
    """Written by the loop that takes and by the client's callbacks, which run in it; read by any thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failing: tuple[float, str, bool] | None = None  # since when, why, whether it is about the group
        self._absent: tuple[float, tuple[str, ...]] | None = None  # since when, which topics

    @property
    def is_failing(self) -> bool:
        return self._failing is not None or self._absent is not None

    def failed(self, error: KafkaError) -> None:
        """Something was refused or not answered. A reason that says more than "no broker" stays, since the client
        gives one and then the other for one wrong password."""
        since, before, of_group = self._failing or (self._now(), "", False)
        says_more = not before or error.code() not in _NO_BROKER
        self._failing = (since, error.str() if says_more else before, of_group or error.code() in _OF_THE_GROUP)

    def heard(self, error: KafkaError) -> None:
        """What the client tells beside its answers: most of it mends itself and means nothing."""
        if error.code() in _TELLING:
            self.failed(error)

    def answered(self, has_partitions: bool) -> None:
        """A broker answered; that does not yet mean that the group lets us in."""
        if self._failing is not None and (has_partitions or not self._failing[2]):
            self._failing = None

    def absent(self, topics: Collection[str]) -> None:
        """Which of our topics the brokers do not know. A member of the group that has no partition is well, one that
        takes from fewer topics than it should is not, whatever else answers."""
        since = self._absent[0] if self._absent else self._now()
        self._absent = (since, tuple(sorted(topics))) if topics else None

    def unwell(self) -> Iterator[str]:
        """Why nothing comes from Kafka; nothing, while all is well or it is not yet long."""
        failing = self._failing
        if failing is not None and (away := self._now() - failing[0]) >= LONGEST_AWAY_SECONDS:
            yield f"Kafka has not let anything be taken for {away:.0f} s: {failing[1]}"
        absent = self._absent
        if absent is not None and (away := self._now() - absent[0]) >= LONGEST_AWAY_SECONDS:
            names = ", ".join(absent[1])
            yield f"Kafka has not had all topics for {away:.0f} s, quiclens migrate makes them: {names}"
