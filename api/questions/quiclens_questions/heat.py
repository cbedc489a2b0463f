"""A heat map of durations over time."""

from datetime import UTC, datetime
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.documents import HeatDocument
from quiclens_questions.moment import bound
from quiclens_questions.over_time import OverTime, fitting_step
from quiclens_questions.slow import coverage
from quiclens_questions.statements import ask

BANDS_PER_DECADE = 6
_CELLS_AT_MOST = 200_000

Row = dict[str, Any]


def heat(store: Store, asked: OverTime) -> HeatDocument:
    """Columns of cells: `started_at`, `from_us` and `to_us` of the band, `requests`, `traced`, `weight`."""
    step_s = asked.step_s or fitting_step(asked.since, asked.until)
    window: Row = {"since": bound(asked.since), "until": bound(asked.until)}
    rows = ask(store, "heat", {**window, "step_s": step_s, "limit": _CELLS_AT_MOST}, asked.where).dicts()
    return {
        "since": asked.since,
        "until": asked.until,
        "step_s": step_s,
        "bands_per_decade": BANDS_PER_DECADE,
        "started_at": [datetime.fromtimestamp(row["started_s"], UTC) for row in rows],
        "from_us": [edge_us(row["band"]) for row in rows],
        "to_us": [edge_us(row["band"] + 1) for row in rows],
        "requests": [row["requests"] for row in rows],
        "traced": [row["traced"] for row in rows],
        "weight": [row["weight"] for row in rows],
        "coverage": coverage(store, asked.where, {**window, "min_us": 0}),
    }


def edge_us(band: int) -> int:
    """The shortest duration of a band, in us."""
    return round(10 ** (band / BANDS_PER_DECADE))
