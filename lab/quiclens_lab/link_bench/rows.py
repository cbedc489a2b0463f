"""Connections, streams, aliases and lines that mean each other, made by the engine itself, as many as one likes."""

from dataclasses import dataclass
from datetime import date, datetime

from quiclens_schema.store import Store

REQUESTS_EACH = 10
"""Requests of a connection, a second apart; each has a stream and a line."""
ALIASES_EACH = 4
"""Names of a connection: three ids, and the key of its client."""
CARRIERS, REGIONS, CITIES = 200, 20, 60

_ID = "lower(hex(cityHash64({salt:UInt64}, c)))"
_TRACE = "lower(hex(cityHash64({salt:UInt64}, c, 1)))"
_NAME = "lower(hex(cityHash64({salt:UInt64}, c, 2, k)))"
_KEY = "lower(hex(cityHash64({salt:UInt64}, c, 2, 3)))"
_AT = (
    "toDateTime64({day:Date}, 6, 'UTC')"
    " + toIntervalMicrosecond(toUInt64({from_s:Float64} * 1000000)"
    " + toUInt64(c * {span_s:Float64} * 1000000 / {connections:UInt64}) + k * 1000000)"
)
_PLACE = f"'s1', toString(c % {CARRIERS}), toString(c % {REGIONS}), toString(c % {CITIES})"
_DURATION = "90000 + cityHash64(c, k) % 100000"

_STATEMENTS = (
    f"""
INSERT INTO connections (
    connection_id, vantage, trace_id, version, analysis_version, trace_day, started_at, duration_us, complete,
    events_seen, events_kept, event_probability, trace_probability, server, carrier, region, city)
SELECT {_ID}, 'server', {_TRACE}, 1000, 5, {{day:Date}}, {_AT}, 15000000, 1, 500, 'all', 1, 1, {_PLACE}
FROM (SELECT number AS c, 0 AS k FROM numbers({{connections:UInt64}}))
""",
    f"""
INSERT INTO connection_aliases (alias, connection_id, vantage, trace_id, role, version, trace_day)
SELECT {_NAME}, {_ID}, 'server', {_TRACE}, if(k = 3, 'client_key', 'issued'), 1000, {{day:Date}}
FROM (SELECT intDiv(number, {ALIASES_EACH}) AS c, number % {ALIASES_EACH} AS k
    FROM numbers({{connections:UInt64}} * {ALIASES_EACH}))
""",
    f"""
INSERT INTO streams (
    connection_id, vantage, trace_id, stream_id, version, analysis_version, trace_day, started_at, complete,
    duration_us, network_us, server_think_us, method, path, status, grade)
SELECT {_ID}, 'server', {_TRACE}, k * 4, 1000, 5, {{day:Date}}, {_AT}, 1, {_DURATION}, 60000, {_DURATION} - 60000,
    'GET', '/a', 200, 'whole'
FROM (SELECT intDiv(number, {REQUESTS_EACH}) AS c, number % {REQUESTS_EACH} AS k
    FROM numbers({{connections:UInt64}} * {REQUESTS_EACH}))
""",
    f"""
INSERT INTO request_lines (
    log_id, offset, line_day, time, time_is, connection_id, stream_id, client_key, method, path, status, duration_us,
    protocol, server, carrier, region, city)
SELECT concat('log-', toString({{salt:UInt64}})), (c * {REQUESTS_EACH} + k) * 200, {{day:Date}}, {_AT}, 'start',
    {_ID}, k * 4, {_KEY}, 'GET', '/a', 200, {_DURATION}, 'h3', {_PLACE}
FROM (SELECT intDiv(number, {REQUESTS_EACH}) AS c, number % {REQUESTS_EACH} AS k
    FROM numbers({{connections:UInt64}} * {REQUESTS_EACH}))
""",
)


@dataclass(frozen=True, slots=True)
class Rows:
    """So many connections, which begin spread over a stretch of a day; `salt` tells them from all others."""

    day: date
    connections: int
    salt: int
    from_s: float = 0.0
    span_s: float = 1.0

    @property
    def requests(self) -> int:
        return self.connections * REQUESTS_EACH

    def insert(self, store: Store) -> None:
        """Insert them, connections first and lines last."""
        bound = {name: getattr(self, name) for name in ("day", "connections", "salt", "from_s", "span_s")}
        for sql in _STATEMENTS:
            store.command(sql, {name: value for name, value in bound.items() if f"{{{name}:" in sql})

    def last_request(self, store: Store) -> tuple[str, datetime]:
        """The id of the request whose line is inserted last, and the minute in which it begins."""
        sql = (
            f"SELECT concat({_ID}, '/', toString(4 * k)), toStartOfMinute({_AT})"
            f" FROM (SELECT {{connections:UInt64}} - 1 AS c, {REQUESTS_EACH} - 1 AS k)"
        )
        bound = {name: getattr(self, name) for name in ("day", "connections", "salt", "from_s", "span_s")}
        request_id, minute = store.query(sql, bound).one()
        return str(request_id), minute
