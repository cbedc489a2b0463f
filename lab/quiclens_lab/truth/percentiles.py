"""Table of predicted percentiles: a population's durations less what one cause costs, against it without the cause."""

from collections.abc import Iterable, Mapping
from typing import Any

from quiclens_lab.truth.job_lists import NOBODY
from quiclens_lab.truth.quantiles import quantile, rounded
from quiclens_lab.truth.samples import Judged

SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def percentiles_table(judged: Iterable[Judged]) -> dict[str, Any]:
    """For each cause the three percentiles as they were, as predicted and as they truly are without it.

    A cause that ordinary members have too (think time) has runs of all members without it.
    """
    members = [each for each in judged if each.sample.group == "population" and each.row is not None]
    ordinary = _members(members, NOBODY, "without")
    table: dict[str, Any] = {}
    for name in dict.fromkeys(each.sample.scenario for each in members if each.sample.scenario != NOBODY):
        injected = _members(members, name, "with")
        cause = next(iter(injected.values())).sample.cause
        without = _members(members, name, "without") or ordinary
        table[name] = {
            "cause": cause,
            "members": len(ordinary),
            "injected": len(injected),
            "percentiles": _percentiles(without, {**ordinary, **injected}, cause),
        }
    errors = [each["percentiles"]["p99"]["error"] for each in table.values()]
    return {"causes": table, "worst_p99_error": max((each for each in errors if each is not None), default=None)}


def _members(members: Iterable[Judged], scenario: str, variant: str) -> dict[int, Judged]:
    """By member number."""
    return {
        each.sample.seed: each for each in members if (each.sample.scenario, each.sample.variant) == (scenario, variant)
    }


def _percentiles(without: Mapping[int, Judged], mixed: Mapping[int, Judged], cause: str) -> dict[str, Any]:
    true_us = [row.duration_us for each in without.values() if (row := each.row)]
    rows = [row for each in mixed.values() if (row := each.row)]
    predicted_us = [row.duration_us - row.saves.get(cause, 0) for row in rows]
    found = {}
    for name, share in SHARES.items():
        true, predicted = quantile(true_us, share), quantile(predicted_us, share)
        found[name] = {
            "with_us": rounded(quantile([row.duration_us for row in rows], share), 0),
            "predicted_us": rounded(predicted, 0),
            "true_us": rounded(true, 0),
            "error": rounded(abs(predicted - true) / true) if true and predicted is not None else None,
        }
    return found
