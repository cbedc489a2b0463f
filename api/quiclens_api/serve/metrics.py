"""All metrics of `serve`, in one place. Labels are from closed sets."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from quiclens_ingest.metrics import LinkMetrics

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """Counters of one app."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()

        def counter(name: str, help: str, *labels: str) -> Counter:
            return Counter(f"quiclens_serve_{name}", help, labels, registry=self._registry)

        def gauge(name: str, help: str, *labels: str) -> Gauge:
            return Gauge(f"quiclens_serve_{name}", help, labels, registry=self._registry)

        self.queries = counter("queries", "Statements that may run, inserts of data apart")
        self.inserts = counter("inserts", "Inserts of data acknowledged")
        self.rows_written = counter("rows_written", "Rows of acknowledged inserts")
        self.bytes_received = counter("received_bytes", "Bytes of request bodies, as they came")
        self.bytes_sent = counter("sent_bytes", "Bytes of answers, as they went")
        self.errors = counter("errors", "Answers that are errors, by ClickHouse's code", "code")
        self.cancelled = counter("cancelled", "Queries stopped because their client went away")
        self.seconds = Histogram(
            "quiclens_serve_request_seconds",
            "Seconds from a request's first byte to its answer's last",
            ("kind",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.waiting = gauge("waiting", "Requests that wait for their turn", "kind")
        self.running = gauge("running", "Requests that have their turn", "kind")
        self.handles = gauge("open_handles", "Handles open in the engine")
        self.bodies = gauge("held_body_bytes", "Bytes of request bodies held in memory")
        self.partitions_dropped = counter("partitions_dropped", "Partitions dropped, by why", "why")
        self.bytes_dropped = counter("dropped_bytes", "Bytes on disk of dropped partitions", "why")
        self.rows_dropped = counter("dropped_rows", "Rows of dropped partitions", "why")
        self.disk = gauge("store_bytes", "Bytes on disk of the store's tables, at the last look")
        self.sweeps_failed = counter("sweeps_failed", "Retention sweeps that failed")
        self.linking = LinkMetrics("quiclens_serve_", self._registry)

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self._registry)
