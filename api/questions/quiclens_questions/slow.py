"""Which requests were slow: the list, slowest first, and how many requests it was drawn from."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.asking import ask, typed
from quiclens_questions.documents import Coverage, ReportCoverage, SlowDocument, SlowRequest
from quiclens_questions.moment import bound
from quiclens_questions.where import EVERYTHING, Where

ROWS_AT_MOST = 10_000


@dataclass(frozen=True)
class Slow:
    """What was asked: a stretch of time, a least duration, conditions, and how many (of each value of `by`)."""

    limit: int = 20
    since: datetime | None = None
    until: datetime | None = None
    min_us: int = 0
    where: Where = EVERYTHING
    by: str = ""


def slow(store: Store, question: Slow) -> SlowDocument:
    """The document of `slow`. A column of `by` that is not among the row's own is added under its name."""
    window = {
        "min_us": question.min_us,
        "since": bound(question.since) if question.since else None,
        "until": bound(question.until) if question.until else None,
    }
    if question.by:
        parameters = {**window, "per_value": question.limit, "limit": ROWS_AT_MOST}
        rows = ask(store, "slow_by", parameters, question.where, by=[question.by]).dicts()
        for row in rows:
            row.setdefault(question.by, row["by_value"])
            del row["by_value"]
    else:
        rows = ask(store, "slow", {**window, "limit": question.limit}, question.where).dicts()
    return {"requests": typed(SlowRequest, rows), "coverage": coverage(store, question.where, window)}


def coverage(store: Store, where: Where, window: dict[str, Any] | None = None) -> Coverage:
    """How many requests an answer speaks of, how many of those have a trace, of how many of those records are missing
    (`repaired`, `damaged`), and their weight."""
    everything = {"min_us": 0, "since": None, "until": None}
    requests, traced, repaired, damaged, weight = ask(store, "coverage", everything | (window or {}), where).one()
    return {"requests": requests, "traced": traced, "repaired": repaired, "damaged": damaged, "weight": weight}


def report_coverage(store: Store, where: Where, window: dict[str, Any] | None = None) -> ReportCoverage:
    """The same for a report, which may add of how many of them its rows are."""
    found = coverage(store, where, window)
    return {
        "requests": found["requests"],
        "traced": found["traced"],
        "repaired": found["repaired"],
        "damaged": found["damaged"],
        "weight": found["weight"],
    }
