"""Hexagons on a map: how long requests took in each, and on what."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from quiclens_schema.catalogue import CAUSES
from quiclens_schema.store import Store

from quiclens_questions.connections import WEEKDAYS, time_zone
from quiclens_questions.documents import CellsDocument
from quiclens_questions.failure import usage
from quiclens_questions.moment import bound
from quiclens_questions.slow import coverage
from quiclens_questions.statements import ask
from quiclens_questions.where import EVERYTHING, Where

CELLS_AT_MOST = 20_000
THIN_BELOW = 20
"""Measured requests that a hexagon has at least to be shown by itself: with fewer there is no p95."""


@dataclass(frozen=True)
class LocalTime:
    """Only requests of a day of the week, or of an hour of the day, by the clock of a time zone."""

    weekday: str = ""
    hour: int | None = None
    zone: str = "UTC"

    @classmethod
    def read(cls, weekday: str, hour: int | None, zone: str) -> "LocalTime":
        """A usage mistake where one of them is none."""
        if weekday and weekday not in WEEKDAYS:
            raise usage(f"there is no weekday {weekday!r}", f"one of {', '.join(WEEKDAYS)}")
        if hour is not None and not 0 <= hour <= 23:
            raise usage(f"there is no hour {hour}", "0 to 23")
        return cls(weekday, hour, time_zone(zone))

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"weekday": self.weekday, "hour": -1 if self.hour is None else self.hour, "time_zone": self.zone}


def cells(
    store: Store,
    since: datetime | None,
    until: datetime | None,
    where: Where = EVERYTHING,
    local: LocalTime | None = None,
) -> CellsDocument:
    """Columns, the fullest hexagon first; `top_cause` is null where no request of it was traced."""
    window = {"since": bound(since) if since else None, "until": bound(until) if until else None}
    given = {**window, "limit": CELLS_AT_MOST + 1, "thin": THIN_BELOW, **(local or LocalTime()).parameters}
    found = ask(store, "cells", given, where).dicts()
    rows = [row for row in found if row["h3_cell"]][:CELLS_AT_MOST]
    return {
        "since": since,
        "until": until,
        "h3_cell": [row["h3_cell"] for row in rows],
        "requests": [row["requests"] for row in rows],
        "in_larger": [row["in_larger"] for row in rows],
        "traced": [row["traced"] for row in rows],
        "p50": [row["p50"] for row in rows],
        "p95": [row["p95"] for row in rows],
        "top_cause": [_top(row["cause_us"]) for row in rows],
        "not_a_cell": sum(row["requests"] for row in found if not row["h3_cell"]),
        "coverage": coverage(store, where, {**window, "min_us": 0}),
    }


def _top(cause_us: list[int]) -> str | None:
    return CAUSES[max(range(len(CAUSES)), key=cause_us.__getitem__)] if any(cause_us) else None
