"""Figures that a document takes from a kept run are those of that run."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_your_own_tables_figures_are_those_of_the_kept_run() -> None:
    page = (ROOT / "deploy" / "docs" / "your-own-table.md").read_text(encoding="utf-8")
    (measured,) = [line for line in page.splitlines() if line.startswith("Measured: ")]
    kept = "lab/bench-runs/2026-11-25-x86_64-2-cores/link.json"
    run = json.loads((ROOT / kept).read_text(encoding="utf-8"))
    assert f"`{kept}`" in measured and run["passes"] and "+" not in run["commit"]
    requests, rows, seconds = run["requests"], run["foreign_rows"], run["table"]["seconds"]
    assert f"a table of {rows:,} rows, {requests:,} of them with a trace" in measured
    assert run["table"]["found"] == 1 and f"all {requests:,} found their stream" in measured
    assert run["table"]["wrong"] == 0 and "none another's" in measured
    assert f"{round(seconds, -1):.0f} s to read and link all" in measured
    assert f"--foreign-rows {rows}`" in measured
