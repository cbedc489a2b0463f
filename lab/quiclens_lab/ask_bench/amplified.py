"""A demo made as large as asked, so that questions meet real amounts.

Every copy of the demo has connections, requests and clients of its own, at the same minutes of another hour of the
same day, from one of forty times as many carriers. A copy depends on its number alone: the same store always becomes
the same one. Copies beyond the events that are asked for have summaries and no events, as under retention.
One connection, `LONG`, has a million events: those of the demo's longest trace again and again, one after the other.
"""

from collections.abc import Callable

from quiclens_schema.store import Store

from quiclens_lab.errors import LabError

TABLES = ("connections", "connection_aliases", "streams", "episodes", "request_lines", "request_versions", "events")
ROWS_AT_ONCE = 2_000_000
CARRIERS = 40
LONG = "10000000000000ff"
LONG_EVENTS = 1_000_000
_BASE = "amplify_base"
_IDS = ("connection_id", "trace_id", "external_id", "log_id", "alias")
_PARTS = "splitByChar('/', base.request_id) AS parts, arrayEnumerate(parts)"
_LINE = "splitByChar('/', base.line_key) AS places, arrayEnumerate(places)"

Show = Callable[[str], None]


def amplify(store: Store, requests: int, events: int, show: Show) -> None:
    """Amplify a store that holds a demo to at least so many requests and events, with the long connection."""
    base = {table: count(store, table) for table in TABLES}
    if not base["request_versions"] or not base["events"]:
        raise LabError("the store holds no demo")
    wanted = {table: _copies(base["request_versions"], requests) for table in TABLES}
    wanted["events"] = min(_copies(base["events"], events), wanted["request_versions"])
    for table, copies in wanted.items():
        if base[table]:
            _amplify(store, table, base[table], copies, show)
    _lengthen(store)


def _copies(have: int, wanted: int) -> int:
    return max(0, -(-wanted // have) - 1)


def count(store: Store, table: str) -> int:
    """Rows of a table."""
    return int(store.query(f"SELECT count() FROM {table}").one()[0])


def _amplify(store: Store, table: str, rows: int, copies: int, show: Show) -> None:
    columns = store.query(
        "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = {table:String} "
        "AND default_kind NOT IN ('MATERIALIZED', 'ALIAS') ORDER BY position",
        {"table": table},
    ).rows
    names = ", ".join(f"`{name}`" for name, _ in columns)
    copied = ", ".join(f"{_copied(name, kind)} AS `{name}`" for name, kind in columns)
    store.command(f"DROP TABLE IF EXISTS {_BASE}")
    store.command(f"CREATE TABLE {_BASE} ENGINE = Memory AS SELECT {names} FROM {table}")
    each = max(1, ROWS_AT_ONCE // rows)
    for first in range(1, copies + 1, each):
        copied_at_once = min(each, copies + 1 - first)
        store.command(
            f"INSERT INTO {table} ({names}) SELECT {copied} FROM numbers({{first:UInt64}}, {{count:UInt64}}) AS copies "
            f"CROSS JOIN {_BASE} AS base",
            {"first": first, "count": copied_at_once},
            {"max_insert_threads": 2, "max_partitions_per_insert_block": 1000},
        )
        show(f"{table}: {first + copied_at_once - 1:,} of {copies:,} copies")
    store.command(f"DROP TABLE {_BASE}")


def _lengthen(store: Store) -> None:
    """Make the long connection; only what pictures are drawn from is as in a real one."""
    seen, duration_us, *place = store.query(
        "SELECT events_seen, duration_us + 1, connection_id, vantage, trace_id FROM connections "
        "WHERE vantage = 'server' AND (connection_id, trace_id) IN "
        "(SELECT connection_id, trace_id FROM events WHERE seq = 0) "
        "ORDER BY events_seen DESC, connection_id LIMIT 1"
    ).one()
    times = -(-LONG_EVENTS // int(seen))
    named = f"'{LONG}' AS connection_id, '{LONG}' AS trace_id"
    columns = {
        "connections": f"events_seen * {times} AS events_seen, duration_us * {times} AS duration_us",
        "events": f"seq + n * {seen} AS seq, time_us + toInt64(n * {duration_us}) AS time_us",
    }
    turns = {"connections": 1, "events": times}
    for table, changed in columns.items():
        store.command(
            f"INSERT INTO {table} SELECT * EXCEPT (n) REPLACE ({named}, {changed}) FROM (SELECT * FROM {table} WHERE "
            "connection_id = {id:String} AND vantage = {vantage:String} AND trace_id = {trace_id:String}) AS trace "
            "CROSS JOIN (SELECT number AS n FROM numbers({turns:UInt64})) AS turns",
            {**dict(zip(("id", "vantage", "trace_id"), place, strict=True)), "turns": turns[table]},
        )


def _hashed(column: str) -> str:
    return f"lower(hex(cityHash64({column}, copies.number)))"


def _copied(name: str, kind: str) -> str:
    """A column's value in a copy. The demo begins at ten o'clock: shifted by whole hours it stays within its day."""
    column = f"base.`{name}`"
    if name == "request_id":  # that of a traced request is its connection's and its stream
        return f"arrayStringConcat(arrayMap((part, at) -> if(at = 1, {_hashed('part')}, part), {_PARTS}), '/')"
    if name == "line_key":
        changed = f"if(at = 1 AND part != '', {_hashed('part')}, part)"
        return f"arrayStringConcat(arrayMap((part, at) -> {changed}, {_LINE}), '/')"
    if name in _IDS:
        return f"if({column} IS NULL OR {column} = '', {column}, {_hashed(column)})"
    if name == "carrier":
        return f"concat({column}, ' ', toString(copies.number % {CARRIERS}))"
    if "DateTime" in kind:
        return f"{column} + toIntervalHour(toInt32(copies.number % 24) - 10)"
    return column
