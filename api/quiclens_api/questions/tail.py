"""`report tail`: how long the slow requests of each group took, and would have taken without one cause."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from quiclens_schema.store import Store

from quiclens_api.asking import ask
from quiclens_api.intervals import needed, ranks
from quiclens_api.questions.asked import GROUPS_AT_MOST, Asked, Report
from quiclens_api.questions.rtt import QUANTILES
from quiclens_api.questions.slow import coverage
from quiclens_api.savings import Ratios, ratios

_CUTS = ("cuts", "without_cuts", "without_low_cuts", "without_high_cuts")

Row = dict[str, Any]


def tail(store: Store, asked: Asked) -> Report:
    """One row per group, most requests first. A quantile is null where the group has too few requests for it."""
    known = ratios(asked.without) if asked.without else None
    window = {**asked.window, "without": asked.without}
    groups = ask(store, "tail_groups", {**window, "limit": GROUPS_AT_MOST}, asked.where, asked.by).dicts()
    cuts = _cuts(store, asked, window, groups, known)
    counted = coverage(store, asked.where, asked.window)
    if asked.without:
        for name, column in (
            ("compared", "measured"),
            ("with_saving", "with_saving"),
            ("cannot_show", "cannot_show_it"),
        ):
            counted[name] = sum(group[column] for group in groups)
    return Report(
        name="tail",
        params=asked.params | {"without": asked.without or None, "ratios": asdict(known) if known else None},
        columns=(*asked.by_columns, *_columns(bool(asked.without))),
        rows=[list(_cells(group, cuts.get(group["by_key"], {}), asked.without, known)) for group in groups],
        samples=sum(group["measured"] for group in groups),
        coverage=counted,
    )


def _cuts(store: Store, asked: Asked, window: Row, groups: list[Row], known: Ratios | None) -> dict[str, Row]:
    """The sorted durations of each group at the ranks of every quantile and of its interval."""
    measured = [group for group in groups if group["measured"] > 0]
    if not measured:
        return {}
    parameters = {
        **window,
        "keys": [group["by_key"] for group in measured],
        "ranks": [places(group["measured"]) for group in measured],
        "ratio_low": known.ratio_low if known else 1.0,
        "ratio_high": known.ratio_high if known else 1.0,
        "limit": GROUPS_AT_MOST,
    }
    return {row["by_key"]: row for row in ask(store, "tail", parameters, asked.where, asked.by).dicts()}


def places(samples: int) -> list[int]:
    """Three ranks for each quantile, its own and those of its interval; 0 where there is none."""
    found = [ranks(samples, quantile) for _, quantile in QUANTILES]
    return [rank or 0 for each in found for rank in ((each.at, each.low, each.high) if each else (0, 0, 0))]


def _columns(is_without: bool) -> Iterator[tuple[str, str]]:
    yield from (("requests", ""), ("traced", ""), ("samples", ""))
    for name, _ in QUANTILES:
        yield from ((name + end, "us") for end in ("", "_sampling_low", "_sampling_high"))
        if is_without:
            yield from ((f"without_{name}{end}", "us") for end in ("", "_sampling_low", "_sampling_high"))
            yield from ((f"without_{name}_prediction_{end}", "us") for end in ("low", "high"))
            yield from ((f"saved_{name}{end}", "us") for end in ("", "_prediction_low", "_prediction_high"))
    yield ("note", "")


def _cells(group: Row, found: Row, without: str, known: Ratios | None) -> Iterator[Any]:
    yield from group["by_values"]
    yield from (group["requests"], group["traced"], group["measured"])
    for index in range(len(QUANTILES)):
        now, then, least, most = (
            found.get(name, [None] * 3 * len(QUANTILES))[3 * index : 3 * index + 3] for name in _CUTS
        )
        yield from now
        if without:
            low, high = (least[0], most[0]) if known else (None, None)
            yield from (*then, low, high, _less(now[0], then[0]), _less(now[0], high), _less(now[0], low))
    yield _note(group["measured"], without)


def _less(value: int | None, other: int | None) -> int | None:
    return None if value is None or other is None else value - other


def _note(samples: int, without: str) -> str | None:
    """Which quantiles have too few samples, None when all have enough."""
    short = [f"{name} needs {needed(quantile)}" for name, quantile in QUANTILES if samples < needed(quantile)]
    what = "traced requests" if without else "requests"
    return f"too few {what} ({samples}): {', '.join(short)}" if short else None
