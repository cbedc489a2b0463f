"""`quiclens-lab ask-bench`: how long people wait for answers about a large store, and how many rows each looks at.

The store is served by a process of its own and asked over HTTP, one question after another, as a browser does. Each
question is asked of other requests, connections and stretches of time every time, so that none is answered from memory.
It is asked twice: with one day behind the day that is asked about, and with all days.
"""

import json
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from quiclens_schema import store as stores
from quiclens_schema.store import Result, Store

from quiclens_lab.ask_bench.amplified import LONG, LONG_EVENTS, count
from quiclens_lab.ask_bench.store import TODAY, made, put_aside, put_back
from quiclens_lab.errors import CannotTryError, LabError
from quiclens_lab.judgement import Judgement
from quiclens_lab.progress import say

ASKED = 100  # of the short questions
ASKED_LONG = 5
ZOOMS = 8  # halvings: eight thousand events are left of a million
GRANULE = 8192
SERVE = [sys.executable, "-m", "quiclens_command_line", "serve", "--listen", "127.0.0.1:0", "--json"]
A_DAY = 1_000_000
"""Requests of each day behind."""

BARS = {
    "explain": 80, "slow_of_an_hour": 100, "tail_by_carrier_of_a_day": 300, "over_time_by_carrier_of_a_day": 300,
    "causes_of_a_day": 300, "rtt_of_an_hour": 300, "loss_of_an_hour": 300, "different_of_a_million": 2_000,
    "connection_first_picture": 1_000, "zoom_into_a_million_events": 1_000,
}  # fmt: skip
"""p95 in ms: of so few long questions, the slowest."""
LARGE_DAY = 10_000_000
LARGE_BARS = {
    "explain": 103, "slow_of_an_hour": 124, "over_time_by_carrier_of_a_day": 540, "causes_of_a_day": 1_100,
    "different_of_a_million": 1_400, "connection_first_picture": 240, "zoom_into_a_million_events": 480,
}  # fmt: skip
"""With so many requests in the day that is asked about: what they took in 0.1.0, on two cores of an AMD EPYC."""
WANTED = (1_000_000, 50_000_000, 30)
"""Of the bar: requests in the day that is asked about, events in the store, days."""
TIMES_ONE_DAY = 1.2
"""What a question takes with all days behind, against one, in the median."""

Row = dict[str, Any]


def ask_bench(requests: int, events: int, days: int, keep: bool) -> Row:
    """Make the store, ask, and judge."""
    judgement = Judgement("ask", {"requests": requests, "events": events, "days": days, "a_day": A_DAY})
    for what, has, wanted in zip(("requests", "events", "days"), (requests, events, days), WANTED, strict=True):
        judgement.least(what, wanted, has)
    with judgement.stage("fill"):
        url = f"chdb:{made(requests, events, days, A_DAY)}"
        bars = LARGE_BARS if requests >= LARGE_DAY else BARS
        judgement.found["bars_ms"] = bars
        with stores.open(url) as store:
            put_back(store)
            put_aside(store)
        one = _round(url, "with one day behind it")
        judgement.found["with_one_day"] = one["took"]
        with stores.open(url) as store:
            put_back(store)
        every = _round(url, f"with {days} days behind it")
        judgement.found |= every
        for name, most in bars.items():
            took = every["took"][name]["p95_ms"]
            judgement.want(took <= most, f"{name}: p95 {took} ms, at most {most}")
        for name, each in every["took"].items():
            times = each["p50_ms"] / one["took"][name]["p50_ms"]
            judgement.found.setdefault("times_one_day", {})[name] = round(times, 2)
            judgement.want(times <= TIMES_ONE_DAY, f"{name}: {times:.2f} times what it takes with one day behind")
        share = every["rows_read"]["share_of_bound"]
        judgement.want(share <= 1, f"questions about one connection read {share} of what they may")
    return judgement.document(keep)


def _round(url: str, what: str) -> Row:
    """Ask everything once: how long it took, and how many rows were read."""
    with _served(url) as address, stores.open(address) as store:
        rows = {table: count(store, table) for table in ("requests", "connections", "streams", "events")}
        requests, connections = _requests(store), _connections(store)
        took: dict[str, Row] = {}
        for name, paths in _questions(store, rows, requests, connections).items():
            took[name] = _took(address, paths)
            say(f"ask-bench: {name} {what}: {took[name]}")
        return {"rows": rows, "took": took, "rows_read": _reads(store, requests[:20], connections[:20])}


def _questions(
    store: Store, rows: Mapping[str, int], requests: Sequence[str], connections: Sequence[tuple[str, int]]
) -> dict[str, list[str]]:
    begins = datetime.combine(TODAY, datetime.min.time(), UTC)
    hours = [begins + timedelta(hours=at) for at in range(24)]
    days = [_window(begins + timedelta(minutes=at), 24) for at in range(ASKED_LONG)]
    return {
        "explain": [f"/api/v1/requests/{_path(each)}" for each in requests],
        "slow_of_an_hour": [f"/api/v1/requests?{_window(at, 1)}" for at in hours],
        "tail_by_carrier_of_a_day": [f"/api/v1/reports/tail?by=carrier&{day}" for day in days],
        "over_time_by_carrier_of_a_day": [f"/api/v1/over-time?by=carrier&{day}" for day in days],
        "causes_of_a_day": [f"/api/v1/spent-over-time?{day}" for day in days],
        "rtt_of_an_hour": [f"/api/v1/reports/rtt?{_window(at, 1)}" for at in hours[:ASKED_LONG]],
        "loss_of_an_hour": [f"/api/v1/reports/loss?{_window(at, 1)}" for at in hours[:ASKED_LONG]],
        "different_of_a_million": [f"/api/v1/different?{each}" for each in _millions(store, begins)],
        "connection_first_picture": _pictures(connections),
        "zoom_into_a_million_events": _zooms(store),
    }


@contextmanager
def _served(url: str) -> Iterator[str]:
    with subprocess.Popen([*SERVE, "--store", url, "--keep-events", "3650d"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise LabError(f"{url} cannot be served")
            yield json.loads(line)["url"]
        finally:
            process.terminate()


def _took(address: str, paths: Sequence[str]) -> Row:
    times = []
    size = 0
    for path in paths:
        begun = time.perf_counter()
        with urllib.request.urlopen(address + path, timeout=120) as answer:
            size = len(answer.read())
        times.append((time.perf_counter() - begun) * 1e3)
    times.sort()
    return {
        "asked": len(times),
        "p50_ms": round(times[len(times) // 2], 1),
        "p95_ms": round(times[min(len(times) - 1, int(len(times) * 0.95))], 1),
        "answer_bytes": size,
    }


def _requests(store: Store) -> list[str]:
    sql = (
        "SELECT request_id FROM requests WHERE link != 'none' AND toDate(started_hour) = {day:Date}"
        " ORDER BY cityHash64(request_id) LIMIT {limit:UInt32} SETTINGS max_rows_to_read = 0"
    )
    return [str(row[0]) for row in store.query(sql, {"day": TODAY, "limit": ASKED}).rows]


def _connections(store: Store) -> list[tuple[str, int]]:
    sql = (
        "SELECT connection_id, events_seen FROM connections WHERE vantage = 'server' AND connection_id IN "
        "(SELECT DISTINCT connection_id FROM events WHERE seq = 0) ORDER BY cityHash64(connection_id) "
        "LIMIT {limit:UInt32}"
    )
    return [(str(name), int(events)) for name, events in store.query(sql, {"limit": 20}).rows]


def _window(since: datetime, hours: float) -> str:
    until = since + timedelta(hours=hours)
    return urllib.parse.urlencode({"since": f"{since:%Y-%m-%dT%H:%M:%SZ}", "until": f"{until:%Y-%m-%dT%H:%M:%SZ}"})


def _millions(store: Store, begins: datetime) -> list[str]:
    """Windows that begin with the day and have about a million requests, none like the other."""
    sql = "SELECT count() FROM requests WHERE toDate(started_hour) = {day:Date}"
    today = int(store.query(sql, {"day": TODAY}).one()[0])
    hours = 24 * min(1.0, A_DAY / today)
    return [_window(begins + timedelta(seconds=at), hours) for at in range(3)]


def _pictures(connections: Sequence[tuple[str, int]]) -> list[str]:
    return [f"/api/v1/connections/{name}/series" for name, _ in connections]


def _zooms(store: Store) -> list[str]:
    """The whole of the long connection, then ever less of it: each time a half, at another place."""
    sql = "SELECT max(time_us), count() FROM events WHERE connection_id = {long:String}"
    duration_us, events = store.query(sql, {"long": LONG}).one()
    if events < LONG_EVENTS:
        raise CannotTryError("the store has no long connection")
    lengths = [duration_us >> times for times in range(ZOOMS)]
    return [
        f"/api/v1/connections/{LONG}/series?from_us={(duration_us - length) * place // 4}"
        f"&to_us={(duration_us - length) * place // 4 + length}"
        for length in lengths
        for place in range(5)
    ]


def _path(name: str) -> str:
    return urllib.parse.quote(name)


class _Watched:
    """A store that compares what each query reads with what it may: a hundred times what it gives, and two granules of
    each part."""

    def __init__(self, store: Store) -> None:
        self._store = store
        sql = "SELECT max(parts) FROM (SELECT count() AS parts FROM system.parts WHERE active GROUP BY table)"
        self.parts = int(store.query(sql).one()[0])
        self.read_most, self.share_of_bound = 0, 0.0

    def query(self, *words: Any, **more: Any) -> Result:
        found = self._store.query(*words, **more)
        bound = 100 * len(found.rows) + 2 * GRANULE * self.parts
        self.read_most = max(self.read_most, found.read_rows)
        self.share_of_bound = max(self.share_of_bound, found.read_rows / bound)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def _reads(store: Store, requests: Sequence[str], connections: Sequence[tuple[str, int]]) -> Row:
    from quiclens_questions.connection_page import streams, traces
    from quiclens_questions.explain import explain

    watched: Any = _Watched(store)
    for request in requests:
        explain(watched, request)
    for name, _ in connections:
        for trace in traces(watched, name):
            streams(watched, trace)
    share = round(watched.share_of_bound, 3)
    return {"most": watched.read_most, "parts": watched.parts, "share_of_bound": share}
