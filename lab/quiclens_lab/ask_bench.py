"""`quiclens-lab ask-bench`: how long people wait for answers about a large store, and how many rows each looks at.

The store is served by a process of its own and asked over HTTP, one question after another, as a browser does. Each
question is asked of other requests and connections every time, so that none is answered from memory.
"""

import json
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from quiclens_schema import store as stores
from quiclens_schema.store import Result, Store

from quiclens_lab.amplify import LONG, LONG_EVENTS
from quiclens_lab.errors import CannotTryError, LabError
from quiclens_lab.machine import commit, keep_document, machine

ASKED = 100  # of the short questions
ASKED_LONG = 5
ZOOMS = 8  # halvings: eight thousand events are left of a million
GRANULE = 8192
SERVE = [sys.executable, "-m", "quiclens_command_line", "serve", "--listen", "127.0.0.1:0", "--json"]

# The bars, in milliseconds. `p95` of short questions, the slowest of the long ones.
BARS = {"explain": 150, "slow_of_an_hour": 300, "tails_by_carrier_of_a_day": 1_000, "different_of_a_million": 5_000,
        "connection_first_picture": 1_000, "zoom_into_a_million_events": 1_000}  # fmt: skip

Row = dict[str, Any]


def ask_bench(url: str, keep: bool) -> Row:
    """Ask, and say how long it took; `passes` where every bar is kept."""
    with _served(url) as address, stores.open(address) as store:
        rows = {table: _count(store, table) for table in ("requests", "connections", "streams", "events")}
        if not rows["requests"] or not rows["events"]:
            raise CannotTryError(f"{url} is empty: quiclens demo, then quiclens-lab amplify")
        requests, connections = _requests(store), _connections(store)
        hours = _hours(store)
        took = {
            "explain": _took(address, [f"/api/v1/requests/{_path(each)}" for each in requests]),
            "slow_of_an_hour": _took(address, [f"/api/v1/requests?{_window(at, 1)}" for at in hours[:ASKED_LONG]]),
            "tails_by_carrier_of_a_day": _took(address, [f"/api/v1/over-time?by=carrier&{_window(hours[0], 24)}"] * 3),
            "causes_of_a_day": _took(address, [f"/api/v1/spent-over-time?{_window(hours[0], 24)}"] * 3),
            "different_of_a_million": _took(address, [_million(rows["requests"], hours)] * 3),
            "connection_first_picture": _took(address, _pictures(connections)),
            "zoom_into_a_million_events": _took(address, _zooms(store)),
        }
        reads = _reads(store, requests[:20], connections[:20])
    bars: list[Row] = [
        {"says": name, "ms": took[name]["p95_ms"], "most_ms": most, "kept": took[name]["p95_ms"] <= most}
        for name, most in BARS.items()
    ]
    bars.append({"says": "rows read by questions about one connection", **reads})
    document: Row = {"machine": machine(), "commit": commit(), "rows": rows, "took": took, "bars": bars}
    document["passes"] = all(bar["kept"] for bar in bars)
    if keep:
        keep_document("bench-runs", "ask", document)
    return document


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
        "SELECT request_id FROM requests WHERE link != 'none' ORDER BY cityHash64(request_id) LIMIT {limit:UInt32}"
        " SETTINGS max_rows_to_read = 0"
    )
    return [str(row[0]) for row in store.query(sql, {"limit": ASKED}).rows]


def _connections(store: Store) -> list[tuple[str, int]]:
    sql = (
        "SELECT connection_id, events_seen FROM connections WHERE vantage = 'server' AND connection_id IN "
        "(SELECT DISTINCT connection_id FROM events WHERE seq = 0) ORDER BY cityHash64(connection_id) "
        "LIMIT {limit:UInt32}"
    )
    return [(str(name), int(events)) for name, events in store.query(sql, {"limit": 20}).rows]


def _hours(store: Store) -> list[datetime]:
    sql = "SELECT DISTINCT started_hour FROM requests ORDER BY started_hour LIMIT 24"
    return [row[0] for row in store.query(sql).rows]


def _window(since: datetime, hours: float) -> str:
    until = since + timedelta(hours=hours)
    return urllib.parse.urlencode({"since": f"{since:%Y-%m-%dT%H:%M:%SZ}", "until": f"{until:%Y-%m-%dT%H:%M:%SZ}"})


def _million(requests: int, hours: Sequence[datetime]) -> str:
    """A window with about a million requests."""
    share = min(1.0, 1_000_000 / requests)
    return f"/api/v1/different?{_window(hours[0], max(1, round(share * len(hours))))}"


def _pictures(connections: Sequence[tuple[str, int]]) -> list[str]:
    return [f"/api/v1/connections/{name}/series" for name, _ in connections]


def _zooms(store: Store) -> list[str]:
    """The whole of the long connection, then ever less of it: each time a half, at another place."""
    sql = "SELECT max(time_us), count() FROM events WHERE connection_id = {long:String}"
    duration_us, events = store.query(sql, {"long": LONG}).one()
    if events < LONG_EVENTS:
        raise CannotTryError("the store has no long connection: quiclens-lab amplify")
    lengths = [duration_us >> times for times in range(ZOOMS)]
    return [
        f"/api/v1/connections/{LONG}/series?from_us={(duration_us - length) * place // 4}"
        f"&to_us={(duration_us - length) * place // 4 + length}"
        for length in lengths
        for place in range(5)
    ]


def _path(name: str) -> str:
    return urllib.parse.quote(name)


def _count(store: Store, table: str) -> int:
    return int(store.query(f"SELECT count() FROM {table}").one()[0])


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
    return {"rows_most": watched.read_most, "parts": watched.parts, "share_of_bound": share, "kept": share <= 1}
