"""The bench: rounds of linking in a full store and in an empty one, and ten minutes at a steady rate."""

import os
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from statistics import median
from typing import Any

from prometheus_client import CollectorRegistry
from quiclens_ingest.link import link_since
from quiclens_ingest.linking import Linker, remember_all
from quiclens_ingest.mark import mark
from quiclens_ingest.metrics import LinkMetrics
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store

from quiclens_lab.filled_store import filled_store
from quiclens_lab.freshness.processor import resident_mib
from quiclens_lab.judgement import Judgement
from quiclens_lab.link_bench.days import SOURCES, fill
from quiclens_lab.link_bench.rows import REQUESTS_EACH, Rows
from quiclens_lab.machine import LAB
from quiclens_lab.progress import say
from quiclens_lab.resting import rest

MADE = LAB.parent / ".made" / "link-bench"
TODAY = date(2026, 3, 4)
ROUND_REQUESTS = 3_000
ROUNDS = 12
TIMES_EMPTY = 1.5
"""What a round costs in the full store, against the empty one."""
ROUND_S = 1.0
FRESH_S = 5.0
"""p99, from the insert of a second's requests until all of them are linked."""
MORE_MIB = 2048.0
"""Memory of the process, engine included, more than before the steady rate."""
ASKED = (30, 1_000_000, 600, 3000)
"""Of the bar: days in the store, requests in each, then seconds with so many requests in each."""
_ASKED_AGAIN_S = 0.1
_PATIENCE_S = 120.0


def link_bench(days: int, a_day: int, seconds: int, rate: int, keep: bool) -> dict[str, Any]:
    """Fill a store with so many days of so many requests, linked (kept for the next run), and measure both."""
    bars = {"times_empty": TIMES_EMPTY, "round_s": ROUND_S, "fresh_p99_s": FRESH_S, "more_mib": MORE_MIB}
    judgement = Judgement("link_bench", {"days": days, "a_day": a_day, "seconds": seconds, "rate": rate, "bars": bars})
    asked = {"days": days, "requests a day": a_day, "seconds": seconds, "requests a second": rate}
    for (what, has), wanted in zip(asked.items(), ASKED, strict=True):
        judgement.least(what, wanted, has)
    with judgement.stage("fill"):
        full = _filled(days, a_day)
    with judgement.stage("rounds"):
        took: dict[str, list[float]] = {"empty": [], "full": []}
        with tempfile.TemporaryDirectory(prefix="quiclens-bench-") as folder, stores.open(f"chdb:{folder}/s") as store:
            migrate(store)
            took["empty"] = _rounds(store)
        with stores.open(f"chdb:{full}") as store:
            _without_today(store)
            took["full"] = _rounds(store)
            judgement.found["round_s"] = {name: round(median(each), 3) for name, each in took.items()}
            judgement.found["rounds_s"] = took
            times = median(took["full"]) / median(took["empty"])
            judgement.found["times_empty"] = round(times, 3)
            say(f"link-bench: a round of {ROUND_REQUESTS:,}: {judgement.found['round_s']}, {times:.2f} times")
            judgement.want(times <= TIMES_EMPTY, f"a round costs {times:.2f} times what it costs in an empty store")
            judgement.want(
                median(took["full"]) <= ROUND_S, f"a round of {ROUND_REQUESTS:,} took {median(took['full']):.2f} s"
            )
            if seconds:
                judgement.found["steady"] = _steady(store, seconds, rate, judgement)
    return judgement.document(keep)


@dataclass(frozen=True, slots=True)
class _Batch:
    """The requests of one second, by the last of them, and when all were inserted."""

    request_id: str
    minute: datetime
    inserted: float


def _filled(days: int, a_day: int) -> Path:
    """A store of so many days before today, linked; made once for what its rows and its tables are."""

    def make(place: Path) -> None:
        with stores.open(f"chdb:{place / 'store'}") as store:
            migrate(store)
            fill(store, TODAY, days, a_day)

    return filled_store(MADE, f"{days}x{a_day}", SOURCES, make)


def _without_today(store: Store) -> None:
    """Drop what an earlier run left."""
    sources = ("connections", "connection_aliases", "streams", "request_lines")
    for table in (*sources, "request_versions", "rollup_versions", "dimension_versions"):
        store.command(f"ALTER TABLE {table} DROP PARTITION '{TODAY}'")
    remember_all(store)
    rest(store, say)


def _rounds(store: Store) -> list[float]:
    """Seconds of each round, what is counted of its requests included; a first one is not measured."""
    took = []
    known = mark(store)
    for number in range(ROUNDS + 1):
        Rows(TODAY, ROUND_REQUESTS // REQUESTS_EACH, 1_000 + number, 36_000.0 + number).insert(store)
        here = mark(store)
        begun = time.perf_counter()
        linked = link_since(store, known)
        took.append(round(time.perf_counter() - begun, 3))
        known = here
        assert linked.requests == ROUND_REQUESTS, linked
    return took[1:]


def _steady(store: Store, seconds: int, rate: int, judgement: Judgement) -> dict[str, Any]:
    """Insert so many requests each second, while a linker runs as in `quiclens serve`."""
    remember_all(store)
    at_rest = peak = resident_mib(os.getpid())
    linker = Linker(store, 2.0, 15.0, LinkMetrics("bench_", CollectorRegistry()))
    waiting: dict[int, _Batch] = {}
    fresh: list[float] = []
    lock = threading.Lock()
    is_over = threading.Event()

    def write() -> None:
        begun = time.monotonic()
        for number in range(seconds):
            time.sleep(max(0.0, begun + number - time.monotonic()))
            rows = Rows(TODAY, rate // REQUESTS_EACH, 10_000 + number, 43_200.0 + number)
            rows.insert(store)
            inserted = time.monotonic()
            batch = _Batch(*rows.last_request(store), inserted)
            with lock:
                waiting[number] = batch
        is_over.set()

    linker.lead(True)
    cpu_before = time.process_time()
    writer = threading.Thread(target=write)
    writer.start()
    until = time.monotonic() + seconds + _PATIENCE_S
    next_told = time.monotonic() + 30
    while (not is_over.is_set() or waiting) and time.monotonic() < until:
        with lock:
            now = dict(waiting)
        done = _linked(store, now)
        seen_at = time.monotonic()
        with lock:
            fresh += [seen_at - waiting.pop(number).inserted for number in done]
        time.sleep(_ASKED_AGAIN_S)
        peak = max(peak, resident_mib(os.getpid()))
        if time.monotonic() > next_told:
            next_told += 30
            say(f"link-bench: {len(fresh)} s linked, last after {fresh[-1] if fresh else 0:.1f} s, {peak:.0f} MiB")
    writer.join()
    cpu_s = time.process_time() - cpu_before
    linker.close()
    fresh.sort()
    p99 = fresh[int(len(fresh) * 0.99)] if fresh else float("inf")
    never = len(waiting)
    more = peak - at_rest
    judgement.want(not never, f"{never} seconds' requests were never linked")
    judgement.want(p99 <= FRESH_S, f"p99 of freshness is {p99:.1f} s")
    judgement.want(more <= MORE_MIB, f"the process took {more:.0f} MiB more than at rest")
    return {
        "fresh_s": {"p50": round(median(fresh), 2), "p99": round(p99, 2), "max": round(fresh[-1], 2)} if fresh else {},
        "never_linked": never,
        "cpu_s_per_million": round(cpu_s * 1e6 / (seconds * rate), 1),
        "at_rest_mib": round(at_rest),
        "peak_mib": round(peak),
    }


def _linked(store: Store, waiting: Mapping[int, _Batch]) -> list[int]:
    """Which of the seconds that wait can be seen linked, by the last request of each: found by the table's key, so that
    asking does not hold linking up."""
    if not waiting:
        return []
    minutes = sorted({batch.minute for batch in waiting.values()})
    found = store.query(
        "SELECT request_id FROM request_versions FINAL"
        " WHERE started_hour IN {hours:Array(DateTime('UTC'))} AND started_minute IN {minutes:Array(DateTime('UTC'))}"
        " AND request_id IN {ids:Array(String)} AND link = 'id'",
        {
            "hours": sorted({minute.replace(minute=0, tzinfo=None) for minute in minutes}),
            "minutes": [minute.replace(tzinfo=None) for minute in minutes],
            "ids": [batch.request_id for batch in waiting.values()],
        },
    )
    seen = {request_id for (request_id,) in found.rows}
    return [number for number, batch in waiting.items() if batch.request_id in seen]
