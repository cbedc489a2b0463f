"""Request lines of a table of somebody else's in the same ClickHouse.

A row is known by a hash of its key, or of all that is read of it, within the hour of its time: reading again gives the
same rows. An hour is read when it has other rows than were taken of it, and of an hour that was read before the seconds
alone that have more now; so late rows are found, as far back as is looked.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import xxhash
from quiclens_schema.store import Store, StoreError

from quiclens_ingest.lines import Converter, JsonLine
from quiclens_ingest.load import LoadError
from quiclens_ingest.mapping import UNITS
from quiclens_ingest.mapping import Mapping as Source

ROWS_AT_ONCE = 50_000
_HOURS_AT_ONCE = 240  # their ids are one parameter: ClickHouse takes 128 KiB, and a table's name may be long
_HOUR, _HOURS_KEPT = 3600, 3
_OFFSETS = (1 << 63) - 1
_UNKNOWN = {47: "column", 60: "table", 81: "database"}
_DENIED = 497


@dataclass(slots=True)
class TableSummary:
    """What one look at a table did: rows of hours that were read, the lines that they became, rejects by reason."""

    hours: int = 0
    rows: int = 0
    lines: int = 0
    erased: int = 0
    rejected: Counter[str] = field(default_factory=Counter)

    def plus(self, other: "TableSummary") -> "TableSummary":
        """Both looks together."""
        return TableSummary(
            self.hours + other.hours,
            self.rows + other.rows,
            self.lines + other.lines,
            self.erased + other.erased,
            self.rejected + other.rejected,
        )


class TableReader:
    """One table, looked at again and again by one process."""

    def __init__(self, store: Store, source: Source, converter: Converter) -> None:
        self._store = store
        self._source = source
        self._converter = converter
        self._place = self._placed()
        self._is_number = self._check_columns()
        self._looked_at = 0  # the hour in which all was looked at
        self._taken: dict[int, int] = {}  # by hour: rows that it had when it was taken
        self._seconds: dict[int, Mapping[int, int]] = {}  # by hour: rows by second when it was taken, of the newest

    def take(self, since: datetime, progress: Callable[[int, int], None] = lambda done, of: None) -> TableSummary:
        """Take what is new of all hours that begin at `since` or later; `progress` hears rows done and to do.

        LoadError when the table cannot be read, or the store refuses rows.
        """
        found = TableSummary()
        first = int(since.astimezone(UTC).timestamp()) // _HOUR
        try:
            hours = self._counts(_HOUR, first * _HOUR, None)
            new = {hour: count for hour, count in sorted(hours.items()) if self._taken.get(hour) != count}
            stored = self._stored([hour for hour in new if hour not in self._seconds])
            done, total = 0, sum(new.values())
            for hour, count in new.items():
                if stored.get(hour, 0) < count:
                    self._take_hour(hour, found)
                self._taken[hour] = count
                done += count
                progress(done, total)
        except StoreError as error:
            raise LoadError(self._said(error)) from error
        return found

    def newest(self, rows: int) -> list[JsonLine]:
        """At most so many of the newest rows."""
        sql = f"SELECT {self._selected()} FROM {_TABLE} ORDER BY {{time:Identifier}} DESC LIMIT {{rows:UInt32}}"
        try:
            return self._lines(0, self._store.json_lines(sql, self._bound(sql, rows=rows)))
        except StoreError as error:
            raise LoadError(self._said(error)) from error

    def without_time(self) -> int:
        """How many rows have no time, and are never taken."""
        sql = f"SELECT countIf(isNull({{time:Identifier}})) FROM {_TABLE}"
        return int(self._store.query(sql, self._bound(sql)).one()[0])

    def since(self, first: datetime, now: datetime) -> datetime:
        """Where to look from when it is looked at again and again: all since `first` once an hour, for late rows, else
        the hour before this one and this one."""
        hour = int(now.timestamp()) // _HOUR
        if self._looked_at != hour:
            self._looked_at = hour
            return first
        return max(first, datetime.fromtimestamp((hour - 1) * _HOUR, UTC))

    def _take_hour(self, hour: int, found: TableSummary) -> None:
        seconds = self._counts(1, hour * _HOUR, (hour + 1) * _HOUR)
        found.hours += 1
        for first, end, parts in slices(seconds, self._seconds.get(hour, {})):
            for part in range(parts):
                texts = self._rows(first, end, part, parts)
                converted = self._converter.convert(self._lines(hour, texts))
                stored = converted.insert(self._store)
                found.erased += stored.erased
                found.rows += len(texts)
                found.lines += converted.lines - stored.refused
                found.rejected.update(converted.rejected)
                found.rejected.update(stored.rejected)
        self._seconds[hour] = seconds
        for old in sorted(self._seconds)[:-_HOURS_KEPT]:
            del self._seconds[old]

    def _lines(self, hour: int, texts: Sequence[bytes]) -> list[JsonLine]:
        log_id, seen = self._log_id(hour), Counter[bytes]()
        return [
            JsonLine(log_id, xxhash.xxh3_64_intdigest(self._known_by(text, seen)) & _OFFSETS, text) for text in texts
        ]

    def _known_by(self, text: bytes, seen: Counter[bytes]) -> bytes:
        if self._source.key:
            row = json.loads(text)
            return json.dumps([row[name] for name in self._source.key]).encode()
        # Rows that are alike in all that is read of them: each is one, and they are read together.
        seen[text] += 1
        return text if seen[text] == 1 else b"%b\n%d" % (text, seen[text])

    def _log_id(self, hour: int) -> str:
        return f"{self._source.name}/{datetime.fromtimestamp(hour * _HOUR, UTC):%Y-%m-%dT%HZ}"

    def _stored(self, hours: Sequence[int]) -> dict[int, int]:
        """By hour, how many of its rows the store has, as lines or as rejects."""
        found: dict[int, int] = {}
        for at in range(0, len(hours), _HOURS_AT_ONCE):
            found |= self._stored_of(hours[at : at + _HOURS_AT_ONCE])
        return found

    def _stored_of(self, hours: Sequence[int]) -> dict[int, int]:
        by_id = {self._log_id(hour): hour for hour in hours}
        sql = """
            SELECT id, sum(known) FROM (
                SELECT log_id AS id, uniqExact(offset) AS known FROM request_lines
                WHERE log_id IN {ids:Array(String)} GROUP BY id
                UNION ALL
                SELECT source AS id, uniqExact(offset) AS known FROM rejects
                WHERE source IN {ids:Array(String)} GROUP BY id
            ) GROUP BY id"""
        found = self._store.query(sql, {"ids": list(by_id)}).rows if by_id else []
        return {by_id[log_id]: int(known) for log_id, known in found}

    def _counts(self, step: int, first: int, end: int | None) -> dict[int, int]:
        """Rows by `step` seconds, of seconds since 1970 from `first` on, before `end` where that is said."""
        # Without a name of ours in it: the table may have a column of that name.
        at = f"intDiv({self._second()}, {{step:Int64}})"
        sql = f"""
            SELECT {at}, count() FROM {_TABLE}
            WHERE {self._from("first")} {"" if end is None else "AND NOT (" + self._from("end") + ")"}
            GROUP BY {at} ORDER BY {at}"""
        found = self._store.query(sql, self._bound(sql, step=step, first=first, end=end)).rows
        return {int(at): int(count) for at, count in found}

    def _rows(self, first: int, end: int, part: int, parts: int) -> list[bytes]:
        sql = f"SELECT {self._selected()} FROM {_TABLE} WHERE {self._from('first')} AND NOT ({self._from('end')})"
        if parts > 1:
            sql += f" AND cityHash64({self._selected()}) % {{parts:UInt32}} = {{part:UInt32}}"
        return self._store.json_lines(sql, self._bound(sql, first=first, end=end, part=part, parts=parts))

    def _second(self) -> str:
        if self._is_number:
            return f"intDiv(toInt64({{time:Identifier}}), {UNITS[self._source.time_unit]})"
        return "toInt64(toUnixTimestamp({time:Identifier}))"

    def _from(self, moment: str) -> str:
        """A condition on the column itself, so that the table's order helps."""
        if self._is_number:
            return f"{{time:Identifier}} >= {{{moment}:Int64}} * {UNITS[self._source.time_unit]}"
        return f"{{time:Identifier}} >= toDateTime64({{{moment}:Int64}}, 0, 'UTC')"

    def _selected(self) -> str:
        return ", ".join(f"{{c{number}:Identifier}}" for number in range(len(self._source.columns)))

    def _bound(self, sql: str, **more: object) -> dict[str, object]:
        """Of the names and of `more` what the statement has a place for."""
        database, table = self._place
        columns = {f"c{number}": name for number, name in enumerate(self._source.columns)}
        known = {"database": database, "table": table, "time": self._source.time, **columns, **more}
        return {name: value for name, value in known.items() if f"{{{name}:" in sql}

    def _placed(self) -> tuple[str, str]:
        if len(self._source.table) == 2:
            return self._source.table[0], self._source.table[1]
        (here,) = self._store.query("SELECT currentDatabase()").one()
        return str(here), self._source.table[0]

    def _check_columns(self) -> bool:
        """Whether the time is a number; LoadError when the table, or a column that the mapping names, is not there."""
        database, table = self._place
        sql = """
            SELECT name, type FROM system.columns
            WHERE database = {database:String} AND table = {table:String}"""
        try:
            types = dict(self._store.query(sql, {"database": database, "table": table}).rows)
        except StoreError as error:
            raise LoadError(self._said(error)) from error
        if not types:
            raise LoadError(f"there is no table {database}.{table}, or this user may not see it")
        if missing := [name for name in (self._source.time, *self._source.columns) if name not in types]:
            raise LoadError(
                f"{self._source.place} has no column {', '.join(missing)}; it has {', '.join(sorted(types))}"
            )
        kind = str(types[self._source.time]).replace("Nullable(", "").replace("LowCardinality(", "")
        if kind.startswith(("Int", "UInt")):
            return True
        if kind.startswith("DateTime"):
            return False
        raise LoadError(f"{self._source.place}: time is {types[self._source.time]}, not a DateTime or a whole number")

    def _said(self, error: StoreError) -> str:
        if error.code == _DENIED:
            return f"the store's user may not read {self._source.place}: GRANT SELECT on it"
        missing = _UNKNOWN.get(error.code or 0)
        return f"{self._source.place}: {f'a {missing} is missing: ' if missing else ''}{str(error).splitlines()[0]}"


_TABLE = "{database:Identifier}.{table:Identifier}"


def slices(
    seconds: Mapping[int, int], before: Mapping[int, int], most: int = ROWS_AT_ONCE
) -> Iterator[tuple[int, int, int]]:
    """Seconds whose rows are other than before, as stretches that are read together: the first, the one after the last,
    and in how many parts. A stretch has at most `most` rows; a second that has more by itself is read in parts."""
    first, end, rows = 0, 0, 0
    for second, count in sorted(seconds.items()):
        is_new = before.get(second) != count
        if rows and (not is_new or rows + count > most):
            yield first, end, -(-rows // most)
            rows = 0
        if is_new:
            first, end, rows = second if not rows else first, second + 1, rows + count
    if rows:
        yield first, end, -(-rows // most)
