"""`quiclens-lab watch`: is a cell that became worse found in five minutes, and how many reports of a week are chance?

The product's own statement judges drawn windows (watch_drawn.py): a week in which nothing changes, of a service
that is uneven; and windows of an even one, in which each of twenty kinds of change (watch_kinds.py) is planted in
a cell of its own. Planted cells are judged at once, and each is found only if the statement would find it were it the
only one. Then an hour of real rows is rolled up and asked as users ask (watch_rows.py). What was judged is kept
in `.made/watch`; a run that was ended goes on from there.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
from quiclens_questions.statements import sql
from quiclens_questions.watch import RATE, judged, level
from quiclens_schema import store as stores
from quiclens_schema.store import Store

from quiclens_lab import machine
from quiclens_lab.judgement import Judgement
from quiclens_lab.kept import RunLines
from quiclens_lab.watch_drawn import (
    PER_SECOND,
    PLANTED,
    SIGMAS,
    STRETCHES,
    WINDOW_S,
    Cells,
    DrawnWindow,
    Week,
    cells,
    changed,
    columns,
    planted_durations,
)
from quiclens_lab.watch_kinds import KINDS, ChangeKind, most, needed
from quiclens_lab.watch_rows import hour

RUNS, WINDOWS, ROWS = 200, 2016, 10_800_000  # that the bar asks for
FALSE_AT_MOST = 1  # reports in a week of nothing
TABLE = """
CREATE OR REPLACE TABLE drawn
(
    pool Array(String), requests UInt64, edges Array(UInt16), of Array(Float64), of_before Array(Float64),
    hits Array(Float64), hits_before Array(Float64), scatter Array(Float64), scatter_alone Array(Float64),
    cells UInt64 DEFAULT 1, traced UInt64 DEFAULT 0, weight Float64 DEFAULT requests,
    p99_bucket UInt16 DEFAULT 0, p99_bucket_before UInt16 DEFAULT 0
)
ENGINE = Memory
"""

Row = dict[str, Any]


def watch(runs: int, windows: int, seed: int, rows: int, keep: bool, progress: Callable[[int, int], None]) -> Row:
    """A week of so many windows, so many in which each kind is planted, and an hour of so many rows (0: none)."""
    made = machine.LAB.parent / ".made" / "watch"
    with tempfile.TemporaryDirectory(prefix="quiclens-watch-") as name, stores.open(f"chdb:{name}/store") as store:
        found: dict[str, list[Row]] = {"planted": [], "nothing": []}
        code = _code()
        parts = {
            "planted": (runs, planted_windows(runs, seed)),
            "nothing": (windows, windows_of_nothing(windows, seed)),
        }
        for part, (count, questions) in parts.items():
            kept = RunLines(made, f"{code}-{seed}-{part}.jsonl", dict[str, Any])
            found[part] = list(islice(kept.read(), count))
            # Each window is drawn after the one before, but only where one of them is still to be judged.
            left = islice(questions, len(found[part]), None) if len(found[part]) < count else ()
            for question in left:
                answer = question(store)
                kept.add(answer)
                found[part].append(answer)
                progress(sum(map(len, found.values())), runs + windows)
        figures = summed(**found)
        missed = figures.pop("missed")
        judgement = Judgement("watch", {"runs": runs, "windows": windows, "seed": seed, **figures})
        for what, has, wanted in (("runs", runs, RUNS), ("windows", windows, WINDOWS), ("rows of an hour", rows, ROWS)):
            judgement.least(what, wanted, has)
        for what in missed:
            judgement.miss(what)
        if rows:
            judgement.found["hour"] = hour(store, rows)
            judgement.want(judgement.found["hour"]["passes"], "the hour of real rows")
    return judgement.document(keep)


def _code() -> str:
    """A short hash of what draws and what judges."""
    tree = machine.LAB.parent
    files = [tree / "lab/quiclens_lab" / f"watch_{name}.py" for name in ("drawn", "kinds")]
    files.append(tree / "api/questions/quiclens_questions/queries/watch.sql")
    return machine.hash_of(tree, files)


def windows_of_nothing(windows: int, seed: int) -> Iterator[Callable[[Store], Row]]:
    """Of each window of the week, which reports there are, all of them false."""
    service = cells(is_uneven=True)
    for window in Week(service, seed).windows(windows):
        yield lambda store, window=window: _nothing(asked(store, service, window))  # type: ignore[misc]


def _nothing(rows: list[Row]) -> Row:
    counts = {"tested": rows[0]["cells_tested"], "tests": rows[0]["tests"]}
    return {**counts, "false": [_told(each) for each in rows if each["is_found"]]}


def planted_windows(runs: int, seed: int) -> Iterator[Callable[[Store], Row]]:
    """Of each window in which all kinds are planted, which of them are found. Kinds whose requests are alike are judged
    apart, so that their cells do not change the dispersion of all."""
    service = cells(KINDS)
    first = len(service.keys) - len(KINDS) * len(SIGMAS)
    for run, window in enumerate(Week(service, seed).windows(runs)):
        places = [first + kind * len(SIGMAS) + run % len(SIGMAS) for kind in range(len(KINDS))]
        yield (
            lambda store, run=run, window=window, places=places: (
                _planted(  # type: ignore[misc]
                    store, service, window, places, np.random.default_rng([seed, run]), first
                )
                | {"sigma": SIGMAS[run % len(SIGMAS)]}
            )
        )


def _planted(
    store: Store, service: Cells, window: DrawnWindow, places: list[int], random: np.random.Generator, first: int
) -> Row:
    changes = [changed(random, kind, service, place, window.swing) for kind, place in zip(KINDS, places, strict=True)]
    now = window.now.with_others(places, changes)
    alone: dict[tuple[str, ...], Row] = {}
    for cluster in sorted({kind.cluster for kind in KINDS}):
        of_kinds = [place for place, kind in zip(places, KINDS, strict=True) if kind.cluster == cluster]
        kept = np.array([*range(first), *of_kinds])
        rows = asked(store, service.only(kept), window.only(kept, now))
        alone |= {
            (*each["pool"], each["measure"]): each for each in rows if each["p"] * each["tests"] <= level(WINDOW_S)
        }
    told = [alone.pop((*service.keys[place], kind.measure), None) for place, kind in zip(places, KINDS, strict=True)]
    return {
        "tests": rows[0]["tests"],
        "found": [each is not None for each in told],
        "q": [each and each["p"] * each["tests"] for each in told],
        "false": [_told(each) for each in alone.values()],
    }


def _told(found: Mapping[str, Any]) -> Row:
    return {name: found[name] for name in ("pool", "measure", "k", "n", "x", "m", "dispersion", "p", "q")}


def asked(store: Store, service: Cells, window: DrawnWindow) -> list[Row]:
    """The product's statement over drawn counts, in the place of those that it would have counted."""
    store.command(TABLE)
    table = pa.table({name: _column(values) for name, values in columns(service, window).items()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    store.insert_drawn("drawn", table.column_names, sink.getvalue().to_pybytes(), table.num_rows)
    text = sql("watch").replace(f"(\n{sql('watch_counts')}\n)", f"(SELECT *, {STRETCHES} AS stretches FROM drawn)")
    return store.query(text, judged(WINDOW_S, 3)).dicts()


def _column(values: Any) -> pa.Array:
    if isinstance(values, list):
        return pa.array(values, pa.list_(pa.string()))
    if values.ndim == 1:
        return pa.array(values)
    offsets = np.arange(0, values.size + 1, values.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(offsets, values.ravel())


def summed(planted: list[Row], nothing: list[Row]) -> Row:
    """The figures of all windows, and what of the bar is missed."""
    false = [each for row in nothing for each in row["false"]]
    tests = round(fmean(row["tests"] for row in planted))
    chance = level(WINDOW_S) / tests
    service = cells(KINDS)
    kinds = [_kind(number, kind, planted, service, chance) for number, kind in enumerate(KINDS)]
    missed = [f"{each['kind']}: found in {each['found']:.1%}" for each in kinds if not each["passes"]]
    if len(false) > FALSE_AT_MOST:
        missed.append(f"{len(false)} false reports in {len(nothing)} windows of nothing")
    return {
        "tested": round(fmean(row["tested"] for row in nothing)),
        "tests": tests,
        "rate": RATE,
        "chance_of_one": chance,
        "false_reports": len(false),
        "false": false,
        "false_reports_beside_planted": sum(len(row["false"]) for row in planted),
        "kinds": kinds,
        "out_of_reach": [each["kind"] for each in kinds if each["is_out_of_reach"]],
        "missed": missed,
    }


def _kind(number: int, kind: ChangeKind, planted: list[Row], service: Cells, chance: float) -> Row:
    """How often a kind was found, beside what the best test can find; where that is less than asked, it is out of
    reach, and how many requests it takes is said."""
    found = fmean(row["found"][number] for row in planted)
    first = len(service.keys) - len(KINDS) * len(SIGMAS) + number * len(SIGMAS)
    of_cells = [planted_durations(service, first + place) for place in range(len(SIGMAS))]
    requests = PLANTED * PER_SECOND * WINDOW_S * (0.6 if kind.measure in ("handshake", "loss", "retransmission") else 1)
    best = fmean(most(kind, each, requests, chance) for each in of_cells)
    is_out_of_reach = best < kind.least
    return {
        "kind": kind.name,
        "measure": kind.measure,
        "found": round(found, 4),
        "least": kind.least,
        "best_test_finds": round(best, 4),
        "requests": round(requests),
        "requests_needed": max(needed(kind, each, chance) for each in of_cells),
        "found_by_sigma": {
            str(sigma): round(fmean(row["found"][number] for row in planted if row["sigma"] == sigma), 3)
            for sigma in SIGMAS
            if any(row["sigma"] == sigma for row in planted)
        },
        "is_out_of_reach": is_out_of_reach,
        "passes": is_out_of_reach or found >= kind.least,
    }
