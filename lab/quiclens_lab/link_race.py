"""`quiclens-lab link-race`: processes that link one store at the same time, killed or held up at any statement.

Each turn stores a few lines, streams and newer versions of them, on the borders of minutes, hours and days, with and
without a clock. Then two linkers go on, each with a lease that the other takes for one of a process that is gone, so
that one goes on writing after it has lost the right to; at a statement drawn by chance one of them is killed, with all
that it leaves behind, or held up until the other is done. A reader looks all the time: no request may be missing, stand
twice, or be older than what an earlier look showed. In the end the table is that of a store which is linked at once.
"""

import random
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from quiclens_ingest.lease import LeaseBusyError, LeaseLostError
from quiclens_ingest.link import link
from quiclens_ingest.linking import Rounds, remember_all
from quiclens_ingest.scratch import sweep
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store, StoreError

from quiclens_lab.judgement import Judgement
from quiclens_lab.progress import say

MIDNIGHT = datetime(2026, 3, 5, tzinfo=UTC)
_STATEMENTS_OF_A_ROUND = 70  # about: one that is not reached is no kill
_SEEN = """
SELECT request_id, started_at, trace_id, log_id, offset, ifNull(duration_us, 0)
FROM requests
"""
_TOLD = "SELECT * FROM requests ORDER BY started_hour, request_id, log_id, offset"
_ROLLED_UP = "SELECT * FROM request_rollups ORDER BY bucket_at"


class _KilledError(BaseException):
    """The process of this linker is gone."""


class _Struck:
    """A store as one linker has it: at one statement the linker is killed, or held up."""

    def __init__(self, store: Store, at: int, strike: Callable[[], None]) -> None:
        self._store = store
        self._at = at
        self._strike = strike
        self.statements = 0

    @property
    def is_embedded(self) -> bool:
        return True

    def query(self, sql: str, *more: Any, **named: Any) -> Any:
        self._next()
        return self._store.query(sql, *more, **named)

    def command(self, sql: str, *more: Any, **named: Any) -> None:
        self._next()
        self._store.command(sql, *more, **named)

    def _next(self) -> None:
        self.statements += 1
        if self.statements >= self._at:
            self._strike()


@dataclass
class _RequestReader:
    """Looks at the requests, and remembers the newest that it saw of each."""

    store: Store
    wrong: list[str] = field(default_factory=list)
    looks: int = 0
    _streams: dict[str, tuple[int, bool]] = field(default_factory=dict)
    _lines: set[tuple[str, int]] = field(default_factory=set)

    def look(self) -> None:
        streams: dict[str, tuple[int, bool]] = {}
        lines: set[tuple[str, int]] = set()
        self.looks += 1
        for request_id, _, trace_id, log_id, offset, duration_us in self.store.query(_SEEN).rows:
            if request_id in streams:
                self.wrong.append(f"{request_id} stands twice")
            streams[request_id] = (duration_us if trace_id is not None else -1, log_id is not None)
            if log_id is not None:
                if (log_id, offset) in lines:
                    self.wrong.append(f"line {log_id}/{offset} stands twice")
                lines.add((log_id, offset))
        for gone in self._lines - lines:
            self.wrong.append(f"line {gone} is missing")
        for name, (duration_us, has_line) in self._streams.items():
            if name.startswith("log:"):
                continue  # its line is there, in the request of its stream
            now = streams.get(name)
            if now is None:
                self.wrong.append(f"{name} is missing")
            elif now[0] < duration_us or (has_line and not now[1]):
                self.wrong.append(f"{name} is older: {now}, it was {(duration_us, has_line)}")
        self._streams, self._lines = streams, lines


@dataclass
class _Rows:
    """Draws what is stored in each turn; a stream's newer version lasts longer, and may begin at another time."""

    chance: random.Random
    made: int = 0
    _open: list[dict[str, Any]] = field(default_factory=list)

    def next(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Rows of this turn, each with its table."""
        for _ in range(self.chance.randint(1, 3)):
            self.made += 1
            border = MIDNIGHT + timedelta(
                hours=self.chance.choice((-1, 0, 0, 1)), minutes=self.chance.choice((0, 0, 1))
            )
            self._open.append(
                {
                    "id": f"{self.made:016x}",
                    "at": border + timedelta(milliseconds=self.chance.randint(-1500, 1500)),
                    "parts": self.chance.choice((["line", "v1", "v2"], ["v1", "line", "v2"], ["v1", "v2", "line"])),
                    "is_undated": self.chance.random() < 0.2,
                    "by_id": self.chance.random() < 0.7,
                }
            )
        rows: list[tuple[str, Mapping[str, Any]]] = []
        for one in list(self._open):
            if self.chance.random() < 0.6:
                rows += self._part(one, one["parts"].pop(0))
                if not one["parts"]:
                    self._open.remove(one)
        return rows

    def _part(self, one: Mapping[str, Any], part: str) -> list[tuple[str, Mapping[str, Any]]]:
        name, at = one["id"], one["at"]
        key = f"key-{name}"
        if part == "line":
            ids = {"connection_id": name, "stream_id": 0} if one["by_id"] else {}
            line = {
                "log_id": "log",
                "offset": int(name, 16),
                "time": at + timedelta(milliseconds=20),
                "time_is": "start",
                "line_day": (at + timedelta(milliseconds=20)).date(),
                "duration_us": 1000,
                "client_key": key,
                "method": "GET",
                "path": "/",
                **ids,
            }
            return [("request_lines", line)]
        newer = part == "v2"
        is_undated = one["is_undated"] and not newer
        begun = None if is_undated else at + timedelta(milliseconds=15 if newer else 0)
        shared = {
            "connection_id": name,
            "vantage": "server",
            "trace_id": f"t{name}",
            "version": 2 if newer else 1,
            "trace_day": date(1970, 1, 1) if one["is_undated"] else at.date(),
        }
        trace = {
            **shared,
            "analysis_version": 1,
            "started_at": begun,
            "duration_us": 5_000_000,
            "complete": newer,
            "events_kept": "all",
            "event_probability": 1,
            "trace_probability": 1,
        }
        stream = {
            **shared,
            "stream_id": 0,
            "analysis_version": 1,
            "started_at": begun,
            "complete": newer,
            "duration_us": 900 if newer else 800,
            "method": "GET",
            "path": "/",
        }
        return [
            ("connection_aliases", {**shared, "alias": key, "role": "client_key"}),
            ("connections", trace),
            ("streams", stream),
        ]


KILLS = 1000  # of linkers, that the bar asks for


def link_race(kills: int, seed: int, keep: bool) -> dict[str, Any]:
    """Strike until so many linkers were killed; `passes` is false where a reader saw what may not be."""
    judgement = Judgement("link_race", {"kills": kills, "seed": seed})
    judgement.least("kills", KILLS, kills)
    chance = random.Random(seed)
    struck = {"killed": 0, "held_up": 0, "lost_the_lease": 0}
    with (
        tempfile.TemporaryDirectory(prefix="quiclens-link-race-") as folder,
        judgement.stage("race"),
        stores.open(f"chdb:{folder}/store") as store,
    ):
        migrate(store)
        remember_all(store)
        reader, rows = _RequestReader(store), _Rows(chance)
        turn = 0
        while struck["killed"] < kills and not reader.wrong:
            turn += 1
            for table, row in rows.next():
                _insert(store, table, row)
            _turn(store, reader, chance, turn, struck)
            if turn % 20 == 0:
                sweep(store, after_seconds=-1)  # what killed linkers left behind
            if turn % 50 == 0:
                say(f"link-race: {turn} turns, {struck}, {reader.looks:,} looks")
        Rounds(store, 0, process=f"last-{seed}").next(with_counts=True)
        reader.look()
        told, rolled_up = store.query(_TOLD).rows, store.query(_ROLLED_UP).rows
        judgement.found |= {"turns": turn, "struck": struck, "looks": reader.looks, "requests": len(told)}
        judgement.want(not reader.wrong, "; ".join(reader.wrong[:5]))
        for table in ("request_versions", "rollup_versions", "dimension_versions"):
            store.command(f"TRUNCATE TABLE {table}")
        link(store)
        judgement.want(told == store.query(_TOLD).rows, "linked at once the requests are others")
        judgement.want(rolled_up == store.query(_ROLLED_UP).rows, "linked at once the rollups are others")
    return judgement.document(keep)


def _turn(store: Store, reader: _RequestReader, chance: random.Random, turn: int, struck: dict[str, int]) -> None:
    """Two linkers and a reader at once; one of the two is struck."""
    other_is_done = threading.Event()
    is_killed = chance.random() < 0.7

    def strike() -> None:
        if is_killed:
            raise _KilledError
        if not other_is_done.is_set():
            struck["held_up"] += 1
        other_is_done.wait()

    first = _Struck(store, chance.randint(1, _STATEMENTS_OF_A_ROUND), strike)
    second = _Struck(store, 1 << 30, strike)

    def work(own: _Struck, name: str, done: threading.Event | None) -> None:
        try:
            Rounds(own, 0, process=f"{name}-{turn}").next(with_counts=True)  # type: ignore[arg-type]
        except _KilledError:
            struck["killed"] += 1
        except LeaseLostError:
            struck["lost_the_lease"] += 1
        except LeaseBusyError:
            pass
        except StoreError as error:
            reader.wrong.append(f"turn {turn}: {error}")
        finally:
            if done is not None:
                done.set()

    workers = [
        threading.Thread(target=work, args=(first, "first", None)),
        threading.Thread(target=work, args=(second, "second", other_is_done)),
    ]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        reader.look()
    for worker in workers:
        worker.join()
    reader.look()


def _insert(store: Store, table: str, row: Mapping[str, Any]) -> None:
    values = {name: value for name, value in row.items() if value is not None}
    types = {bool: "Bool", int: "UInt64", str: "String", date: "Date", datetime: "DateTime64(6, 'UTC')"}
    selected = ", ".join(f"{{{name}:{types[type(value)]}}}" for name, value in values.items())
    bound = {
        name: value.replace(tzinfo=None) if isinstance(value, datetime) else value for name, value in values.items()
    }
    store.command(f"INSERT INTO {table} ({', '.join(values)}) SELECT {selected}", bound)
