"""The consumer's loop: take messages, close blocks, and commit what is stored; inserts run beside it.

One thread polls, so that no insert, however slow, makes the group think that we are gone. A topic has one block on its
way at a time: what comes meanwhile is the next block, larger while the store is slow.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from operator import methodcaller
from threading import Event
from typing import cast

from quiclens_ingest.blocks import Block, BlockLimits, Source, TakenMessage, next_block
from quiclens_ingest.held import HeldBytes
from quiclens_ingest.kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from quiclens_ingest.message import MessageLimits, Reading, Unreadable, read
from quiclens_ingest.metrics import IngestMetrics
from quiclens_ingest.reach import Reach
from quiclens_ingest.rejects import reject
from quiclens_ingest.skip import Skip

_log = logging.getLogger("quiclens.ingest")

_POLL_SECONDS = 0.05
_MESSAGES_PER_POLL = 8  # few, for each may be megabytes
_COMMIT_SECONDS = 0.5
_MEASURE_SECONDS = 1.0
_LOOK_SECONDS = 5.0
# By what the client says of a batch that it cannot read, now or later: why its messages are rejected.
_UNREADABLE = {KafkaError._BAD_COMPRESSION: "bad_compression", KafkaError._BAD_MSG: "not_arrow"}
_NO_TOPIC = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)
_MESSAGE_OVERHEAD_BYTES, _COLUMN_OVERHEAD_BYTES = 1024, 512  # what Arrow's objects take beside the buffers

# Where a header's name is no UTF-8, confluent-kafka gives a list that is not whole, with an error beside it. A call
# from C notices that always; one from Python does not any more once the interpreter has specialized it, and then what
# touches the list hangs or crashes.
_headers_of = methodcaller("headers")

Place = tuple[str, int]  # topic, partition


class TakeError(Exception):
    """Nothing can be taken any more; one line for people."""


@dataclass(slots=True)
class _Share:
    """A partition while it is ours."""

    expected: int | None = None  # the next message's offset
    stored: int | None = None  # everything before it is in the store
    committed: int | None = None
    skip: Skip | None = None  # of a batch that cannot be read
    skipped_in: int = 0  # the turn in which another offset was last asked for: what came with it is older


@dataclass(slots=True)
class _OnItsWay:
    block: Block
    done: "Future[bool]"
    shares: Mapping[int, _Share]  # as they were when it began: a partition may be lost and come back
    given_up: Event = field(default_factory=Event)


@dataclass(frozen=True, slots=True)
class Duties:
    """What the loop hands on: how to store a block, and whom to tell that this process is to link, or not any more."""

    store: Callable[[Block, Event], bool]
    waiting: Callable[[], int]  # how many blocks wait for their next attempt
    lead: Callable[[bool], None]
    leader: Place  # who has this partition links: the group gives it to one process
    log_in_again: Callable[[], None]  # Kafka does not let us in
    turned: Callable[[], None]  # once a turn


class Taker:
    """One member of the consumer group."""

    def __init__(
        self,
        consumer: Consumer,
        tables: Mapping[str, str],
        limits: tuple[MessageLimits, BlockLimits],
        held_bytes_max: int,
        inserts_at_once: int,
        drain_seconds: float,
        duties: Duties,
        metrics: IngestMetrics,
        reach: Reach,
    ) -> None:
        self._consumer = consumer
        self._tables = tables  # by topic
        self._message_limits, self._block_limits = limits
        self._inserts_at_once = inserts_at_once
        self._drain_seconds = drain_seconds
        self._duties = duties
        self._metrics = metrics
        self._reach = reach
        self._shares: dict[Place, _Share] = {}
        self._pending: dict[str, deque[TakenMessage]] = {topic: deque() for topic in tables}
        self._on_their_way: dict[str, _OnItsWay] = {}
        # A thread for each topic: one whose table takes nothing waits alone, and the others go on.
        self._pool = ThreadPoolExecutor(len(tables), thread_name_prefix="insert")
        self._held = HeldBytes(tables, held_bytes_max)
        self._is_assignment_new = False  # its partitions are not paused yet, where the others are
        self._cluster = ""
        self._turns = 0
        self._next_commit = self._next_measure = self._next_look = 0.0
        self.turned_at = time.monotonic()

    def run(self, stop: Event) -> None:
        """Take until told to stop, then store and commit what is held; TakeError when that cannot go on."""
        self._find_cluster(stop)
        self._consumer.subscribe(
            list(self._tables), on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )
        try:
            while not stop.is_set():
                self._turn()
                self._duties.turned()
            self._drain()
        finally:
            for each in self._on_their_way.values():
                each.given_up.set()
            self._pool.shutdown()
            self._consumer.close()

    def _find_cluster(self, stop: Event) -> None:
        """Ask which cluster it is until it answers: its id is part of what a reject is known by."""
        while not self._cluster and not stop.is_set():
            try:
                self._cluster = self._ask(5)
            except KafkaException as error:
                self._metrics.retries.labels("take").inc()
                _log.warning("no broker answers, trying again: %s", error.args[0].str())
                self._reach.failed(error.args[0])
                self._duties.log_in_again()
                self._duties.turned()
                stop.wait(1)
            else:
                self._reach.answered(has_partitions=False)
            self.turned_at = time.monotonic()

    def _ask(self, seconds: float) -> str:
        """Ask a broker for all our topics, and remember which are not there; the id of its cluster, or KafkaException.
        Each is asked for alone: to list all topics of a cluster may be a large answer, and may not be allowed."""
        cluster, absent = "", []
        for name in self._tables:
            answer = self._consumer.list_topics(name, timeout=seconds)
            cluster = str(answer.cluster_id or "-")
            error = answer.topics[name].error
            if error is not None and error.code() in _NO_TOPIC:
                absent.append(name)
        self._reach.absent(absent)
        return cluster

    def _turn(self) -> None:
        self._turns += 1
        # One by one where memory is short, so that each topic crosses its share by one message at most.
        for message in self._consumer.consume(1 if self._held.paused else _MESSAGES_PER_POLL, _POLL_SECONDS):
            self._take(message)
        self._collect()
        self._begin(hurried=self._held.paused)
        self._press()
        self._metrics.held_bytes.set(self._held.total)
        self._metrics.is_paused.set(bool(self._held.paused))
        now = self.turned_at = time.monotonic()
        if now >= self._next_commit:
            self._commit(list(self._shares), is_waited_for=False)
            self._next_commit = now + _COMMIT_SECONDS
        if now >= self._next_measure:
            self._measure()
            self._next_measure = now + _MEASURE_SECONDS
        if self._reach.is_failing and now >= self._next_look:
            self._look()
            self._next_look = time.monotonic() + _LOOK_SECONDS

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            if error.fatal():
                raise TakeError(f"the client cannot go on: {error.str()}")
            if error.code() in _UNREADABLE:
                self._skip(message, error)
                return
            self._metrics.retries.labels("take").inc()
            _log.warning("a partition cannot be read, trying again: %s", error.str())
            self._reach.failed(error)
            return
        topic, partition, offset = str(message.topic()), int(message.partition() or 0), int(message.offset() or 0)
        share = self._shares.get((topic, partition))
        if share is None:  # taken away while it was on its way to us
            return
        if share.skip is not None and not self._is_behind(topic, partition, share, share.skip):
            return
        if share.expected is not None and offset > share.expected:
            self._metrics.offsets_missed.labels(topic).inc(offset - share.expected)
            _log.error("%s/%d: %d messages were gone before they were taken", topic, partition, offset - share.expected)
        share.expected = offset + 1
        self._metrics.messages.labels(topic).inc()
        taken = self._read(topic, partition, offset, message)
        self._pending[topic].append(taken)
        self._held.add(topic, taken.bytes)

    def _skip(self, message: Message, error: KafkaError) -> None:
        """A batch cannot be read: after some tries, reject it and go on behind it."""
        topic, partition, batch = str(message.topic()), int(message.partition() or 0), int(message.offset() or 0)
        share = self._shares.get((topic, partition))
        if share is None or share.skipped_in == self._turns:
            return
        skip = share.skip
        if skip is None:
            skip = share.skip = Skip(max(share.expected or 0, batch), batch, _UNREADABLE[error.code()])
            self._metrics.retries.labels("take").inc()
            _log.warning("%s/%d at %d cannot be read, trying again: %s", topic, partition, skip.first, error.str())
        _, end = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), cached=True)
        if skip.fails(batch, end):
            self._seek(topic, partition, share, skip.tried)
        if skip.is_over and share.skip is skip:
            share.skip = None
            self._reject_batch(topic, partition, share, skip)

    def _is_behind(self, topic: str, partition: int, share: _Share, skip: Skip) -> bool:
        """Whether a message that came while a batch is skipped is the next one behind it, to be taken."""
        if share.skipped_in == self._turns:
            return False
        if skip.gives():
            self._seek(topic, partition, share, skip.tried)
            return False
        share.skip = None
        if skip.is_over:
            self._reject_batch(topic, partition, share, skip)
        return True

    def _seek(self, topic: str, partition: int, share: _Share, offset: int) -> None:
        share.skipped_in = self._turns
        try:
            self._consumer.seek(TopicPartition(topic, partition, offset))
        except KafkaException as error:  # it is read from where it was, and the search begins anew
            _log.warning("%s/%d cannot be read from %d: %s", topic, partition, offset, error.args[0].str())
            share.skip = None

    def _reject_batch(self, topic: str, partition: int, share: _Share, skip: Skip) -> None:
        """One row for all of the batch, which is stored before any offset behind it is committed."""
        last = skip.tried - 1
        _log.error("%s/%d: the messages from %d to %d cannot be read", topic, partition, skip.first, last)
        share.expected = skip.tried
        self._metrics.messages.labels(topic).inc()
        self._metrics.offsets_missed.labels(topic).inc(last - skip.first)
        said = f"offsets {skip.first} to {last}".encode()
        row = reject(self._source(topic), partition, skip.first, said, skip.reason)
        taken = TakenMessage(partition, last, time.monotonic(), b"", _MESSAGE_OVERHEAD_BYTES, reject=row)
        self._pending[topic].append(taken)
        self._held.add(topic, taken.bytes)

    def _read(self, topic: str, partition: int, offset: int, message: Message) -> TakenMessage:
        raw = message.value()
        value = raw if isinstance(raw, bytes) else b""
        now = time.monotonic()
        try:
            found = _reading(self._tables[topic], message, value, self._message_limits)
        except Unreadable as why:
            _log.warning("%s/%d at %d is rejected: %s", topic, partition, offset, why)
            row = reject(self._source(topic), partition, offset, value, why.reason)
            return TakenMessage(partition, offset, now, b"", len(row["bytes"]) + _MESSAGE_OVERHEAD_BYTES, reject=row)
        size = found.bytes + len(value) + _MESSAGE_OVERHEAD_BYTES + _COLUMN_OVERHEAD_BYTES * found.batch.num_columns
        return TakenMessage(
            partition,
            offset,
            now,
            value,
            size,
            sent_at=sent_at(message),
            batch=found.batch,
            heartbeat=found.heartbeat,
            newer=found.newer,
        )

    def _source(self, topic: str) -> Source:
        return Source(self._cluster, topic, self._tables[topic])

    def _begin(self, *, hurried: Collection[str]) -> None:
        """Close blocks and hand them to free inserters, the topic that has waited longest first; of the `hurried`
        topics whatever there is."""
        now = time.monotonic()
        waiting = [topic for topic, pending in self._pending.items() if pending and topic not in self._on_their_way]
        for topic in sorted(waiting, key=lambda topic: self._pending[topic][0].at):
            if len(self._on_their_way) - self._duties.waiting() >= self._inserts_at_once:
                return
            pending = self._pending[topic]
            is_hurried = topic in hurried
            block = next_block(self._source(topic), pending, self._block_limits, now, is_hurried=is_hurried)
            if block is None:
                continue
            for _ in block.taken:
                pending.popleft()
            shares = {partition: self._shares[topic, partition] for partition in block.ranges}
            given_up = Event()
            done = self._pool.submit(self._duties.store, block, given_up)
            self._on_their_way[topic] = _OnItsWay(block, done, shares, given_up)

    def _collect(self) -> None:
        """Remember how far the partitions of finished blocks are stored; an unforeseen failure is raised here."""
        for topic, each in list(self._on_their_way.items()):
            if not each.done.done():
                continue
            del self._on_their_way[topic]
            self._held.add(topic, -each.block.bytes)
            if not each.done.result():
                continue
            for partition, (_, last) in each.block.ranges.items():
                if self._shares.get((topic, partition)) is each.shares[partition]:
                    each.shares[partition].stored = last + 1

    def _press(self) -> None:
        """Pause topics that hold too much, and go on when enough of it is stored."""
        pause, resume = self._held.press()
        if self._is_assignment_new:
            pause = self._held.paused
        if pause:
            self._consumer.pause(self._partitions(pause))
        if resume:
            self._consumer.resume(self._partitions(resume))
        self._is_assignment_new = False

    def _partitions(self, topics: Collection[str]) -> list[TopicPartition]:
        """Those of these topics that are ours."""
        return [TopicPartition(*place) for place in self._shares if place[0] in topics]

    def _commit(self, places: list[Place], *, is_waited_for: bool) -> None:
        """Commit what is stored and not committed; what fails stays to be committed with what comes next."""
        due = {place: share for place in places if (share := self._shares[place]).stored not in (None, share.committed)}
        offsets = [TopicPartition(*place, share.stored) for place, share in due.items() if share.stored is not None]
        if not offsets:
            return
        try:
            if is_waited_for:
                self.committed(None, self._consumer.commit(offsets=offsets, asynchronous=False) or [])
            else:
                for share in due.values():
                    share.committed = share.stored  # taken back when the answer is no
                self._consumer.commit(offsets=offsets, asynchronous=True)
        except KafkaException as error:
            self.committed(error.args[0], offsets)

    def committed(self, error: KafkaError | None, offsets: list[TopicPartition]) -> None:
        """The answer to a commit."""
        for offset in offsets:
            share = self._shares.get((offset.topic, offset.partition))
            failed = error or offset.error
            self._metrics.commits.labels("failed" if failed else "done").inc()
            if share is not None:
                share.committed = None if failed else offset.offset
        if error is not None:
            _log.debug("a commit failed and is made again: %s", error.str())

    def _measure(self) -> None:
        self._metrics.partitions.set(len(self._shares))
        for (topic, partition), share in self._shares.items():
            low, high = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), cached=True)
            begin = share.stored if share.stored is not None else low
            if high >= 0:
                self._metrics.lag.labels(topic, partition).set(max(high - begin, 0))

    def _look(self) -> None:
        """Ask whether a broker answers again: where no messages come, nothing else tells."""
        try:
            self._ask(_LOOK_SECONDS / 5)
        except KafkaException as error:
            self._reach.failed(error.args[0])
            self._duties.log_in_again()
        else:
            self._reach.answered(has_partitions=bool(self._shares))

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._metrics.rebalances.labels("assigned").inc()
        try:
            known = consumer.committed(partitions, timeout=10) if partitions else []
        except KafkaException:
            known = partitions  # without a committed offset: a gap before the first message is not seen
        for place in known:
            begin = place.offset if place.offset >= 0 else None
            self._shares[place.topic, place.partition] = _Share(begin, begin, begin)
        self._is_assignment_new = True
        self._reach.answered(has_partitions=bool(self._shares))
        if self._duties.leader in self._shares:
            self._duties.lead(True)

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        """Finish what is on its way, for a while, and commit it; forget the rest, which the next owner takes."""
        self._metrics.rebalances.labels("revoked").inc()
        places = [(place.topic, place.partition) for place in partitions]
        if self._duties.leader in places:
            self._duties.lead(False)
        concerned = [
            each.done
            for topic, each in self._on_their_way.items()
            if any((topic, partition) in places for partition in each.block.ranges)
        ]
        wait(concerned, timeout=self._drain_seconds)
        self._collect()
        self._commit([place for place in places if place in self._shares], is_waited_for=True)
        self._forget(places)

    def _lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        """The group went on without us: nothing may be committed any more."""
        self._metrics.rebalances.labels("lost").inc()
        places = [(place.topic, place.partition) for place in partitions]
        if self._duties.leader in places:
            self._duties.lead(False)
        self._forget(places)

    def _forget(self, places: list[Place]) -> None:
        for topic, partition in places:
            if self._shares.pop((topic, partition), None) is None:
                continue
            pending = self._pending[topic]
            self._pending[topic] = deque(message for message in pending if message.partition != partition)
            self._held.add(topic, -sum(message.bytes for message in pending if message.partition == partition))
            if (topic, str(partition)) in self._metrics.lag._metrics:
                self._metrics.lag.remove(topic, str(partition))

    def _drain(self) -> None:
        """Store and commit what is held, as far as the time goes; the rest is taken again by whoever comes next."""
        until = time.monotonic() + self._drain_seconds
        while (self._on_their_way or any(self._pending.values())) and time.monotonic() < until:
            self._consumer.pause([TopicPartition(*place) for place in self._shares])
            self._begin(hurried=self._tables)
            wait([each.done for each in self._on_their_way.values()], timeout=_POLL_SECONDS)
            self._collect()
            for message in self._consumer.consume(1, 0):  # answers the group; the partitions are paused
                self._take(message)
            self.turned_at = time.monotonic()
        for each in self._on_their_way.values():
            each.given_up.set()
        wait([each.done for each in self._on_their_way.values()], timeout=_POLL_SECONDS)
        self._collect()
        self._commit(list(self._shares), is_waited_for=True)


def sent_at(message: Message) -> float:
    """When a message was sent, as Kafka has it, seconds since 1970; now, where it has no time."""
    kind, at_ms = message.timestamp()
    return time.time() if kind == TIMESTAMP_NOT_AVAILABLE else at_ms / 1000


def _reading(table: str, message: Message, value: bytes, limits: MessageLimits) -> Reading:
    """What the message says; Unreadable also where reading fails in a way that nobody foresaw: one message never ends
    the process, which would take it again."""
    try:
        pairs = cast("list[tuple[str, bytes | None]]", _headers_of(message) or [])
    except Exception as error:  # a header's name that is no UTF-8 is a SystemError
        raise Unreadable("bad_headers", f"{type(error).__name__}: {error}") from error
    try:
        return read(table, {name: text for name, text in pairs if text is not None}, value, limits)
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable("not_arrow", f"{type(error).__name__}: {error}") from error
