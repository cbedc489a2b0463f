"""Table of injected causes: is the largest part the cause that was injected?"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from quiclens_lab.truth.nothing import is_clean
from quiclens_lab.truth.quantiles import share_of
from quiclens_lab.truth.samples import Judged
from quiclens_lab.truth.savings import differences
from quiclens_lab.truth.split import is_final

MISSING = "no row"
DECISIVE_SHARE = 0.4
"""Of the duration, by the run without the cause: where it makes as much, it must be the largest part."""


def top_of(each: Judged) -> str:
    """The cause that quiclens would name first."""
    row = each.row
    return MISSING if row is None or not row.is_complete else row.top


def injected(judged: Iterable[Judged]) -> list[Judged]:
    """The runs of scenarios that have a cause in them."""
    return [
        each
        for each in judged
        if each.sample.group == "scenario" and each.sample.variant == "with" and not is_clean(each.sample)
    ]


def is_right(each: Judged) -> bool:
    return top_of(each) == each.sample.cause


def injection_table(judged: Iterable[Judged]) -> dict[str, Any]:
    """Share right per stack, scenario and vantage and overall, with the confusion of causes.

    A path that goes dark has a cause of its own, which may be the larger one: such runs are judged in the table
    `decisive` alone.
    """
    runs = [each for each in injected(judged) if each.sample.dark is None]
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


def decisive_table(judged: Iterable[Judged]) -> dict[str, Any]:
    """The same of runs in which the cause makes much of the duration: by stack and controller, script, and scenario."""
    found = [each for each in differences(judged, DECISIVE_SHARE) if not is_clean(each.judged.sample)]
    runs = [each.judged for each in found if not each.is_alone_in_the_dark]
    return {
        "runs": len(runs),
        "alone_in_the_dark": len(found) - len(runs),
        "share_right": share_of(sum(map(is_right, runs)), len(runs)),
        "kept_for": _shares(runs, lambda each: "final check" if is_final(each.sample) else "development"),
        "pairs": _shares(runs, lambda each: " ".join(each.sample.pair).strip()),
        "scripts": _shares(runs, lambda each: each.sample.script or "constant"),
        "scenarios": _shares(runs, lambda each: f"{each.sample.stack} {each.sample.scenario}"),
        "wrong": dict(Counter(_confused(each) for each in runs if not is_right(each)).most_common(20)),
    }


def _shares(runs: Sequence[Judged], name_of: Callable[[Judged], str]) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Judged]] = {}
    for each in runs:
        groups.setdefault(name_of(each), []).append(each)
    return {
        name: {"runs": len(own), "share_right": share_of(sum(map(is_right, own)), len(own))}
        for name, own in sorted(groups.items())
    }


def _confused(each: Judged) -> str:
    of = each.sample
    place = " ".join(word for word in (of.stack, of.controller, of.script, of.scenario, of.vantage) if word)
    return f"{place}: {top_of(each)}"


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
