"""How long rows are kept: whole days are dropped, events first, when they are too old or the store is too large.

A day's age counts from the day itself or from the last write to it, whichever is later: logs of last year that were
loaded today, and traces without a wall clock, stay as long as any other.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta

from quiclens_schema.served import ServedStore, StoreOperation
from quiclens_schema.store import Store

from quiclens_web.front.keep import MB, Keep

_EVENTS = ("events",)
_LINKED = ("request_versions", "rollup_versions", "dimension_versions")
_SUMMARIES = ("connections", "streams", "episodes", "connection_aliases", "request_lines", *_LINKED)
_PARTS = """
SELECT
    table,
    partition,
    partition_id,
    toUnixTimestamp(max(modification_time)),
    sum(rows),
    sum(bytes_on_disk)
FROM system.parts
WHERE database = currentDatabase() AND active
GROUP BY table, partition, partition_id
"""
_ANY_SIZE = {"max_partition_size_to_drop": "0", "max_table_size_to_drop": "0"}  # 50 GB otherwise
_REMEMBER = """
INSERT INTO dropped_days (table_name, day, rows, bytes, why)
SELECT {table:String}, {day:Date}, {rows:UInt64}, {bytes:UInt64}, {why:String}
"""


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition: a day of a table."""

    table: str
    day: date | None  # None for a table without partitions
    id: str
    written_at: datetime
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Drop:
    """One partition and why it goes: `age` or `size`."""

    partition: Partition
    why: str

    @property
    def rows(self) -> int:
        return self.partition.rows

    @property
    def bytes(self) -> int:
        return self.partition.bytes


@dataclass(frozen=True, slots=True)
class Sweep:
    """What one look did."""

    disk_bytes: int
    dropped: tuple[Drop, ...]
    told: tuple[str, ...]


def sweep(store: Store, keep: Keep, now: datetime) -> Sweep:
    """Drop what is too old or too much, and remember in `dropped_days` what that was; StoreError when it fails.

    In a store that another process serves, that process does it, by its own clock.
    """
    if isinstance(store, ServedStore):
        return store.operate(StoreOperation.RETENTION, Sweep, asdict(keep))
    partitions = _partitions(store)
    drops = plan(partitions, keep, now)
    _say_dropped(store, sorted({d.partition.day for d in drops if d.partition.table in _EVENTS and d.partition.day}))
    for drop in drops:
        which = drop.partition
        said = {"table": which.table, "day": which.day, "rows": which.rows, "bytes": which.bytes, "why": drop.why}
        store.command(_REMEMBER, said)
        store.command(f"ALTER TABLE `{which.table}` DROP PARTITION ID {{id:String}}", {"id": which.id}, _ANY_SIZE)
    told = [_told(day, drops) for day in sorted({(d.partition.day or date.min, d.why) for d in drops})]
    if keep.summaries_days and any(each.table == "rejects" for each in partitions):
        told += _drop_rejects(store, now - timedelta(days=keep.summaries_days))
    left = sum(each.bytes for each in partitions) - sum(drop.bytes for drop in drops)
    if keep.disk_bytes and left > keep.disk_bytes:
        told.append(
            f"the store takes {left // MB:,} MB, more than its {keep.disk_bytes // MB:,} MB; its last day is kept"
        )
    return Sweep(left, tuple(drops), tuple(told))


def plan(partitions: Sequence[Partition], keep: Keep, now: datetime) -> list[Drop]:
    """Which partitions go: first by age, then, oldest first, events before summaries, until the rest fits.

    For its size the store never loses the newest day.
    """
    drops: list[Drop] = []
    left = sum(each.bytes for each in partitions)
    days_left: list[tuple[datetime, date, list[Partition]]] = []
    for tables, days in ((_EVENTS, keep.events_days), (_SUMMARIES, keep.summaries_days)):
        by_day: dict[date, list[Partition]] = defaultdict(list)
        for each in partitions:
            if each.table in tables and each.day is not None:
                by_day[each.day].append(each)
        ages = sorted((_since(day, found), day, found) for day, found in by_day.items())
        for since, day, found in ages:
            if days and since < now - timedelta(days=days):
                drops += [Drop(each, "age") for each in found]
                left -= sum(each.bytes for each in found)
            else:
                days_left.append((since, day, found))
        if days_left and days_left[-1][1] in by_day:
            days_left.pop()  # the newest day
    for _, _, found in days_left if keep.disk_bytes else ():
        if left <= keep.disk_bytes:
            break
        drops += [Drop(each, "size") for each in found]
        left -= sum(each.bytes for each in found)
    return drops


def _since(day: date, found: Iterable[Partition]) -> datetime:
    """When a day began to age. Linking again writes its tables anew, and dropping events writes connections anew: their
    own writing counts only where nothing else of the day is there."""
    end = datetime.combine(day, datetime.min.time(), UTC) + timedelta(days=1)
    written = {each.table: each.written_at for each in found if each.table not in _LINKED}
    if len(written) > 1:
        written.pop("connections", None)
    return max([end, *written.values()])


def _say_dropped(store: Store, days: Sequence[date]) -> None:
    """Rows that stay say first that their events go, so that no answer ever counts on events that are not there."""
    if not days:
        return
    of_days = "trace_day IN {days:Array(Date)}"
    of_traces = f"trace_id IN (SELECT trace_id FROM connections WHERE events_kept = 'dropped' AND {of_days})"
    for table, change, where in (
        ("connections", "events_kept = 'dropped'", f"events_kept = 'all' AND {of_days}"),
        ("request_versions", "coverage = 'summary'", f"coverage IN ('full', 'partial') AND {of_traces}"),
    ):
        store.command(f"ALTER TABLE {table} UPDATE {change} WHERE {where}", {"days": days}, {"mutations_sync": "1"})


def _partitions(store: Store) -> list[Partition]:
    found = []
    for table, partition, id_, written, rows, size in store.query(_PARTS).rows:
        at = datetime.fromtimestamp(int(written), UTC)
        found.append(Partition(table, _day(partition), id_, at, int(rows), int(size)))
    return found


def _day(partition: str) -> date | None:
    try:
        return date.fromisoformat(partition.strip("'")[:10])
    except ValueError:
        return None


def _drop_rejects(store: Store, before: datetime) -> list[str]:
    """Rejects have no partitions: old ones are deleted by row."""
    old = "ingested_at < fromUnixTimestamp64Micro({before_us:Int64})"
    when = {"before_us": int(before.timestamp() * 1e6)}
    (rows,) = store.query(f"SELECT count() FROM rejects WHERE {old}", when).one()
    if rows:
        store.command(f"ALTER TABLE rejects DELETE WHERE {old}", when, {"mutations_sync": "1"})
    return [f"deleted {rows:,} rejects from before {before:%Y-%m-%d}"] if rows else []


def _told(day: tuple[date, str], drops: Sequence[Drop]) -> str:
    of_day = [drop for drop in drops if (drop.partition.day or date.min, drop.why) == day]
    tables = sorted({drop.partition.table for drop in of_day})
    rows, size = sum(drop.rows for drop in of_day), sum(drop.bytes for drop in of_day)
    why = "too old" if day[1] == "age" else "the store is too large"
    return f"dropped {day[0]} of {', '.join(tables)}: {rows:,} rows, {size / MB:.1f} MB; {why}"
