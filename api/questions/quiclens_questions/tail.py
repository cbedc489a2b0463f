"""`report tail`: how long the slow requests of each group took, and would have taken without one cause."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from quiclens_schema.store import Store

from quiclens_questions.clustered import Groups, Key, Sampled, sampled
from quiclens_questions.documents import ReportCoverage
from quiclens_questions.report import GROUPS_AT_MOST, Report, ReportQuestion
from quiclens_questions.rtt import QUANTILES
from quiclens_questions.savings import Ratios, ratios
from quiclens_questions.statistics.clusters import needed, samples_needed
from quiclens_questions.statistics.estimates import Estimate, rounded

_LEVELS = [quantile for _, quantile in QUANTILES]

Row = dict[str, Any]
Values = Mapping[Key, Sequence[float | None]]


@dataclass(frozen=True)
class _TailAnswer:
    """Of each group: durations as they were, as predicted without the cause, and that by the least and the most that
    was saved."""

    now: Groups[Sampled]
    then: Mapping[Key, Sampled]
    least: Values
    most: Values


class _Counted(NamedTuple):
    """What `tail_requests.sql` counts of a group, in its order."""

    requests: float
    traced: float
    repaired: float
    damaged: float
    measured: float
    with_saving: float
    cannot_show: float
    weight: float


_NOTHING = _Counted(*[0.0] * len(_Counted._fields))


def tail(store: Store, asked: ReportQuestion) -> Report:
    """One row per group, most requests first. Requests that failed are no samples: a reset is no fast success. A
    quantile is null where the group has too few requests for it, an end of its interval where nothing bounds it."""
    known = ratios(asked.without) if asked.without else None
    answer = _answer(store, asked, known)
    whole = _Counted(*answer.now.counts) if answer.now.counts else _NOTHING
    return Report(
        name="tail",
        params=asked.params | {"without": asked.without or None, "ratios": asdict(known) if known else None},
        columns=(*asked.by_columns, *_columns(bool(asked.without))),
        rows=[list(_cells(key, found, answer, asked.without, known)) for key, found in answer.now.by_key.items()],
        samples=int(whole.measured),
        coverage=_coverage(whole, bool(asked.without)),
        groups=answer.now.all,
        groups_shown=len(answer.now.by_key),
    )


def _coverage(whole: _Counted, is_without: bool) -> ReportCoverage:
    found: ReportCoverage = {
        "requests": int(whole.requests),
        "traced": int(whole.traced),
        "repaired": int(whole.repaired),
        "damaged": int(whole.damaged),
        "weight": round(whole.weight, 6),
    }
    if is_without:
        found["compared"] = int(whole.measured)
        found["with_saving"] = int(whole.with_saving)
        found["cannot_show"] = int(whole.cannot_show)
    return found


def _answer(store: Store, asked: ReportQuestion, known: Ratios | None) -> _TailAnswer:
    def less(ratio: float) -> Groups[Sampled]:
        """Durations without that share of what the cause cost."""
        given = {**asked.window, "without": asked.without, "ratio": ratio}
        return sampled(store, "tail_requests", asked, asked.by, _LEVELS, given, GROUPS_AT_MOST)

    def values(ratio: float) -> Values:
        return {key: [each.value for each in found.quantiles] for key, found in less(ratio).by_key.items()}

    return _TailAnswer(
        less(0.0),
        less(1.0).by_key if asked.without else {},
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


def _cells(key: Key, now: Sampled, answer: _TailAnswer, without: str, known: Ratios | None) -> Iterator[Any]:
    counted, then = _Counted(*now.counts), answer.then.get(key)
    measured = int(counted.measured)
    yield from key
    yield from (int(counted.requests), int(counted.traced), measured)
    yield from (round(now.weight, 3) if measured else 0, now.clusters)
    yield from (now.shared.share if now.shared else Estimate(None)).rounded(6)
    for place, found in enumerate(now.quantiles):
        yield from found.rounded()
        if without:
            changed = then.quantiles[place] if then else Estimate(None)
            is_known = known is not None and changed.value is not None
            low, high = (each[key][place] if is_known else None for each in (answer.least, answer.most))
            value, other = found.value, changed.value
            yield from (*changed.rounded(), *rounded([low, high]))
            yield from rounded([_less(value, other), _less(value, high), _less(value, low)])
    yield _note(measured, now.clusters, without)


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
