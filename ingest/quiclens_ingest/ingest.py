"""`quiclens ingest`: from the topics to the store, until told to stop."""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Event
from typing import Any
from uuid import uuid4

from quiclens_schema import topics
from quiclens_schema.secret import SecretError
from quiclens_schema.served import ServedStore
from quiclens_schema.store import Store

from quiclens_ingest import kafka
from quiclens_ingest.blocks import BlockLimits
from quiclens_ingest.insert import Inserter
from quiclens_ingest.linking import Linker
from quiclens_ingest.message import MessageLimits
from quiclens_ingest.metrics import IngestMetrics, serve
from quiclens_ingest.reach import Reach
from quiclens_ingest.settings import IngestSettings, password
from quiclens_ingest.store_watch import StoreWatch
from quiclens_ingest.take import Duties, Taker

_log = logging.getLogger("quiclens.ingest")

_DECOMPRESSED_PER_BYTE = 8
_STALE_SECONDS = 45.0  # a loop that did not turn, or a store that takes nothing, for so long is not healthy


@dataclass(frozen=True, slots=True)
class IngestRun:
    """What one run did."""

    messages: int
    rows: dict[str, int]
    rejected: dict[str, int]
    seconds: float

    def document(self) -> dict[str, Any]:
        return {
            "messages": self.messages,
            "rows": self.rows,
            "rejected": self.rejected,
            "seconds": round(self.seconds, 3),
        }


def ingest(
    store: Store,
    settings: IngestSettings,
    stop: Event,
    metrics: IngestMetrics | None = None,
    ready: Callable[[str], None] | None = None,
    turned: Callable[[], None] = lambda: None,
) -> IngestRun:
    """Take from Kafka into a migrated store until `stop` is set, then finish what is held.

    `ready` is called before it begins, with the address where metrics are served; `turned` often while it takes.
    TakeError when the client cannot go on; a broker or a store that is away is waited for.
    """
    began = time.monotonic()
    metrics = metrics or IngestMetrics()
    tables = {topic.name: table for table, topic in topics.of_tables().items()}
    taker: Taker | None = None
    reach = Reach()
    consumer = kafka.consumer(
        settings.brokers,
        settings.group,
        settings.message_bytes_max,
        settings.kafka,
        on_commit=lambda error, places: taker.committed(error, places) if taker else None,
        on_error=reach.heard,
        instance=settings.instance,
    )
    producer = kafka.producer(settings.brokers, settings.kafka)
    # Who serves an embedded store links it.
    link_seconds = 0.0 if isinstance(store, ServedStore) else settings.link_seconds
    linker = Linker(store, link_seconds, settings.count_seconds, metrics.linking)
    inserter = Inserter(store, producer, uuid4().hex[:12], metrics)
    watch = StoreWatch(store)
    taker = Taker(
        consumer,
        tables,
        (
            MessageLimits(settings.message_bytes_max, settings.message_bytes_max * _DECOMPRESSED_PER_BYTE),
            BlockLimits(settings.block_rows, settings.block_bytes, settings.block_age_ms / 1000),
        ),
        settings.held_bytes_max,
        settings.inserts_at_once,
        settings.drain_seconds,
        Duties(
            inserter.store_until_done,
            inserter.waiting,
            linker.lead,
            (topics.of_tables()["connections"].name, 0),
            lambda: _log_in_again((consumer, producer), settings),
            turned,
        ),
        metrics,
        reach,
    )
    server = (
        serve(metrics, settings.metrics_address, _health(taker, inserter, [linker.unwell, reach.unwell, watch.unwell]))
        if settings.metrics_address
        else None
    )
    try:
        watch.start()
        if ready is not None:
            ready("{}:{}".format(*server.server_address[:2]) if server else "")
        taker.run(stop)
    finally:
        watch.close()
        linker.close()
        if server is not None:
            server.shutdown()
            server.server_close()
    return _summary(metrics, time.monotonic() - began)


def _log_in_again(clients: Iterable[kafka.Consumer | kafka.Producer], settings: IngestSettings) -> None:
    """Kafka did not let us in, perhaps since the password is another by now: read it again."""
    try:
        known = password()
    except SecretError as error:
        _log.warning("the password of Kafka cannot be read: %s", error)
        return
    if user := settings.kafka.get("sasl.username") if known else None:
        for client in clients:
            client.set_sasl_credentials(user, known)


def _health(
    taker: Taker, inserter: Inserter, checks: Iterable[Callable[[], Iterable[str]]]
) -> Callable[[], dict[str, Any]]:
    def health() -> dict[str, Any]:
        now = time.monotonic()
        turned = now - taker.turned_at
        storing = inserter.oldest_seconds()
        reasons = [reason for check in checks for reason in check()]
        if turned >= _STALE_SECONDS:
            reasons.append("the loop that takes has not turned")
        if storing >= _STALE_SECONDS:
            reasons.append("the store takes nothing")
        return {
            "ok": not reasons,
            "reasons": reasons,
            "seconds_since_turn": round(turned, 1),
            "oldest_insert_seconds": round(storing, 1),
        }

    return health


def _summary(metrics: IngestMetrics, seconds: float) -> IngestRun:
    def by(name: str, label: str) -> dict[str, int]:
        return {
            sample.labels[label]: int(sample.value)
            for metric in metrics.registry.collect()
            for sample in metric.samples
            if sample.name == name and sample.value
        }

    messages = by("quiclens_ingest_messages_total", "topic")
    return IngestRun(
        messages=sum(messages.values()),
        rows=by("quiclens_ingest_rows_total", "table"),
        rejected=by("quiclens_ingest_rejects_total", "reason"),
        seconds=seconds,
    )
