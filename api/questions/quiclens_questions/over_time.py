"""How long requests took over time, in groups, and what their time was spent on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import groupby
from typing import Any

from quiclens_schema.catalogue import CAUSES
from quiclens_schema.store import Store

from quiclens_questions.clustered import QUANTILES_AT_MOST, Key, Sampled, sampled
from quiclens_questions.documents import Coverage, IntervalColumns, OverTimeDocument, Series, SpentDocument
from quiclens_questions.failure import usage
from quiclens_questions.moment import bound
from quiclens_questions.report import ReportQuestion
from quiclens_questions.statements import ask
from quiclens_questions.where import EVERYTHING, Where

STEPS_AT_MOST = 2_000
GROUPS_AT_MOST = 50
LEVELS = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99}
INTERVALS_AT_MOST = 1_000_000
"""Requests with which intervals are told: of more they take seconds, and are narrower than a line."""
_FEW = 25  # requests a step and group, on average, for a p95 to be worth drawing
# Lengths of a step that people read without effort.
_STEPS = (1, 5, 10, 30, 60, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 86_400, 7 * 86_400)

Row = dict[str, Any]


class DrawnGroups(StrEnum):
    """Which groups have a line of their own: those with most requests, or those with the largest share of requests that
    are slower than the p95 of all."""

    LARGEST = "largest"
    SLOWEST = "slowest"


@dataclass(frozen=True)
class OverTime:
    """A stretch of time, cut into steps (0: at most 120, and few enough for a tail in each), how many groups have a
    line of their own and which, and whether the 95 % intervals of their quantiles are asked for."""

    since: datetime
    until: datetime
    step_s: int = 0
    by: tuple[str, ...] = ()
    where: Where = EVERYTHING
    groups: int = 10
    drawn: DrawnGroups = DrawnGroups.LARGEST
    has_intervals: bool = False


def over_time(store: Store, asked: OverTime) -> OverTimeDocument:
    """For each group columns over `started_at`: requests, traced, and quantiles in us."""
    window = _window(store, asked)
    slow_us = _slow_from(store, asked, window) if asked.drawn is DrawnGroups.SLOWEST else 0
    given = {"groups": asked.groups, "slow_us": slow_us, "limit": (GROUPS_AT_MOST + 1) * (STEPS_AT_MOST + 2)}
    rows = ask(store, "over_time", {**window, **given}, asked.where, asked.by).dicts()
    own = [row for row in rows if not row["is_others"]]
    grouped = {tuple(values): list(each) for values, each in groupby(own, key=lambda row: row["by_values"])}
    drawn = [each[0]["key_id"] for each in grouped.values()]
    told = _intervals(store, asked, window, drawn) if asked.has_intervals and _is_few(own) else None
    found = [_series(dict(zip(asked.by, values, strict=True)), each, told) for values, each in grouped.items()]
    found.sort(key=lambda one: -sum(one["requests"]))
    if others := [row for row in rows if row["is_others"]]:
        found.append({**_series({}, others, None), "groups": others[0]["all_groups"] - len(grouped)})
    return {
        "since": asked.since,
        "until": asked.until,
        "step_s": window["step_s"],
        "by": list(asked.by),
        "drawn": asked.drawn.value,
        "slow_us": slow_us or None,
        "series": found,
        "groups": rows[0]["all_groups"] if rows else 0,
        "coverage": _coverage(rows[0] if rows else {}),
    }


def spent_over_time(store: Store, asked: OverTime) -> SpentDocument:
    """Columns over `started_at`: requests, traced, and by cause the us that traced ones spent."""
    window = _window(store, asked)
    rows = ask(store, "spent_over_time", {**window, "limit": STEPS_AT_MOST + 2}, asked.where).dicts()
    shares = list(zip(*(row["cause_us"] for row in rows), strict=True))
    return {
        "since": asked.since,
        "until": asked.until,
        "step_s": window["step_s"],
        "started_at": [_moment(row) for row in rows],
        "requests": [row["requests"] for row in rows],
        "traced": [row["traced"] for row in rows],
        "cause_us": {cause: list(us) for cause, us in zip(CAUSES, shares, strict=False) if any(us)},
        "coverage": {
            "requests": sum(row["requests"] for row in rows),
            "traced": sum(row["traced"] for row in rows),
            "repaired": sum(row["repaired"] for row in rows),
            "damaged": sum(row["damaged"] for row in rows),
            "weight": round(math.fsum(row["weights"] for row in rows), 6),
        },
    }


def _slow_from(store: Store, asked: OverTime, window: Row) -> int:
    """From which duration on, in us, a request counts as slow; 0 where none was measured."""
    [row] = ask(store, "slow_from", {"since": window["since"], "until": window["until"]}, asked.where).dicts()
    return round(row["slow_us"] or 0)


def _window(store: Store, asked: OverTime) -> Row:
    """The parameters of a stretch and its steps."""
    seconds = (asked.until - asked.since).total_seconds()
    if seconds <= 0:
        raise usage("the stretch of time ends before it begins", "give since before until")
    window: Row = {"since": bound(asked.since), "until": bound(asked.until)}
    step_s = asked.step_s
    if not step_s:
        [began] = ask(store, "began", window, asked.where, asked.by).dicts()
        # Of the groups that there are: a condition that leaves one of them makes its steps no coarser.
        of_a_group = began["requests"] / max(1, min(began["groups"], asked.groups, 6))
        step_s = fitting_step(asked.since, asked.until, most=max(4, min(120, of_a_group / _FEW)))
    if seconds / step_s > STEPS_AT_MOST:
        raise usage(f"steps of {step_s} s give more than {STEPS_AT_MOST} of them", "longer steps, or leave step_s out")
    return {**window, "step_s": step_s}


def fitting_step(since: datetime, until: datetime, most: float = 120) -> int:
    """The shortest readable step that gives at most so many of them."""
    seconds = (until - since).total_seconds()
    return next((step for step in _STEPS if seconds / step <= most), _STEPS[-1])


def _is_few(rows: Sequence[Row]) -> bool:
    return len(rows) <= QUANTILES_AT_MOST and sum(int(row["requests"]) for row in rows) <= INTERVALS_AT_MOST


def _intervals(store: Store, asked: OverTime, window: Row, drawn: Sequence[int]) -> Mapping[Key, Sampled]:
    """By group and step."""
    question = ReportQuestion(where=asked.where)
    given = {**window, "drawn": drawn}
    return sampled(store, "over_time_samples", question, asked.by, list(LEVELS.values()), given).by_key


def _series(group: Row, rows: Sequence[Row], told: Mapping[Key, Sampled] | None) -> Series:
    return {
        "group": group,
        "groups": 1,
        "started_at": [_moment(row) for row in rows],
        "requests": [row["requests"] for row in rows],
        "traced": [row["traced"] for row in rows],
        "p50": [row["p50"] for row in rows],
        "p75": [row["p75"] for row in rows],
        "p90": [row["p90"] for row in rows],
        "p95": [row["p95"] for row in rows],
        "p99": [row["p99"] for row in rows],
        "intervals": None if told is None else _interval_columns(tuple(group.values()), rows, told),
    }


def _interval_columns(group: Key, rows: Sequence[Row], told: Mapping[Key, Sampled]) -> dict[str, IntervalColumns]:
    steps = [told.get((*group, str(row["started_s"]))) for row in rows]
    found: dict[str, IntervalColumns] = {}
    for place, name in enumerate(LEVELS):
        ends = [(None, None) if step is None else step.quantiles[place].ends[1:] for step in steps]
        found[name] = {"low": [_us(low) for low, _ in ends], "high": [_us(high) for _, high in ends]}
    return found


def _us(value: float | None) -> int | None:
    return None if value is None else round(value)


def _coverage(row: Row) -> Coverage:
    """Of all groups, as each row has it."""
    return {
        "requests": row.get("all_requests", 0),
        "traced": row.get("all_traced", 0),
        "repaired": row.get("all_repaired", 0),
        "damaged": row.get("all_damaged", 0),
        "weight": row.get("all_weight", 0.0),
    }


def _moment(row: Row) -> datetime:
    return datetime.fromtimestamp(row["started_s"], UTC)
