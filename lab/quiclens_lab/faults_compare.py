"""What a store says against what a plain reading says: row by row, column by column."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quiclens_ingest.load import load
from quiclens_schema import catalogue
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store

from quiclens_lab.faults_live import COLLECTOR_NAME
from quiclens_lab.machine import collector_binary

VIEWS = {
    "events": "events_now",
    "streams": "streams_now",
    "episodes": "episodes_now",
    "connections": "connections_now",
    "connection_aliases": "aliases_now",
    "request_lines": "request_lines FINAL",
    "requests": "requests",
    "rejects": "(SELECT * FROM rejects FINAL WHERE reason != 'empty_file')",  # nothing was in it to lose
}
GROUPS = {"request_lines": "log_id", "requests": "request_id", "rejects": "source"}  # of the others trace_id
LEFT_OUT = {"source_file", "file", "ingested_at"}
"""Columns that say where and when something was read, not what."""
SHOWN = 12
_WHOSE = {"trace_id", "seq"}
"""Of a reject: a connection may be over before its file is, then half a line at the end is nobody's."""

Key = tuple[Any, ...]
Rows = dict[Key, dict[str, Any]]


@dataclass
class Content:
    """What a store says: rows by trace or log, and keys that are seen more than once."""

    groups: dict[str, Rows] = field(default_factory=dict)
    doubled: list[Key] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def joined(self, other: "Content") -> "Content":
        """Both together; they have no group in common."""
        return Content({**self.groups, **other.groups}, self.doubled + other.doubled, self.counts + other.counts)

    def with_rejects_of(self, other: "Content") -> "Content":
        """What is in no file any more was read in time, and the copy that was made before it ends in half of it."""
        rejects = {
            name: {key: row for key, row in rows.items() if key[0] == "rejects"} for name, rows in other.groups.items()
        }
        names = self.groups.keys() | {name for name, rows in rejects.items() if rows}
        return Content({name: {**rejects.get(name, {}), **self.groups.get(name, {})} for name in names})


@dataclass(frozen=True)
class RowDifference:
    """One row that is not as it should be: `missing`, `extra`, `doubled` or `changed`, then with its columns."""

    what: str
    key: Key
    columns: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"what": self.what, "key": self.key, "columns": {name: str(each) for name, each in self.columns.items()}}


def content(store: Store) -> Content:
    """Every row as queries see it."""
    found = Content()
    for table in catalogue.load().tables.values():
        if table.name not in VIEWS:
            continue
        columns = [name for name in table.sent_columns if name not in LEFT_OUT]
        rows = store.query(f"SELECT {', '.join(f'`{name}`' for name in columns)} FROM {VIEWS[table.name]}").rows
        found.counts[table.name] = len(rows)
        group_at = columns.index(GROUPS.get(table.name, "trace_id"))
        key_at = [columns.index(name) for name in table.order_by]
        for row in rows:
            key = (table.name, *(row[at] for at in key_at))
            group = found.groups.setdefault(row[group_at], {})
            if key in group:
                found.doubled.append(key)
            group[key] = dict(zip(columns, row, strict=True))
    return found


def differences(found: Content, readings: Sequence[Content]) -> list[RowDifference]:
    """Where `found` is as none of the readings is; each trace and each log may be as another one.

    A group that only some readings have need not be found.
    """
    wrong = [RowDifference("doubled", key) for key in found.doubled]
    for name in {name for reading in (found, *readings) for name in reading.groups}:
        there = found.groups.get(name, {})
        each_way = [_between(there, reading.groups.get(name, {})) for reading in readings]
        nearest = min(each_way, key=len)
        wrong += nearest
    return wrong


def without_cut(found: Content, readings: Sequence[Content], lives: Sequence[bytes]) -> int:
    """Take out the rejects of what was cut in the reader's hand: a piece of a line of a log that was truncated then.

    The whole line stands in the copy, or is in no file any more, so no plain reading has them. Gives how many.
    """
    cut = [
        (group, key)
        for group, rows in found.groups.items()
        for key, row in rows.items()
        if key[0] == "rejects"
        and not any(key in reading.groups.get(group, {}) for reading in readings)
        and any(_is_piece(row, life) for life in lives)
    ]
    for group, key in cut:
        del found.groups[group][key]
        if not found.groups[group]:
            del found.groups[group]
    return len(cut)


def _is_piece(row: dict[str, Any], life: bytes) -> bool:
    piece = str(row["bytes"]).encode()
    at = int(row["offset"])
    is_begin_of_line = at == 0 or life[at - 1 : at] == b"\n"
    is_there = life[at:].startswith(piece) and len(piece) == row["length"]
    return bool(piece) and b"\n" not in piece and is_begin_of_line and is_there


def is_end_unseen(wrong: RowDifference, deleted: Collection[str]) -> bool:
    """A collector that comes back when a file is gone says that the trace may be incomplete, and is right to. The id
    that a header declares has the time at which the trace ended, as far as it was seen."""
    seen = {"complete", "version", "coverage"}
    if wrong.key[0] == "connection_aliases" and wrong.key[-1] == "odcid":
        seen |= {"last_us", "last_at"}
    return (
        wrong.what == "changed"
        and wrong.columns.keys() <= seen
        and any(str(each).partition("/")[0] in deleted for each in wrong.key)
    )


def is_loss_told(wrong: RowDifference) -> bool:
    """A collector whose checkpoint of a file is damaged, and whose file has gone, says that it cannot read it again;
    and of an access log that went while it was down, that it did not see the end."""
    return wrong.what == "extra" and wrong.key[0] == "rejects" and wrong.columns[""][1]["reason"] == "source_lost"


def is_of(told: RowDifference, logs: Sequence[bytes]) -> bool:
    """Whether such a loss may be that of one of `logs`: it is told at the end of a line of it."""
    at = int(told.columns[""][1]["offset"])
    return any(0 < at <= len(log) and log[at - 1 : at] == b"\n" for log in logs)


def _between(found: Rows, wanted: Rows) -> list[RowDifference]:
    wrong = [RowDifference("missing", key) for key in wanted.keys() - found.keys()]
    wrong += [RowDifference("extra", key, {"": ("", found[key])}) for key in found.keys() - wanted.keys()]
    for key in wanted.keys() & found.keys():
        if found[key] != wanted[key]:
            columns = {
                name: (value, found[key][name]) for name, value in wanted[key].items() if value != found[key][name]
            }
            if not (key[0] == "rejects" and found[key]["trace_id"] == "" and columns.keys() <= _WHOSE):
                wrong.append(RowDifference("changed", key, columns))
    return wrong


def shown(wrong: Iterable[RowDifference]) -> dict[str, Any]:
    """How many rows of each table are wrong in which way, and some of them."""
    wrong = list(wrong)
    counts = Counter(f"{each.key[0]} {each.what}" for each in wrong)
    some: dict[str, list[dict[str, Any]]] = {name: [] for name in counts}
    for each in wrong:
        examples = some[f"{each.key[0]} {each.what}"]
        if len(examples) < SHOWN:
            examples.append(each.as_json())
    return {"counts": dict(counts), "examples": [each for examples in some.values() for each in examples]}


def read_plainly(folder: Path, traces: Sequence[Path], access_logs: Sequence[Path]) -> Content:
    """What a fresh store says after loading these files."""
    with stores.open(f"chdb:{folder}") as opened:
        migrate(opened)
        load(opened, traces, access_logs, collector=collector_binary(), requests_host=COLLECTOR_NAME)
        return content(opened)
