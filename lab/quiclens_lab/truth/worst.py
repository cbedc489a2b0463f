"""The runs that went worst, for whoever improves the collector."""

from collections.abc import Sequence
from typing import Any

from quiclens_lab.truth.injection import injected, is_right, top_of
from quiclens_lab.truth.order import orderings
from quiclens_lab.truth.samples import Judged
from quiclens_lab.truth.savings import savings


def worst(judged: Sequence[Judged], count: int) -> dict[str, Any]:
    """The `count` worst of each table; each can be made again with `quiclens-lab one`."""
    wrong = sorted((each for each in injected(judged) if not is_right(each)), key=_lost_share, reverse=True)
    errors = sorted(savings(judged), key=lambda each: each.error, reverse=True)
    disordered = [each for each in orderings(judged)[0] if not each.is_right]
    return {
        "injection": [{**_run(each), "named": top_of(each)} for each in wrong[:count]],
        "counterfactual": [
            {**_run(each.judged), "true_us": each.true_us, "predicted_us": each.predicted_us} for each in errors[:count]
        ],
        "order": [
            {**_run(each.judged), "true_us": dict(each.true_us), "predicted_us": dict(each.predicted_us)}
            for each in disordered[:count]
        ],
    }


def _lost_share(each: Judged) -> float:
    """By how much of the time another part is larger than the injected one."""
    row = each.row
    if row is None:
        return 1.0
    return (row.parts[row.top] - row.parts[each.sample.cause]) / max(row.duration_us, 1)


def _run(each: Judged) -> dict[str, Any]:
    row = each.row
    return {
        "stack": each.sample.stack,
        "scenario": each.sample.scenario,
        "seed": each.sample.seed,
        "vantage": each.sample.vantage,
        "duration_us": row.duration_us if row else None,
        "parts": {cause: part for cause, part in row.parts.items() if part} if row else {},
        "saves": row.saves if row else {},
    }
