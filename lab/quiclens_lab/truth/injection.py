"""Table of injected causes: is the largest part the cause that was injected? And nothing injected: is nothing found?"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from quiclens_lab.truth.quantiles import share_of
from quiclens_lab.truth.samples import Judged, Row

CLEAN = "clean"
INNOCENT = ("network", "queueing", "server_think")
MISSING = "no row"


def top_of(each: Judged) -> str:
    """The cause that quiclens would name first."""
    row = each.row
    return MISSING if row is None or not row.is_complete else row.top


def injected(judged: Iterable[Judged]) -> list[Judged]:
    """The runs of scenarios that have a cause in them."""
    return [
        each
        for each in judged
        if each.sample.group == "scenario" and each.sample.variant == "with" and each.sample.scenario != CLEAN
    ]


def is_right(each: Judged) -> bool:
    return top_of(each) == each.sample.cause


def injection_table(judged: Iterable[Judged]) -> dict[str, Any]:
    """Share right per stack, scenario and vantage and overall, with the confusion of causes."""
    runs = injected(judged)
    scenarios = []
    for stack, scenario, vantage in dict.fromkeys(map(_place, runs)):
        own = [each for each in runs if _place(each) == (stack, scenario, vantage)]
        scenarios.append(
            {
                "stack": stack,
                "scenario": scenario,
                "cause": own[0].sample.cause,
                "vantage": vantage,
                "runs": len(own),
                "share_right": share_of(sum(map(is_right, own)), len(own)),
                "lead": _lead(own),
                "named": dict(Counter(map(top_of, own)).most_common()),
            }
        )
    confusion: dict[str, Counter[str]] = {}
    for each in runs:
        confusion.setdefault(each.sample.cause, Counter())[top_of(each)] += 1
    return {
        "runs": len(runs),
        "share_right": share_of(sum(map(is_right, runs)), len(runs)),
        "causes": len(confusion),
        "scenarios": scenarios,
        "confusion": {cause: dict(named.most_common()) for cause, named in sorted(confusion.items())},
    }


def _place(each: Judged) -> tuple[str, str, str]:
    return (each.sample.stack, each.sample.scenario, each.sample.vantage)


def _lead(runs: Sequence[Judged]) -> float | None:
    """The injected cause's part minus the largest other one, as a share of the time, in the middle run."""
    leads = []
    for each in runs:
        row = each.row
        if row is not None and row.duration_us > 0:
            others = max(part for cause, part in row.parts.items() if cause != each.sample.cause)
            leads.append((row.parts[each.sample.cause] - others) / row.duration_us)
    return round(sorted(leads)[len(leads) // 2], 4) if leads else None


def nothing_table(judged: Iterable[Judged]) -> dict[str, Any]:
    """How much of the time of clean runs goes to causes that were not there."""
    runs = [each for each in judged if each.sample.group == "scenario" and each.sample.scenario == CLEAN]
    rows = [each.row for each in runs if each.row is not None and each.sample.variant == "with"]
    time_us = sum(row.duration_us for row in rows)
    blamed = Counter[str]()
    for row in rows:
        blamed.update({cause: part for cause, part in row.parts.items() if cause not in INNOCENT})
    return {
        "runs": len(runs),
        "missing": len(runs) - len(rows),
        "share_of_other_causes": share_of(sum(blamed.values()), time_us),
        "worst_run": max(map(_share_blamed, rows), default=None),
        "causes": {cause: share_of(part, time_us) for cause, part in blamed.most_common() if part},
    }


def _share_blamed(row: Row) -> float:
    blamed = sum(part for cause, part in row.parts.items() if cause not in INNOCENT)
    return round(blamed / max(row.duration_us, 1), 4)
