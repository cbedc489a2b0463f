"""`report tail`: how long the slow requests of each group took, and would have taken without one cause."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.clustered import Key, Sampled, Shared, points, sampled, shares
from quiclens_questions.report import GROUPS_AT_MOST, Report, ReportQuestion
from quiclens_questions.rtt import QUANTILES
from quiclens_questions.savings import Ratios, ratios
from quiclens_questions.slow import report_coverage
from quiclens_questions.statements import ask, together
from quiclens_questions.statistics.clusters import needed, samples_needed
from quiclens_questions.statistics.estimates import Estimate, rounded

_LEVELS = [quantile for _, quantile in QUANTILES]

Row = dict[str, Any]
Values = Mapping[Key, Sequence[float | None]]


@dataclass(frozen=True)
class _TailAnswer:
    """Of each group: durations as they were, as predicted without the cause, and that by the least and the most that
    was saved."""

    now: Mapping[Key, Sampled]
    then: Mapping[Key, Sampled]
    least: Values
    most: Values


def tail(store: Store, asked: ReportQuestion) -> Report:
    """One row per group, most requests first. Requests that failed are no samples: a reset is no fast success. A
    quantile is null where the group has too few requests for it, an end of its interval where nothing bounds it."""
    known = ratios(asked.without) if asked.without else None
    window = {**asked.window, "without": asked.without}
    (groups, answer), failed, counted = together(
        lambda: _groups(store, asked, window, known),
        lambda: shares(store, "failed_requests", asked, asked.by, asked.window).by_key,
        lambda: report_coverage(store, asked.where, asked.window),
    )
    if asked.without:
        first = groups[0] if groups else {}
        counted["compared"] = first.get("all_measured", 0)
        counted["with_saving"] = first.get("all_with_saving", 0)
        counted["cannot_show"] = first.get("all_cannot_show_it", 0)
    return Report(
        name="tail",
        params=asked.params | {"without": asked.without or None, "ratios": asdict(known) if known else None},
        columns=(*asked.by_columns, *_columns(bool(asked.without))),
        rows=[list(_cells(group, answer, failed, asked.without, known)) for group in groups],
        samples=groups[0]["all_measured"] if groups else 0,
        coverage=counted,
        groups=groups[0]["groups"] if groups else 0,
        groups_shown=len(groups),
    )


def _groups(store: Store, asked: ReportQuestion, window: Row, known: Ratios | None) -> tuple[list[Row], _TailAnswer]:
    """The groups with most requests, and their durations."""
    groups = ask(store, "tail_groups", {**window, "limit": GROUPS_AT_MOST}, asked.where, asked.by).dicts()
    keys = [group["key_id"] for group in groups]
    return groups, _answer(store, asked, window, known, keys) if groups else _TailAnswer({}, {}, {}, {})


def _answer(store: Store, asked: ReportQuestion, window: Row, known: Ratios | None, keys: Sequence[int]) -> _TailAnswer:
    def durations(ratio: float) -> Mapping[Key, Sampled]:
        given = {**window, "ratio": ratio}
        return sampled(store, "tail_samples", asked, asked.by, _LEVELS, given, GROUPS_AT_MOST, keys).by_key

    def values(ratio: float) -> Values:
        return points(store, "tail_samples", asked, asked.by, _LEVELS, {**window, "ratio": ratio})

    return _TailAnswer(
        durations(0.0),
        durations(1.0) if asked.without else {},
        values(known.ratio_high) if known else {},
        values(known.ratio_low) if known else {},
    )


def _columns(is_without: bool) -> Iterator[tuple[str, str]]:
    yield from (("requests", ""), ("traced", ""), ("samples", ""), ("weight", ""), ("clusters", ""))
    yield from (("failed" + end, "share") for end in ("", "_low", "_high"))
    for name, _ in QUANTILES:
        yield from ((name + end, "us") for end in ("", "_sampling_low", "_sampling_high"))
        if is_without:
            yield from ((f"without_{name}{end}", "us") for end in ("", "_sampling_low", "_sampling_high"))
            yield from ((f"without_{name}_prediction_{end}", "us") for end in ("low", "high"))
            yield from ((f"saved_{name}{end}", "us") for end in ("", "_prediction_low", "_prediction_high"))
    yield ("note", "")


def _cells(
    group: Row, answer: _TailAnswer, failed_of: Mapping[Key, Shared], without: str, known: Ratios | None
) -> Iterator[Any]:
    key = tuple(group["by_values"])
    now, then, failed = answer.now.get(key), answer.then.get(key), failed_of.get(key)
    yield from key
    yield from (group["requests"], group["traced"], group["measured"])
    yield from (round(now.weight, 3) if now else 0, now.clusters if now else 0)
    yield from (failed.share if failed else Estimate(None)).rounded(6)
    for place in range(len(QUANTILES)):
        found = now.quantiles[place] if now else Estimate(None)
        yield from found.rounded()
        if without:
            changed = then.quantiles[place] if then else Estimate(None)
            is_known = known is not None and changed.value is not None
            low, high = (each[key][place] if is_known else None for each in (answer.least, answer.most))
            value, other = found.value, changed.value
            yield from (*changed.rounded(), *rounded([low, high]))
            yield from rounded([_less(value, other), _less(value, high), _less(value, low)])
    yield _note(group["measured"], now.clusters if now else 0, without)


def _less(value: float | None, other: float | None) -> float | None:
    return None if value is None or other is None else value - other


def _note(samples: int, clusters: int, without: str) -> str | None:
    """Which quantiles have too few samples or clusters, None when all have enough."""
    what = "traced requests" if without else "requests"
    short = [
        f"{name} needs {samples_needed(quantile)}" for name, quantile in QUANTILES if samples < samples_needed(quantile)
    ]
    if short:
        return f"too few {what} ({samples}): {', '.join(short)}"
    short = [f"{name} needs {needed(quantile)}" for name, quantile in QUANTILES if clusters < needed(quantile)]
    return f"too few users or connections for intervals ({clusters}): {', '.join(short)}" if short else None
