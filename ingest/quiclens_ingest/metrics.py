"""Every metric of the process, and the port on which they and its health are read."""

import json
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.exposition import MetricsHandler
from quiclens_schema.version import VERSION

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_FRESHNESS_SECONDS = (0.25, 0.5, 1, 2, 3, 5, 8, 10, 15, 30, 60, 300, 3600)
_COLLECTORS_AT_MOST = 1000


class LinkMetrics:
    """What a linker counts, of `ingest` or of the process that holds an embedded store."""

    def __init__(self, prefix: str, registry: CollectorRegistry) -> None:
        self.seconds = Histogram(
            prefix + "link_seconds", "time of a round of linking", buckets=_SECONDS, registry=registry
        )
        self.hours = Counter(prefix + "linked_hours", "hours whose requests were made anew", registry=registry)
        self.failures = Counter(prefix + "link_failures", "rounds of linking that failed", registry=registry)
        self.is_linking = Gauge(prefix + "linking", "1 where this process is the one that links", registry=registry)


class IngestMetrics:
    """Counters, gauges and histograms; labels are topics, partitions, tables and reasons, all from closed sets, and the
    collectors, of which so many are told apart."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        one = self.registry
        prefix = "quiclens_ingest_"
        Info(prefix + "build", "which quiclens this is", registry=one).info({"version": VERSION})
        self.messages = Counter(prefix + "messages", "messages taken", ["topic"], registry=one)
        self.rows = Counter(prefix + "rows", "rows stored", ["table"], registry=one)
        self.erased = Counter(
            prefix + "rows_erased", "rows that came again of what was erased, and were dropped", ["table"], registry=one
        )
        self.bytes = Counter(prefix + "bytes", "bytes of messages stored, as they came", ["table"], registry=one)
        self.blocks = Counter(prefix + "blocks", "inserts that were stored", ["table"], registry=one)
        self.insert_seconds = Histogram(
            prefix + "insert_seconds", "time of an insert", ["table"], buckets=_SECONDS, registry=one
        )
        self.rejects = Counter(prefix + "rejects", "messages that could not become rows", ["reason"], registry=one)
        self.offsets_missed = Counter(
            prefix + "offsets_missed",
            "messages that were gone from the topic before they were taken",
            ["topic"],
            registry=one,
        )
        self.lag = Gauge(prefix + "lag_messages", "messages not yet stored", ["topic", "partition"], registry=one)
        self.commits = Counter(prefix + "commits", "commits of offsets", ["outcome"], registry=one)
        self.retries = Counter(prefix + "retries", "attempts that failed and are made again", ["what"], registry=one)
        self.rebalances = Counter(prefix + "rebalances", "changes of partitions", ["kind"], registry=one)
        self.partitions = Gauge(prefix + "partitions", "partitions that are this process's", registry=one)
        self.held_bytes = Gauge(prefix + "held_bytes", "memory of messages that are not yet stored", registry=one)
        self.is_paused = Gauge(prefix + "paused", "1 while a topic is paused for want of memory", registry=one)
        self.freshness_seconds = Histogram(
            prefix + "freshness_seconds",
            "from a heartbeat's making at the collector until the rows that went with it can be queried",
            ["table"],
            buckets=_FRESHNESS_SECONDS,
            registry=one,
        )
        self.freshness_last = Gauge(
            prefix + "freshness_last_seconds",
            "of a collector's last heartbeat, the slowest table",
            ["collector"],
            registry=one,
        )
        self.heartbeat_made_at = Gauge(
            prefix + "heartbeat_made_at_seconds", "when it was made, since 1970", ["collector"], registry=one
        )
        self._heartbeats: dict[str, tuple[float, float]] = {}  # by collector: when made, and its slowest freshness
        self._heartbeats_lock = Lock()
        self.linking = LinkMetrics(prefix, one)

    def fresh(self, table: str, collector: str, made_at: float, queryable_at: float) -> None:
        """Rows of this table that went with a collector's heartbeat can be queried; seconds since 1970."""
        freshness = queryable_at - made_at
        self.freshness_seconds.labels(table).observe(freshness)
        with self._heartbeats_lock:
            if collector not in self._heartbeats and len(self._heartbeats) >= _COLLECTORS_AT_MOST:
                collector = "others"
            before, slowest = self._heartbeats.get(collector, (0.0, 0.0))
            if made_at < before:  # taken again, or overtaken by the next one
                return
            slowest = max(freshness, slowest if made_at == before else 0.0)
            self._heartbeats[collector] = made_at, slowest
            self.freshness_last.labels(collector).set(slowest)
            self.heartbeat_made_at.labels(collector).set(made_at)


def serve(metrics: IngestMetrics, address: str, health: Callable[[], dict[str, Any]]) -> ThreadingHTTPServer:
    """Answer /metrics and /healthz on host:port in a thread; OSError when the port cannot be had."""

    class Handler(MetricsHandler):
        registry = metrics.registry

        def do_GET(self) -> None:  # noqa: N802
            if self.path != "/healthz":
                super().do_GET()
                return
            found = health()
            body = json.dumps(found).encode() + b"\n"
            self.send_response(200 if found["ok"] else 503)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            return

    host, _, port = address.rpartition(":")
    server = ThreadingHTTPServer((host, int(port)), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server
