"""One step of linking: what it starts from, all that these may mean, and the requests that come of both.

A step has whole components of the graph of lines and connections, of which an edge is "this line may mean this
connection" (by id, alias or client's key, at the same time where both are dated). So what it makes depends on nothing
that it has not.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from quiclens_schema.catalogue import load as load_catalogue
from quiclens_schema.store import Store

from quiclens_ingest.lease import MARGIN_SECONDS, STATEMENT_SECONDS, Lease
from quiclens_ingest.scratch import Scratch

AT_ONCE = 50_000
"""Connections and lines from which one step starts."""
REQUESTS_AT_ONCE = 100_000
"""Requests of these connections, unless one alone has more: bounds a step's memory."""
STEPS_MOST = 16
"""Turns from lines to connections and back. Who needs more has clients whose keys are shared over hours."""
WRITING = {"max_execution_time": STATEMENT_SECONDS, "timeout_overflow_mode": "throw"}
"""Settings of a statement that shows something: the lease outlives it."""


class Hand:
    """The scratch tables of the steps of one round."""

    def __init__(self, store: Store, scratch: Scratch, lease: Lease) -> None:
        self._scratch = scratch
        self._lease = lease
        self.cut = 0
        """Steps that ended before all that lines may mean was there."""
        lines = f"{_line_columns()}, start_at DateTime64(6, 'UTC'), end_at DateTime64(6, 'UTC'), step UInt8"
        requests = load_catalogue().table("requests")
        of_requests = ", ".join(f"`{column.name}` {column.type}" for column in requests.columns)
        for name, columns in {
            "seeds": "connection_id String, day Date, requests UInt64",
            "seed_lines": "log_id String, offset UInt64, day Date",
            "done": "connection_id String",
            "done_lines": "log_id String, offset UInt64",
            "connections": f"connection_id String, day Date, {_TIMES}, is_traced Bool, step UInt8",
            "line_ids": "log_id String, offset UInt64, day Date",
            "lines": lines,
            "names": f"is_key Bool, name String, {_TIMES}, step UInt8",
            "called": "is_key Bool, name String, start_at DateTime64(6, 'UTC'), end_at DateTime64(6, 'UTC')",
            "found": "is_key Bool, name String, connection_id String, trace_day Date",
            "traces": "trace_id String, connection_id String, analysis_version UInt16",
            "aliases": "alias String, connection_id String, role LowCardinality(String)",
            "streams": _stream_columns(),
            "pairs": _PAIR_COLUMNS,
            "minutes": "started_minute DateTime('UTC')",
            "requests": of_requests,
            "old": f"{of_requests}, started_minute DateTime('UTC'), line_key String, day Date, crosses UInt8",
            "crossing": "line_key String",
        }.items():
            scratch.make(name, columns)

    def start_with_stored(self, known: Mapping[str, Any]) -> None:
        """Start from what was stored after a mark."""
        self._scratch.run("seeds_stored", known)
        self._scratch.run("seed_lines_stored", known)

    def start_with_day(self, day: date) -> None:
        """Start from all of a day."""
        for name in ("seeds", "seed_lines", "done", "done_lines", "minutes"):
            self._scratch.empty(name)
        for file in ("seeds_of_day", "seed_lines_of_day", "seed_minutes"):
            self._scratch.run(file, {"day": day})

    def next(self) -> set[datetime] | None:
        """Link the next of what it starts from; in which five minutes requests may have changed, None at the end."""
        for name in _OF_A_STEP:
            self._scratch.empty(name)
        self._scratch.run("take_seeds", {"limit": AT_ONCE, "requests_at_once": REQUESTS_AT_ONCE})
        taken = self._scratch.count("connections")
        if taken < AT_ONCE:
            self._scratch.run("take_seed_lines", {"limit": AT_ONCE - taken})
            if not taken and not self._scratch.count("line_ids"):
                return None
        self._scratch.run("seeded_lines")
        self._complete()
        for file in ("traces", "aliases", "streams"):
            self._scratch.run(file)
        if self._scratch.count("lines"):
            self._scratch.run("pairs")
            self._scratch.run("untraced_requests")
        self._scratch.run("traced_requests")
        self._scratch.run("old_requests")
        self._scratch.run("crossing")
        self._write("write_requests")
        if self._scratch.count("crossing"):
            self._write("write_taken")
            self._write("write_crossed")
        for file in ("done", "done_lines"):
            self._scratch.run(file)
        return {_aware(bucket) for (bucket,) in self._scratch.rows("buckets")}

    def _write(self, file: str) -> None:
        """Run what makes something visible, while nobody else links."""
        self._lease.check()
        written = {"fence": self._lease.fence, "version": self._lease.version(), "margin": MARGIN_SECONDS}
        self._scratch.run(file, written, WRITING)
        self._lease.check()

    def requests(self) -> int:
        """Requests of the last step."""
        return self._scratch.count("requests")

    def _complete(self) -> None:
        """Have all that is connected with what it starts from."""
        for step in range(STEPS_MOST):
            now = {"step": step}
            if self._scratch.count("lines", "step = {step:UInt8}", now):
                for name in ("called", "found"):
                    self._scratch.empty(name)
                    self._scratch.run(name, now)
                self._scratch.run("named_connections", now)
            if not self._scratch.count("connections", "step = {step:UInt8} AND is_traced", now):
                return
            self._scratch.run("names", now)
            self._scratch.run("named_lines", now)
        self.cut += 1


def _aware(at: datetime) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=UTC)


_OF_A_STEP = (
    "connections",
    "line_ids",
    "lines",
    "names",
    "traces",
    "aliases",
    "streams",
    "pairs",
    "requests",
    "old",
    "crossing",
)
_TIMES = "from_at Nullable(DateTime64(6, 'UTC')), to_at Nullable(DateTime64(6, 'UTC'))"
_CONNECTION_COLUMNS = (
    "events_kept",
    "event_probability",
    "trace_probability",
    "stack",
    "congestion_controller",
    "server",
    "cluster",
    "pop",
    "client_network",
    "carrier",
    "asn",
    "country",
    "region",
    "city",
    "h3_cell",
    "network_type",
    "app_version",
    "device",
)
_PAIR_COLUMNS = (
    "log_id String, offset UInt64, start_at DateTime64(6, 'UTC'), rank UInt8, connection_id String,"
    " stream_id UInt64, is_ambiguous UInt8"
)


def _line_columns() -> str:
    table = load_catalogue().table("request_lines")
    return ", ".join(
        f"`{column.name}` {column.type}" for column in table.columns if column.name not in ("line_day", "more")
    )


def _stream_columns() -> str:
    catalogue = load_catalogue()
    connections = catalogue.table("connections")
    columns = [f"`{column.name}` {column.type}" for column in catalogue.table("streams").columns]
    columns += [
        f"connection_started_at {connections.column('started_at').type}",
        f"connection_duration_us {connections.column('duration_us').type}",
        f"connection_complete {connections.column('complete').type}",
    ]
    columns += [f"`{name}` {connections.column(name).type}" for name in _CONNECTION_COLUMNS]
    return ", ".join(columns)
