"""All metrics of `serve`, in one place. Labels are from closed sets."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from quiclens_ingest.metrics import LinkMetrics
from quiclens_schema.version import VERSION

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class FrontMetrics:
    """What every app counts, whatever it serves: requests by route, and what is refused before it is one."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        Info("quiclens_serve_build", "Which quiclens this is", registry=self.registry).info({"version": VERSION})

        def counter(name: str, help: str, *labels: str) -> Counter:
            return Counter(f"quiclens_serve_{name}", help, labels, registry=self.registry)

        self.responses = counter(
            "responses", "Requests by how they ended: a status, cut in the middle, or gone", "method", "route", "status"
        )
        self.response_seconds = Histogram(
            "quiclens_serve_response_seconds",
            "Seconds from a request's head to its answer's end, by route",
            ("route",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.unexpected = counter("unexpected_errors", "Requests that failed unexpectedly; the log has each", "route")
        self.connections = Gauge("quiclens_serve_connections", "Connections that are open", registry=self.registry)
        self.connections_closed = counter(
            "connections_closed",
            "Connections that we ended: a head or a body came too slowly, an answer was not taken, an invalid request, "
            "crowded out by newer ones, or refused because all worked",
            "why",
        )
        self.refused = counter("refused_requests", "Requests that were not let in, by why", "why")
        self.waiting = Gauge(
            "quiclens_serve_waiting", "Requests that wait for a place", ("kind",), registry=self.registry
        )
        self.running = Gauge("quiclens_serve_running", "Requests that have a place", ("kind",), registry=self.registry)
        self.held = Gauge(
            "quiclens_serve_held_bytes", "Bytes that requests hold: bodies, forms and answers", registry=self.registry
        )
        self.questions_given_up = counter("questions_given_up", "Questions stopped because their client went away")
        self.uploads_given_up = counter(
            "uploads_given_up", "Collectors ended because the client of an upload went away"
        )

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)


class StoreMetrics:
    """What the app over an embedded store counts besides."""

    def __init__(self, front: FrontMetrics | None = None) -> None:
        self.front = front or FrontMetrics()
        self._registry = self.front.registry

        def counter(name: str, help: str, *labels: str) -> Counter:
            return Counter(f"quiclens_serve_{name}", help, labels, registry=self._registry)

        def gauge(name: str, help: str, *labels: str) -> Gauge:
            return Gauge(f"quiclens_serve_{name}", help, labels, registry=self._registry)

        self.queries = counter("queries", "Statements that may run, inserts of data apart")
        self.inserts = counter("inserts", "Inserts of data acknowledged")
        self.rows_written = counter("rows_written", "Rows of acknowledged inserts")
        self.rows_erased = counter("rows_erased", "Rows that came again of what was erased, and were dropped")
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
        self.handles = gauge("open_handles", "Handles open in the engine")
        self.partitions_dropped = counter("partitions_dropped", "Partitions dropped, by why", "why")
        self.bytes_dropped = counter("dropped_bytes", "Bytes on disk of dropped partitions", "why")
        self.rows_dropped = counter("dropped_rows", "Rows of dropped partitions", "why")
        self.disk = gauge("store_bytes", "Bytes on disk of the store's tables, at the last look")
        self.sweeps_failed = counter("sweeps_failed", "Retention sweeps that failed")
        self.linking = LinkMetrics("quiclens_serve_", self._registry)
