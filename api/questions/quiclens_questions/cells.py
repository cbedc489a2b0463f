"""Hexagons on a map: how long requests took in each, and on what."""

from datetime import datetime
from typing import Any

from quiclens_schema.catalogue import CAUSES
from quiclens_schema.store import Store

from quiclens_questions.documents import CellsDocument
from quiclens_questions.moment import bound
from quiclens_questions.slow import coverage
from quiclens_questions.statements import ask
from quiclens_questions.where import EVERYTHING, Where

CELLS_AT_MOST = 20_000

Row = dict[str, Any]


def cells(store: Store, since: datetime | None, until: datetime | None, where: Where = EVERYTHING) -> CellsDocument:
    """Columns, the fullest hexagon first; `top_cause` is null where no request of it was traced."""
    window = {"since": bound(since) if since else None, "until": bound(until) if until else None}
    rows = ask(store, "cells", {**window, "limit": CELLS_AT_MOST}, where).dicts()
    return {
        "since": since,
        "until": until,
        "h3_cell": [row["h3_cell"] for row in rows],
        "requests": [row["requests"] for row in rows],
        "traced": [row["traced"] for row in rows],
        "p50": [row["p50"] for row in rows],
        "p95": [row["p95"] for row in rows],
        "top_cause": [_top(row["cause_us"]) for row in rows],
        "coverage": coverage(store, where, {**window, "min_us": 0}),
    }


def _top(cause_us: list[int]) -> str | None:
    return CAUSES[max(range(len(CAUSES)), key=cause_us.__getitem__)] if any(cause_us) else None
