"""Build the table `requests`: lines of access logs joined with streams of traces, and what is counted of it.

Each touched hour is built anew in a scratch table and swapped in whole, so linking again changes nothing, and a
reader sees an hour before or after, never between.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from threading import Lock
from typing import Any
from uuid import uuid4

from quiclens_schema.catalogue import load as load_catalogue
from quiclens_schema.served import Operation, ServedStore
from quiclens_schema.store import Store

_HOURS_AT_ONCE = 168  # a week of hours is built together: bounds the scratch tables' memory
_SCRATCH_SECONDS_MAX = 3600  # no step takes so long: who made an older table is gone
_MADE = ("requests", "request_rollups", "request_dimensions")
"""Tables that are built here, each from those before it, and swapped in in this order.

Who is killed in between leaves a mark or a token that has the hours built again."""
_STEPS = ("streams", "pairs", "traced_requests", "untraced_requests", *_MADE[1:])
_STEPS_WITHOUT_LINES = tuple(step for step in _STEPS if step not in ("pairs", "untraced_requests"))
"""SQL files that build them after `lines`, in order: all, and what is left of them where there is no line."""
_SOURCES = ("connections", "streams", "connection_aliases", "request_lines")

_one_at_a_time = Lock()  # a later build must not be replaced by an earlier one


@dataclass(frozen=True, slots=True)
class Mark:
    """What the store held at one moment: of each table that link reads, its partitions and their runs of blocks.

    An insert is a block, numbered within its table; a merge makes one part of a run of blocks. So a part that was
    merged of what was there before is known, and a part with one block more is not.
    """

    known: tuple[tuple[str, tuple[tuple[str, int, int], ...]], ...]

    def parameters(self) -> dict[str, list[tuple[str, int, int]]]:
        return {f"{table}_known": list(runs) for table, runs in self.known}

    def text(self) -> str:
        return json.dumps(self.known)

    @staticmethod
    def of(text: str) -> "Mark":
        """The mark that `text` wrote; ValueError for anything else."""
        try:
            return Mark(
                tuple((table, tuple((str(p), int(a), int(b)) for p, a, b in runs)) for table, runs in json.loads(text))
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"not a mark: {text[:80]}") from error


NOTHING = Mark(tuple((table, ()) for table in _SOURCES))
"""The mark of an empty store: everything came later."""


@dataclass(frozen=True, slots=True)
class LinkSummary:
    """What linking did: hours rewritten, and rows they now have."""

    hours: int
    requests: int


def mark(store: Store) -> Mark:
    """Remember what is stored, so that `link_since` can tell what came later."""
    found = store.query(_sql("stored_blocks"), {"tables": list(_SOURCES)})
    runs: dict[str, list[tuple[str, int, int]]] = {table: [] for table in _SOURCES}
    for table, is_replicated, partition, first, last in found.rows:
        # Where one process numbers the blocks, a lower number never comes later: gaps were other partitions' blocks.
        _extend(runs[table], (partition, int(first), int(last)), is_gapless=not is_replicated)
    return Mark(tuple((table, tuple(runs[table])) for table in _SOURCES))


def _extend(runs: list[tuple[str, int, int]], part: tuple[str, int, int], *, is_gapless: bool) -> None:
    """Add a part, in order of partition and block, to the last run if it goes on from there."""
    partition, first, last = part
    if runs and runs[-1][0] == partition and (is_gapless or runs[-1][2] + 1 >= first):
        runs[-1] = (partition, runs[-1][1], max(last, runs[-1][2]))
    else:
        runs.append((partition, 0 if is_gapless else first, last))


def link_since(store: Store, since: Mark) -> LinkSummary:
    """Link every hour that anything stored after the mark can have changed."""
    with _one_at_a_time:
        return _link(store, changed_hours(store, since))


def link(store: Store, hours: Iterable[datetime] | None = None) -> LinkSummary:
    """Link the given hours, or all there are. Twice in a row gives the same table.

    A store that another process serves is linked by that process, all of it.
    """
    if isinstance(store, ServedStore):
        return store.operate(Operation.LINK, LinkSummary)
    with _one_at_a_time:
        chosen = all_hours(store) if hours is None else sorted({_whole_hour(hour) for hour in hours})
        return _link(store, chosen)


def changed_hours(store: Store, since: Mark) -> list[datetime]:
    """Hours of `requests` that may differ: where the changed things are, and where their rows sat before.

    A part merged of old and new rows is new as a whole, so hours may come that did not change; none is missing.
    """
    with Scratch(store) as scratch:
        scratch.make("changed_connections", "connection_id String")
        scratch.make(
            "changed_lines", "log_id String, offset UInt64, connection_id Nullable(String), client_key Nullable(String)"
        )
        bound = {**scratch.names(), **since.parameters()}
        _run(store, "changed_connections", bound)
        _run(store, "changed_lines", bound)
        return [hour for (hour,) in store.query(_sql("changed_hours"), scratch.names()).rows]


def all_hours(store: Store) -> list[datetime]:
    """Every hour that `requests` has or should have."""
    return [hour for (hour,) in store.query(_sql("all_hours")).rows]


def roll_up(store: Store) -> None:
    """Count what `requests` has, for rows that came there in another way than by linking, into tables still empty."""
    for table in _MADE[1:]:
        _run(store, table, {name: name for name in _MADE})


def data_time(store: Store, since: Mark) -> datetime | None:
    """The latest instant that anything stored after the mark speaks of; None when nothing dated came."""
    (latest,) = store.query(_sql("data_time"), _taken("data_time", since.parameters())).one()
    return latest if isinstance(latest, datetime) else None


def sweep(store: Store) -> None:
    """Drop scratch tables that processes left behind which were killed more than an hour ago."""
    for (name,) in store.query(_sql("scratch_tables")).rows:
        if time.time() - int(name[-32:-24], 16) > _SCRATCH_SECONDS_MAX:
            store.command(f"DROP TABLE IF EXISTS {name} SYNC")


def _link(store: Store, hours: Sequence[datetime]) -> LinkSummary:
    requests = 0
    for first in range(0, len(hours), _HOURS_AT_ONCE):
        requests += _rewrite(store, hours[first : first + _HOURS_AT_ONCE])
    return LinkSummary(len(hours), requests)


def _rewrite(store: Store, hours: Sequence[datetime]) -> int:
    """Build these hours in scratch tables and swap them in, all of a table in one statement."""
    window = {"hours": [hour.replace(tzinfo=None) for hour in hours]}
    with Scratch(store) as scratch:
        scratch.make("lines", f"{_line_columns()}, start_at DateTime64(6, 'UTC'), end_at DateTime64(6, 'UTC')")
        scratch.make("streams", _stream_columns())
        scratch.make("pairs", _PAIR_COLUMNS)
        for table in _MADE:
            scratch.copy(table)
        bound = {**scratch.names(), **window}
        _run(store, "lines", bound)
        (lines,) = store.query("SELECT count() FROM {lines:Identifier}", {"lines": bound["lines"]}).one()
        for step in _STEPS if lines else _STEPS_WITHOUT_LINES:
            _run(store, step, bound)
        made = _rows_made(store, scratch.names())
        for table in _MADE:
            _swap(store, table, scratch.names()[table], hours, set(made[table]))
        return sum(made["requests"].values())


def _rows_made(store: Store, scratch: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Rows of the scratch table of each table that is made, by partition."""
    found = store.query(
        "SELECT table, partition_id, sum(rows) FROM system.parts WHERE database = currentDatabase()"
        " AND table IN {tables:Array(String)} AND active GROUP BY table, partition_id LIMIT 100000",
        {"tables": [scratch[table] for table in _MADE]},
    )
    return {
        table: {partition: int(rows) for name, partition, rows in found.rows if name == scratch[table]}
        for table in _MADE
    }


def _run(store: Store, name: str, bound: Mapping[str, Any]) -> None:
    """Run one SQL file with those of the parameters that it takes."""
    store.command(_sql(name), _taken(name, bound))


def _taken(name: str, bound: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the parameters that a SQL file takes."""
    sql = _sql(name)
    return {key: value for key, value in bound.items() if f"{{{key}:" in sql}


def _swap(store: Store, table: str, scratch: str, hours: Sequence[datetime], made: set[str]) -> None:
    """Replace every hour by what was made of it, and drop those of which nothing was made, in one step."""
    commands: list[str] = []
    for hour in hours:
        partition = str(int(hour.timestamp()))  # ClickHouse's partition_id of a DateTime
        if partition in made:
            commands.append(f"REPLACE PARTITION ID '{partition}' FROM {scratch}")
        else:
            commands.append(f"DROP PARTITION ID '{partition}'")
    if commands:
        store.command(f"ALTER TABLE {table} {', '.join(commands)}")


class Scratch:
    """Tables that live as long as one step, under names that no other process takes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._suffix = f"{int(time.time()):08x}{uuid4().hex[:24]}"  # when it was made, and nobody else's
        self._names: dict[str, str] = {}

    def make(self, name: str, columns: str) -> None:
        self._store.command(f"CREATE OR REPLACE TABLE {self._name(name)} ({columns}) ENGINE = Memory")

    def copy(self, name: str) -> None:
        self._store.command(f"CREATE TABLE {self._name(name)} AS {name}")

    def names(self) -> dict[str, str]:
        return dict(self._names)

    def _name(self, name: str) -> str:
        self._names[name] = f"link_{name}_{self._suffix}"
        return self._names[name]

    def __enter__(self) -> "Scratch":
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._names.values():
            self._store.command(f"DROP TABLE IF EXISTS {name} SYNC")


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


def _sql(name: str) -> str:
    return files("quiclens_ingest").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")


def _whole_hour(hour: datetime) -> datetime:
    aware = hour if hour.tzinfo else hour.replace(tzinfo=UTC)
    return aware.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
