"""One step of linking: what it starts from, all that these may mean, and the requests that come of both.

A step has whole components of the graph of lines and connections, of which an edge is "this line may mean this
connection" (by id, alias or client's key, at the same time where both are dated). So what it makes depends on nothing
that it has not.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from quiclens_schema.catalogue import load as load_catalogue

from quiclens_ingest.lease import LinkLease
from quiclens_ingest.scratch import Scratch, columns_of

_log = logging.getLogger("quiclens.ingest")

AT_ONCE = 50_000
"""Connections and lines from which one step starts."""
REQUESTS_AT_ONCE = 100_000
"""Requests of these connections, unless one alone has more: bounds a step's memory."""
UNDATED_OF_AN_ALIAS = 100
"""Undated connections that may have the same alias: lines by an alias of more are ambiguous, whatever stream they name;
to look at each would take the product of lines and connections."""
STEPS_MOST = 16
"""Turns from lines to connections and back. Who needs more has clients whose keys are shared over hours."""


@dataclass(frozen=True, slots=True)
class Linked:
    """Requests that were made anew, and the five minutes in which one may have changed."""

    buckets: frozenset[datetime]
    requests: int


class Hand:
    """The scratch tables of the steps of one round."""

    def __init__(self, scratch: Scratch, lease: LinkLease) -> None:
        self._scratch = scratch
        self._lease = lease
        self._is_begun = False
        of_lines = columns_of("request_lines", without=("line_day", "more"))
        of_requests = columns_of("requests")
        for name, columns in {
            "seeds": "connection_id String, day Date, requests UInt64",
            "seed_lines": "log_id String, offset UInt64, day Date",
            "done": "connection_id String",
            "done_lines": "log_id String, offset UInt64",
            "taken": "connection_id String, first_day Date, last_day Date",
            "connections": f"connection_id String, day Date, {_TIMES}, is_traced Bool, step UInt8",
            "line_ids": "log_id String, offset UInt64, day Date",
            "lines": f"{of_lines}, {_OF_A_LINE}, step UInt8",
            "names": f"is_key Bool, name String, {_TIMES}, step UInt8",
            "called": f"is_key Bool, name String, {_OF_A_LINE}",
            "found": "is_key Bool, name String, connection_id String, trace_day Date",
            "traces": "trace_id String, connection_id String, analysis_version UInt16",
            "crowded": "alias String, connection_id String",
            "aliases": "alias String, connection_id String, role LowCardinality(String)",
            "streams": _stream_columns(),
            "means": f"{_MEANT_COLUMNS}, is_shared UInt8",
            "pairs": f"{_MEANT_COLUMNS}, is_ambiguous UInt8",
            "again": "started_hour DateTime('UTC')",
            "outdone": "log_id String, offset UInt64, last_stored_at DateTime64(6, 'UTC')",
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
        self._is_begun = False
        for name in ("seeds", "seed_lines", "done", "done_lines", "minutes"):
            self._scratch.empty(name)
        for file in ("seeds_of_day", "seed_lines_of_day", "seed_minutes"):
            self._scratch.run(file, {"day": day})

    def next(self) -> Linked | None:
        """Link the next of what it starts from; None at the end."""
        if self._is_begun and not self._scratch.holds("left_over"):
            return None
        self._is_begun = True
        for name in _OF_A_STEP:
            self._scratch.empty(name)
        self._scratch.run("take_seeds", {"limit": AT_ONCE, "requests_at_once": REQUESTS_AT_ONCE})
        taken = self._scratch.count("taken")
        if taken < AT_ONCE:
            self._scratch.run("take_seed_lines", {"limit": AT_ONCE - taken})
            if not taken and not self._scratch.count("line_ids"):
                return None
        self._take_lines_that_came_again()
        if self._scratch.count("taken"):
            self._scratch.run("seeded_connections")
        self._scratch.run("seeded_lines")
        self._complete()
        for file in ("traces", "aliases", "streams"):
            self._scratch.run(file)
        ((shared,),) = self._scratch.rows("shared_ids")
        if shared:
            _log.warning("%d ids have several connections each, at several times: one of them has requests", shared)
        if self._scratch.count("lines"):
            self._scratch.run("crowded_aliases", {"most": UNDATED_OF_AN_ALIAS})
            if crowded := self._scratch.count("crowded"):
                said = "%d aliases have more than %d undated connections each: log lines by them are ambiguous"
                _log.warning(said, crowded, UNDATED_OF_AN_ALIAS)
            self._scratch.run("means_by_id")
            if self._scratch.holds("tellable"):
                self._scratch.run("means_by_tuple")
            self._scratch.run("pairs")
            if self._scratch.holds("untold"):
                self._scratch.run("untraced_requests")
        self._scratch.run("traced_requests")
        self._scratch.run("old_requests")
        self._scratch.run("crossing")
        self._lease.show(self._scratch, "write_requests")
        if self._scratch.count("crossing"):
            self._lease.show(self._scratch, "write_taken")
            self._lease.show(self._scratch, "write_crossed")
        self._lease.check()
        for file in ("done", "done_lines"):
            self._scratch.run(file)
        buckets = frozenset(bucket for (bucket,) in self._scratch.rows("buckets"))
        return Linked(buckets, self._scratch.count("requests"))

    def _take_lines_that_came_again(self) -> None:
        """Take the connections that had such lines; of a line that has another time now, only its last version."""
        self._scratch.run("again")
        if not self._scratch.count("again"):
            return
        self._scratch.run("take_again")
        self._scratch.run("outdone")
        if self._scratch.count("outdone"):
            self._scratch.run("take_away_outdone")

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
        _log.warning("what lines may mean goes on beyond %d connections and lines of a chain; it is cut", STEPS_MOST)


_OF_A_STEP = (
    "taken",
    "connections",
    "line_ids",
    "again",
    "outdone",
    "lines",
    "names",
    "traces",
    "aliases",
    "crowded",
    "streams",
    "means",
    "pairs",
    "requests",
    "old",
    "crossing",
)
_OF_A_LINE = "start_at Nullable(DateTime64(6, 'UTC')), end_at Nullable(DateTime64(6, 'UTC'))"
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
    "zero_rtt",
    "migrations",
    "initial_congestion_window",
    "stack_version",
    "quic_version",
    "server_release",
)
_MEANT_COLUMNS = (
    "log_id String, offset UInt64, start_at Nullable(DateTime64(6, 'UTC')), rank UInt8, "
    "connection_id String, stream_id UInt64"
)


def _stream_columns() -> str:
    connections = load_catalogue().table("connections")
    columns = [
        columns_of("streams"),
        f"connection_started_at {connections.column('started_at').type}",
        f"connection_ended_at {connections.column('started_at').type}",
        f"connection_complete {connections.column('complete').type}",
    ]
    columns += [f"`{name}` {connections.column(name).type}" for name in _CONNECTION_COLUMNS]
    return ", ".join(columns)
