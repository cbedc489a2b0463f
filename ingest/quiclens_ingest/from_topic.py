"""Request lines of a Kafka topic of somebody else's: JSON objects, one or several a message.

A line is known by its partition, its message's offset and its place in the message, so taking it again gives the same
row. What is stored is committed after; a store that fails is tried again, a line that it refuses is a reject.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event

from quiclens_schema.store import Store, StoreError

from quiclens_ingest import kafka
from quiclens_ingest.lines import Converter, JsonLine, one_line
from quiclens_ingest.load import LoadError
from quiclens_ingest.mapping import Mapping as Source

MESSAGE_LINES = 1 << 16
"""Lines of one message; of more, the others are rejected as one."""
_MESSAGES, _BYTES, _AGE_SECONDS = 20_000, 8 << 20, 1.0
_MESSAGE_BYTES_MAX = 16 << 20
_QUIET_SECONDS = 5.0
_RETRY_FIRST_SECONDS, _RETRY_MAX_SECONDS = 0.2, 10.0
_TOPIC_SECONDS = 2.0

_log = logging.getLogger("quiclens.lines")


@dataclass(slots=True)
class TopicSummary:
    """What was taken: messages, the lines that they became, rejects by reason."""

    messages: int = 0
    lines: int = 0
    erased: int = 0
    rejected: Counter[str] = field(default_factory=Counter)


class TopicReader:
    """One member of the group that takes a topic's lines."""

    def __init__(
        self, store: Store, source: Source, converter: Converter, brokers: str, group: str, more: Mapping[str, str]
    ) -> None:
        self._store = store
        self._source = source
        self._converter = converter
        self._consumer = kafka.consumer(brokers, group, _MESSAGE_BYTES_MAX, more)
        self._found = TopicSummary()

    def take(self, stop: Event, turned: Callable[[], None], *, until_end: bool = False) -> TopicSummary:
        """Take until `stop` is set or, with `until_end`, until nothing is left; `turned` is called about once a second.

        LoadError when the lines cannot be read at all. A broker or a topic that is away is waited for, but not with
        `until_end`.
        """
        try:
            if until_end:
                _partitions(self._consumer, self._source)
            else:
                self._wait_for_topic(stop, turned)
            self._consumer.subscribe([self._source.topic])
            while not stop.is_set():
                messages = self._messages(stop, until_end)
                turned()
                if messages and self._store_until_done(messages, stop, turned):
                    self._commit(messages)
                elif until_end and not messages and self._is_at_end():
                    break
        except kafka.KafkaException as error:
            raise LoadError(f"{self._source.place}: {error.args[0].str()}") from error
        finally:
            self._consumer.close()
        return self._found

    def _wait_for_topic(self, stop: Event, turned: Callable[[], None]) -> None:
        """Until the topic has partitions or `stop` is set; what is in the way is told each time."""
        while not stop.is_set():
            turned()
            try:
                _partitions(self._consumer, self._source)
            except LoadError as error:
                _log.warning("%s, trying again", error)
            else:
                return
            stop.wait(_TOPIC_SECONDS)

    def _commit(self, messages: Sequence[kafka.Message]) -> None:
        """What is not committed is taken again, by whoever has the partition then, and gives the same rows."""
        try:
            self._consumer.commit(offsets=_after(messages), asynchronous=False)
        except kafka.KafkaException as error:
            _log.warning("offsets were not committed: %s", error.args[0].str())

    def _messages(self, stop: Event, until_end: bool) -> list[kafka.Message]:
        """What came, up to a second's worth of it. LoadError for what lasts, a topic that is gone among it if all of it
        is to be taken now."""
        found: list[kafka.Message] = []
        size, until = 0, time.monotonic() + _AGE_SECONDS
        while len(found) < _MESSAGES and size < _BYTES and time.monotonic() < until and not stop.is_set():
            for message in self._consumer.consume(500, 0.1):
                error = message.error()
                if error is not None:
                    is_gone = error.code() == kafka.KafkaError.UNKNOWN_TOPIC_OR_PART
                    if error.fatal() or (is_gone and until_end):
                        raise LoadError(f"{self._source.place}: {error.str()}")
                    _log.warning("a partition cannot be read, trying again: %s", error.str())
                    continue
                found.append(message)
                size += len(message.value() or b"")
        return found

    def _store_until_done(self, messages: Sequence[kafka.Message], stop: Event, turned: Callable[[], None]) -> bool:
        converted = self._converter.convert(lines_of(self._source, messages))
        delay = _RETRY_FIRST_SECONDS
        while True:
            try:
                stored = converted.insert(self._store)
            except StoreError as error:
                _log.warning("the store takes no rows, trying again: %s", str(error).splitlines()[0][:300])
                turned()
                if stop.wait(delay):
                    return False
                delay = min(delay * 2, _RETRY_MAX_SECONDS)
            else:
                self._found.messages += len(messages)
                self._found.erased += stored.erased
                self._found.lines += converted.lines - stored.refused
                self._found.rejected.update(converted.rejected)
                self._found.rejected.update(stored.rejected)
                return True

    def _is_at_end(self) -> bool:
        """Every partition that is ours was taken to its end; false while none is."""
        places = self._consumer.assignment()
        for place, at in zip(places, self._consumer.position(places), strict=True):
            low, high = self._consumer.get_watermark_offsets(place, timeout=10)
            (known,) = self._consumer.committed([place], timeout=10)
            if max(at.offset, known.offset, low) < high:
                return False
        return bool(places)


def newest(source: Source, brokers: str, more: Mapping[str, str], count: int) -> list[JsonLine]:
    """About so many of a topic's newest messages, as lines; nothing is committed. LoadError when there is no topic."""
    consumer = kafka.consumer(brokers, f"quiclens-check-{source.name}", _MESSAGE_BYTES_MAX, more)
    try:
        partitions = _partitions(consumer, source)
        places = []
        left = 0
        for number in partitions:
            low, high = consumer.get_watermark_offsets(kafka.TopicPartition(source.topic, number), timeout=10)
            begin = max(low, high - max(1, count // len(partitions)))
            left += high - begin
            places.append(kafka.TopicPartition(source.topic, number, begin))
        consumer.assign(places)
        found: list[kafka.Message] = []
        quiet_since = time.monotonic()
        # Marks of transactions have offsets too, and never come.
        while len(found) < left and time.monotonic() - quiet_since < _QUIET_SECONDS:
            if came := [message for message in consumer.consume(500, 0.2) if message.error() is None]:
                found += came
                quiet_since = time.monotonic()
        return lines_of(source, found)
    except kafka.KafkaException as error:
        raise LoadError(f"{source.place}: {error.args[0].str()}") from error
    finally:
        consumer.close()


def _partitions(consumer: kafka.Consumer, source: Source) -> list[int]:
    """The partitions of the topic; LoadError when it has none, or no broker answers."""
    try:
        partitions = list(consumer.list_topics(source.topic, timeout=10).topics[source.topic].partitions)
    except kafka.KafkaException as error:
        raise LoadError(f"{source.place}: {error.args[0].str()}") from error
    if not partitions:
        raise LoadError(f"{source.place} is not there, or this user may not read it")
    return partitions


def lines_of(source: Source, messages: Sequence[kafka.Message]) -> list[JsonLine]:
    """The lines of some messages, each with its place."""
    found = []
    for message in messages:
        log_id = f"{source.name}/{message.partition()}"
        texts = one_line(message.value() or b"")
        if len(texts) > MESSAGE_LINES:  # what is left becomes one line that is none
            texts = [*texts[: MESSAGE_LINES - 1], b"".join(texts[MESSAGE_LINES - 1 :])]
        first = (message.offset() or 0) * MESSAGE_LINES
        found += [JsonLine(log_id, first + number, text) for number, text in enumerate(texts)]
    return found


def _after(messages: Sequence[kafka.Message]) -> list[kafka.TopicPartition]:
    """The offsets after these messages, by partition."""
    ends: dict[tuple[str, int], int] = {}
    for message in messages:
        place = (str(message.topic()), int(message.partition() or 0))
        ends[place] = max(ends.get(place, 0), int(message.offset() or 0) + 1)
    return [kafka.TopicPartition(*place, end) for place, end in ends.items()]
