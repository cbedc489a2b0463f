"""One block into the store: its rows to their table, its rejects to their topic, all or not yet."""

import logging
import time
from collections.abc import Sequence
from threading import Event, Lock, get_ident

from quiclens_schema.store import Store, StoreError

from quiclens_ingest.blocks import Block, TakenMessage
from quiclens_ingest.kafka import BrokerError, Producer
from quiclens_ingest.metrics import IngestMetrics
from quiclens_ingest.rejects import produce, reject
from quiclens_ingest.stitch import StitchError, encode, stitch

_log = logging.getLogger("quiclens.ingest")

_BACKOFF_FIRST_SECONDS, _BACKOFF_MAX_SECONDS = 0.2, 10.0
# ClickHouse's codes for data that it cannot take, whoever sends them however often: CANNOT_PARSE_TEXT,
# CANNOT_PARSE_DATE, CANNOT_READ_ALL_DATA, TYPE_MISMATCH, CANNOT_CONVERT_TYPE, INCORRECT_DATA, TOO_LARGE_STRING_SIZE,
# ARGUMENT_OUT_OF_BOUND, VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN.
_DATA_IS_BAD = frozenset((6, 38, 33, 53, 70, 117, 131, 69, 321, 349))
_NO_SUCH_COLUMN = 16
_NEWER_WAIT_SECONDS = 86_400.0
_NEWER = "a collector is newer than the store, and sends {columns}; its rows wait until the store is migrated"
_MEMORY_LIMIT = 241  # the block may be too much for it where one message is not


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
        delay = _BACKOFF_FIRST_SECONDS
        while not given_up.is_set():
            try:
                self._store_once(block)
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

    def _store_once(self, block: Block) -> None:
        began = time.monotonic()
        good = [message for message in block.taken if message.batch is not None]
        rejects = [message.reject for message in block.taken if message.reject is not None]
        bad, erased = self._insert(block.source.table, good)
        self._metrics.insert_seconds.labels(block.source.table).observe(time.monotonic() - began)
        queryable_at = time.time()
        rejects += [reject(block.source, one.partition, one.offset, one.value, "refused_by_store") for one in bad]
        if (
            rejects and block.source.table == "rejects"
        ):  # not by way of the topic: what cannot be read there would come again
            self._store.insert_arrow("rejects", encode("rejects", rejects), len(rejects))
        elif rejects:
            produce(self._producer, self._instance, rejects)
        self._count(block, good, bad, erased, queryable_at)

    def _insert(self, table: str, good: Sequence[TakenMessage]) -> tuple[list[TakenMessage], int]:
        """Insert the messages together, or one by one when together they are refused; those that are bad alone, and
        how many rows were dropped, since what they are of was erased."""
        if sum(message.rows for message in good) == 0:
            return [], 0
        newer = sorted({name for message in good for name in message.newer})
        try:
            erased = self._store.insert_arrow(table, *stitch(table, [message.batch for message in good]), newer)
        except (StoreError, StitchError) as error:
            is_newer = bool(newer) and getattr(error, "code", None) == _NO_SUCH_COLUMN
            if is_newer and time.monotonic() - min(one.at for one in good if one.newer) < _NEWER_WAIT_SECONDS:
                raise StoreError(f"{_NEWER.format(columns=', '.join(newer[:5]))}: {short(error)}") from error
            is_about_data = is_newer or _is_about_data(error)
            if not is_about_data or (len(good) == 1 and getattr(error, "code", None) == _MEMORY_LIMIT):
                raise
            _log.warning("table %s refuses a block of %d messages: %s", table, len(good), short(error))
            if len(good) == 1:
                return list(good), 0
            each = [self._insert(table, [message]) for message in good]
            return [one for bad, _ in each for one in bad], sum(count for _, count in each)
        return [], erased

    def _count(
        self, block: Block, good: Sequence[TakenMessage], bad: Sequence[TakenMessage], erased: int, queryable_at: float
    ) -> None:
        metrics, table = self._metrics, block.source.table
        metrics.blocks.labels(table).inc()
        metrics.rows.labels(table).inc(sum(one.rows for one in good) - sum(one.rows for one in bad) - erased)
        metrics.erased.labels(table).inc(erased)
        metrics.bytes.labels(table).inc(sum(len(one.value) for one in block.taken))
        for one in block.taken:
            if one.reject is not None:
                metrics.rejects.labels(one.reject["reason"]).inc()
            if one.heartbeat is not None:
                metrics.fresh(table, one.heartbeat.collector, one.heartbeat.made_us / 1e6, queryable_at)
        metrics.rejects.labels("refused_by_store").inc(len(bad))


def _is_about_data(error: Exception) -> bool:
    code = getattr(error, "code", None)
    return isinstance(error, StitchError) or code in _DATA_IS_BAD or code == _MEMORY_LIMIT


def short(error: Exception) -> str:
    """The first line of what an error says, cut."""
    return (str(error).strip().splitlines() or ["without a word"])[0][:300]
