"""`quiclens-lab truth`: simulate, judge, compare, and say which bars are kept."""

import argparse
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from quiclens_lab import progress
from quiclens_lab.errors import CannotTryError
from quiclens_lab.machine import collector_binary, commit, kept_folder, machine
from quiclens_lab.scenarios import SCENARIOS
from quiclens_lab.truth import report
from quiclens_lab.truth.bars import bars_of
from quiclens_lab.truth.cells import Cell, cells, judged_cells
from quiclens_lab.truth.collector import frozen, identity
from quiclens_lab.truth.consistency import consistency_table
from quiclens_lab.truth.injection import decisive_table, injection_table
from quiclens_lab.truth.job_lists import STACK, USUAL, population_jobs, scenario_jobs, three_jobs
from quiclens_lab.truth.kept_runs import KeptRuns
from quiclens_lab.truth.nothing import CLEAN, nothing_table
from quiclens_lab.truth.options import FINAL_CHECK
from quiclens_lab.truth.order import order_table
from quiclens_lab.truth.other_stacks import judged_folder
from quiclens_lab.truth.percentiles import percentiles_table
from quiclens_lab.truth.runs import judged_runs
from quiclens_lab.truth.samples import Job, Judged
from quiclens_lab.truth.savings import counterfactual_table, write_errors
from quiclens_lab.truth.sets import sets_table
from quiclens_lab.truth.worst import worst

FINAL_SLACK = 0.03
"""By so much what is kept for the final check may miss a bar."""

TABLES: dict[str, Callable[[Sequence[Judged]], dict[str, Any]]] = {
    "injection": injection_table,
    "decisive": decisive_table,
    "sets": sets_table,
    "nothing": nothing_table,
    "counterfactual": counterfactual_table,
    "order": order_table,
    "p99": percentiles_table,
}


def wanted_tables(options: argparse.Namespace) -> list[str]:
    """The tables to make: those asked for, else all that the chosen runs can fill."""
    if options.only:
        return list(options.only)
    only_scenarios = options.scenario or options.logs_only or _is_final(options)
    return [name for name in TABLES if not (only_scenarios and name in ("order", "p99"))]


def _is_final(options: argparse.Namespace) -> bool:
    return bool(options.stacks == FINAL_CHECK)


def jobs_for(tables: Collection[str], names: Collection[str] | None, seeds: int) -> Iterator[Job]:
    """What has to be simulated for these tables."""
    scenarios = [each for each in SCENARIOS if not names or each.name in names]
    if not {"injection", "decisive", "sets", "counterfactual"} & set(tables):
        scenarios = [each for each in scenarios if each.name == CLEAN and "nothing" in tables]
    yield from scenario_jobs(
        scenarios, range(1, seeds + 1), with_comparison=bool({"decisive", "counterfactual"} & set(tables))
    )
    if "order" in tables:
        yield from three_jobs(seeds)
    if "p99" in tables:
        yield from population_jobs(seeds)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Do a truth run and return its document."""
    if options.errors and _is_final(options):
        raise CannotTryError("--errors writes what development found: not with --stacks final-check, which judges it")
    started = time.monotonic()
    names = wanted_tables(options)
    jobs = [] if options.logs_only or _is_final(options) else list(jobs_for(names, options.scenario, options.seeds))
    with frozen(collector_binary()) as collector:
        judge = {"path": str(collector_binary()), "sha256": identity(collector)}
        kept = KeptRuns(options.resume, judge["sha256"])
        judged = judged_runs(jobs, collector, options.jobs, progress.show, kept)
        judged += judged_cells(_cells(options), collector, options.jobs, progress.show, kept)
        for folder in options.logs:
            judged += judged_folder(folder, collector, progress.show)
    document = {"collector": judge, **_document(judged, names, FINAL_SLACK if _is_final(options) else 0.0)}
    document["worst"] = worst(judged, options.worst) if options.worst else None
    document |= {"seeds": options.seeds, "runs": len(judged), "seconds": round(time.monotonic() - started, 1)}
    _write(options, judged, document)
    return document


def _cells(options: argparse.Namespace) -> list[Cell]:
    """The cells to run, but for the one that the lab's own scenarios are already."""
    if options.stacks is None:
        return []
    own = (STACK, USUAL.controller, USUAL.script, ())
    chosen = cells(_is_final(options), options.stack_seeds, options.stack, options.script)
    return [
        each
        for each in chosen
        if options.logs_only or (each.stack, each.controller, each.script, each.scenarios) != own
    ]


def _document(judged: Sequence[Judged], names: Sequence[str], slack: float) -> dict[str, Any]:
    tables = {name: TABLES[name](judged) for name in names}
    tables["consistency"] = consistency_table(judged)
    bars = bars_of(tables, slack)
    return {
        "commit": commit(),
        "machine": machine(),
        "passes": all(bar.is_kept for bar in bars),
        "bars": [bar.as_json() for bar in bars],
        "tables": tables,
    }


def _write(options: argparse.Namespace, judged: Sequence[Judged], document: dict[str, Any]) -> None:
    folders = [options.out] if options.out else []
    if options.keep:
        folders.append(kept_folder("truth-runs"))
    for folder in folders:
        report.write(document, folder, "final-check" if _is_final(options) else "truth")
    if options.errors:
        write_errors(judged, options.errors)
