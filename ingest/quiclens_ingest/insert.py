"""One block into the store: its rows to their table, its rejects to their topic, all or not yet."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event, Lock, get_ident

from quiclens_schema.store import Store, StoreError

from quiclens_ingest.blocks import Block, TakenMessage
from quiclens_ingest.kafka import BrokerError, Producer
from quiclens_ingest.metrics import IngestMetrics
from quiclens_ingest.narrow import REASON, Narrowed, is_about_data, narrow
from quiclens_ingest.rejects import message_place, produce, reject
from quiclens_ingest.stitch import StitchError, encode, stitch

_log = logging.getLogger("quiclens.ingest")

_BACKOFF_FIRST_SECONDS, _BACKOFF_MAX_SECONDS = 0.2, 10.0
_NO_SUCH_COLUMN = 16
_NEWER_WAIT_SECONDS = 86_400.0  # since it was sent, whoever takes it how often
_NEWER_WAIT_HERE_SECONDS = 600.0  # at least, since it was taken: this process may have been away for long
_NEWER = "a collector is newer than the store, and sends {columns}; its rows wait until the store is migrated"
_MEMORY_LIMIT = 241  # the block may be too much for it where one message is not


@dataclass(slots=True)
class _Progress:
    """How far a block has come over its attempts: what was stored is not stored again while others wait."""

    settled: set[tuple[int, int]] = field(default_factory=set)  # messages, stored or bad, by partition and offset
    bad: list[TakenMessage] = field(default_factory=list)
    narrowed: list[tuple[TakenMessage, Narrowed]] = field(default_factory=list)  # of which some rows are bad
    erased: int = 0
    queryable_at: float = 0.0  # when all were settled, since 1970


class Inserter:
    """Stores blocks; used from several threads at once, each with its own block."""

    def __init__(self, store: Store, producer: Producer, instance: str, metrics: IngestMetrics) -> None:
        self._store = store
        self._producer = producer
        self._instance = instance
        self._metrics = metrics
        self._waiting = 0  # threads between two attempts
        self._lock = Lock()
        self._begun: dict[int, float] = {}  # by thread: when its block's first attempt began

    def store_until_done(self, block: Block, given_up: Event) -> bool:
        """Try until the block is stored, ever more slowly; False when it was given up before."""
        self._begun[get_ident()] = time.monotonic()
        try:
            return self._try(block, given_up)
        finally:
            del self._begun[get_ident()]

    def waiting(self) -> int:
        """How many blocks wait for their next attempt, and use nothing meanwhile."""
        return self._waiting

    def oldest_seconds(self) -> float:
        """How long the block that has waited longest is being stored: a store may fail, or hang without a word."""
        begun = list(self._begun.values())
        return time.monotonic() - min(begun) if begun else 0.0

    def _try(self, block: Block, given_up: Event) -> bool:
        delay, progress = _BACKOFF_FIRST_SECONDS, _Progress()
        while not given_up.is_set():
            try:
                self._store_once(block, progress)
            except (StoreError, BrokerError) as error:
                self._metrics.retries.labels("insert").inc()
                if delay == _BACKOFF_FIRST_SECONDS or delay >= _BACKOFF_MAX_SECONDS:
                    _log.warning("table %s takes no rows, trying again: %s", block.source.table, short(error))
                with self._lock:
                    self._waiting += 1
                given_up.wait(delay)
                with self._lock:
                    self._waiting -= 1
                delay = min(delay * 2, _BACKOFF_MAX_SECONDS)
            else:
                return True
        return False

    def _store_once(self, block: Block, progress: _Progress) -> None:
        good = [message for message in block.taken if message.batch is not None]
        if not progress.queryable_at:
            began = time.monotonic()
            self._insert(block.source.table, [one for one in good if _place(one) not in progress.settled], progress)
            self._metrics.insert_seconds.labels(block.source.table).observe(time.monotonic() - began)
            progress.queryable_at = time.time()
        rejects = [message.reject for message in block.taken if message.reject is not None]
        rejects += [reject(block.source, one.partition, one.offset, one.value, REASON) for one in progress.bad]
        for message, narrowed in progress.narrowed:
            rejects += narrowed.rejects(block.source.table, message_place(block.source, message))
        if (
            rejects and block.source.table == "rejects"
        ):  # not by way of the topic: what cannot be read there would come again
            self._store.insert_arrow("rejects", encode("rejects", rejects), len(rejects))
        elif rejects:
            produce(self._producer, self._instance, rejects)
        self._count(block, good, progress)

    def _insert(self, table: str, good: Sequence[TakenMessage], progress: _Progress) -> None:
        """Insert the messages together or, where they are refused, halves of them, and of one message halves of its
        rows; `progress` learns what is bad alone, and how many rows were dropped, since what they are of was erased."""
        if sum(message.rows for message in good) == 0:
            return
        newer = sorted({name for message in good for name in message.newer})
        try:
            stream, rows = stitch(table, [message.batch for message in good])
        except StitchError as error:
            _log.warning("table %s: %d messages are no block: %s", table, len(good), short(error))
            self._tell_apart(table, good, progress)
            return
        try:
            progress.erased += self._store.insert_arrow(table, stream, rows, newer)
        except StoreError as error:
            is_newer = bool(newer) and error.code == _NO_SUCH_COLUMN
            if is_newer and all(_may_wait(one) for one in good if one.newer):
                raise StoreError(f"{_NEWER.format(columns=', '.join(newer[:5]))}: {short(error)}") from error
            is_too_much = error.code == _MEMORY_LIMIT and len(good) > 1
            if not (is_newer or is_too_much or is_about_data(error)):
                raise
            _log.warning("table %s refuses a block of %d messages: %s", table, len(good), short(error))
            if len(good) == 1 and is_about_data(error):
                self._narrow(good[0], narrow(self._store, table, stream, error, newer), progress)
            else:
                self._tell_apart(table, good, progress)
        else:
            progress.settled.update(map(_place, good))

    def _tell_apart(self, table: str, good: Sequence[TakenMessage], progress: _Progress) -> None:
        if len(good) == 1:
            progress.bad += good
            progress.settled.update(map(_place, good))
            return
        half = len(good) // 2
        self._insert(table, good[:half], progress)
        self._insert(table, good[half:], progress)

    def _narrow(self, message: TakenMessage, narrowed: Narrowed, progress: _Progress) -> None:
        progress.erased += narrowed.erased
        if narrowed.rows_refused == message.rows:  # as it came
            progress.bad.append(message)
        else:
            progress.narrowed.append((message, narrowed))
        progress.settled.add(_place(message))

    def _count(self, block: Block, good: Sequence[TakenMessage], progress: _Progress) -> None:
        metrics, table, bad, erased = self._metrics, block.source.table, progress.bad, progress.erased
        refused = sum(narrowed.rows_refused for _, narrowed in progress.narrowed)
        metrics.blocks.labels(table).inc()
        metrics.rows.labels(table).inc(sum(one.rows for one in good) - sum(one.rows for one in bad) - refused - erased)
        metrics.erased.labels(table).inc(erased)
        metrics.bytes.labels(table).inc(sum(len(one.value) for one in block.taken))
        for one in block.taken:
            if one.reject is not None:
                metrics.rejects.labels(one.reject["reason"]).inc()
            if one.heartbeat is not None:
                metrics.fresh(table, one.heartbeat.collector, one.heartbeat.made_us / 1e6, progress.queryable_at)
        metrics.rejects.labels(REASON).inc(len(bad) + refused)


def _place(message: TakenMessage) -> tuple[int, int]:
    return message.partition, message.offset


def _may_wait(newer: TakenMessage) -> bool:
    return time.time() - newer.sent_at < _NEWER_WAIT_SECONDS or time.monotonic() - newer.at < _NEWER_WAIT_HERE_SECONDS


def short(error: Exception) -> str:
    """The first line of what an error says, cut."""
    return (str(error).strip().splitlines() or ["without a word"])[0][:300]
