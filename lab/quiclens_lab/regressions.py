"""`quiclens-lab watch`: is a cell that became slower found in five minutes, and how much of what is found is chance?

The product's own statement judges windows of drawn counts (regressions_drawn.py), then an hour of real rows is rolled
up and asked as users ask (regressions_rows.py).
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterable
from random import Random
from statistics import fmean
from typing import Any

from quiclens_questions.statements import sql
from quiclens_questions.watch import JUDGED, RATE
from quiclens_schema import store as stores
from quiclens_schema.store import Store

from quiclens_lab.machine import commit, kept_folder, machine
from quiclens_lab.regressions_drawn import KINDS, REGRESSED, ChangeKind, Drawn, draw
from quiclens_lab.regressions_rows import hour

FOUND_BAR = 0.95  # of the windows in which every request of the cell takes twice as long
_TABLE = """
CREATE TABLE IF NOT EXISTS drawn
(
    pool Array(String), cells UInt64, requests UInt64, traced UInt64, weight Float64,
    samples UInt64, samples_before UInt64, rank UInt64, bucket UInt16, beyond UInt64, beyond_before UInt64,
    p99_bucket UInt16, p99_bucket_before UInt16, scatter Float64, scatter_alone Float64
)
ENGINE = Memory
"""
_COLUMNS = "pool, cells, samples, samples_before, rank, beyond, beyond_before, scatter, scatter_alone"

Row = dict[str, Any]


def watch(runs: int, seed: int, rows: int, keep: bool, progress: Callable[[int, int], None]) -> Row:
    """So many windows of each kind, and an hour of so many rows (0: none)."""
    with tempfile.TemporaryDirectory(prefix="quiclens-watch-") as name, stores.open(f"chdb:{name}/store") as store:
        store.command(_TABLE)
        windows: list[Row] = []
        for kind in KINDS:
            progress(len(windows), len(KINDS))
            windows.append(judged(store, kind, runs, seed))
        document: Row = {"machine": machine(), "commit": commit(), "runs": runs, "seed": seed, "windows": windows}
        if rows:
            document["hour"] = hour(store, rows)
    document["passes"] = _passes(windows) and (not rows or document["hour"]["passes"])
    if keep:
        (kept_folder("truth-runs") / "watch.json").write_text(json.dumps(document, indent=1, default=str) + "\n")
    return document


def judged(store: Store, kind: ChangeKind, runs: int, seed: int) -> Row:
    """Windows of one kind: how often the changed cell is found, and the mean share of what is found that is chance."""
    changed = [str(rank) for rank in REGRESSED]
    began, tested, shares, hits, false, dispersions = time.monotonic(), [], [], 0, 0, []
    for run in range(runs):
        cells = _asked(store, draw(Random(f"{seed} {kind.name} {run}"), kind))
        found = [cell["pool"] for cell in cells if cell["is_found"]]
        wrong = sum(not kind.change or pool[::2] != changed for pool in found)
        tested.append(sum(cell["is_tested"] for cell in cells))
        dispersions.append(cells[0]["dispersion"])
        shares.append(wrong / max(len(found), 1))
        hits += len(found) > wrong
        false += wrong
    return {
        "kind": kind.name,
        "change": kind.change,
        "alike": kind.alike,
        "tested": round(fmean(tested)),
        "dispersion": round(fmean(dispersions), 3),
        "found_share": hits / runs if kind.change else None,
        "false_discoveries": false,
        "false_discovery_share": round(fmean(shares), 4),
        "windows_with_false": sum(share > 0 for share in shares) / runs,
        "seconds": round(time.monotonic() - began, 1),
    }


def _asked(store: Store, cells: Iterable[Drawn]) -> list[Row]:
    """The product's statement over drawn counts, in the place of those that it would have counted."""
    store.command("TRUNCATE TABLE drawn")
    lines = "\n".join(_line(cell) for cell in cells)
    store.command(f"INSERT INTO drawn ({_COLUMNS}) FORMAT TSV\n{lines}")
    text = sql("watch").replace(f"(\n{sql('regression_counts')}\n)", "drawn")
    return store.query(text, JUDGED).dicts()


def _line(cell: Drawn) -> str:
    pool = "[" + ",".join(f"'{part}'" for part in cell.key) + "]"
    counts = (cell.samples, cell.samples_before, cell.rank, cell.beyond, cell.beyond_before)
    return "\t".join(map(str, (pool, 1, *counts, cell.scatter, cell.scatter_alone)))


def _passes(windows: Iterable[Row]) -> bool:
    """At most 5 % of what is found is chance, of each kind; where every request takes twice as long, it is found."""
    return all(
        each["false_discovery_share"] <= RATE and (each["kind"] != "twice" or each["found_share"] >= FOUND_BAR)
        for each in windows
    )
