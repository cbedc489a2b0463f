"""`watch`: cells whose slowest requests take longer than they did, and that chance alone would not have found.

The whole test is one statement, queries/watch.sql, which Grafana's alert rule asks too. Requests of one client are
alike: how much, it takes from the hour before the window (`dispersion`). It does not know that a day has hours of its
own; so a cell must also be beyond the threshold half as often again as before (`TIMES_MIN`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.report import Report
from quiclens_questions.statements import ask, sql

BUCKET_S = 300  # of request_rollups
DIMENSIONS = ("carrier", "region", "city", "pop", "protocol", "network_type", "app_version")
BY = ("carrier", "region", "city")
BY_AT_MOST = 4  # so many times queries/regression_counts.sql makes cells larger
WINDOW_S, BASELINE_S = BUCKET_S, 86_400
SAMPLES_MIN, SAMPLES_BEFORE_MIN = 20, 1_000  # below these a cell is pooled, or left out
RATE = 0.05  # false discoveries among those found
TIMES_MIN = 1.5
JUDGED = {
    "samples_min": SAMPLES_MIN,
    "samples_before_min": SAMPLES_BEFORE_MIN,
    "rate": RATE,
    "times_min": TIMES_MIN,
}
"""What the statement takes besides a time and two lengths."""

_PARAMETER = re.compile(r"\{(\w+):[^}]+\}")

Row = dict[str, Any]


@dataclass(frozen=True)
class Watch:
    """The window that ends at the last whole five minutes before `until`, and the stretch before it."""

    until: datetime
    window_s: int = WINDOW_S
    baseline_s: int = BASELINE_S
    by: tuple[str, ...] = BY

    @property
    def ends_at(self) -> datetime:
        return datetime.fromtimestamp(self.until.timestamp() // BUCKET_S * BUCKET_S, UTC)

    @property
    def begins_at(self) -> datetime:
        return self.ends_at - timedelta(seconds=self.window_s)

    @property
    def before_at(self) -> datetime:
        return self.begins_at - timedelta(seconds=self.baseline_s)

    def parameters(self) -> Row:
        until = self.ends_at.strftime("%Y-%m-%d %H:%M:%S")
        return {"until": until, "window_s": self.window_s, "baseline_s": self.baseline_s, **JUDGED}


def watch(store: Store, asked: Watch) -> Report:
    """One row per cell that was found, the surest first; `samples` are the window's requests in tested cells."""
    cells = ask(store, "watch", asked.parameters(), by=asked.by).dicts()
    tested = [cell for cell in cells if cell["is_tested"]]
    found = [cell for cell in tested if cell["is_found"]]
    left_out = [cell for cell in cells if not cell["is_tested"]]
    return Report(
        name="watch",
        params={
            "by": list(asked.by),
            "since": asked.begins_at,
            "until": asked.ends_at,
            "baseline_since": asked.before_at,
            "rate": RATE,
            "times_min": TIMES_MIN,
            "dispersion": round(cells[0]["dispersion"], 3) if cells else None,
            "tested": len(tested),
            "tested_pooled": sum(len(cell["pool"]) < len(asked.by) for cell in tested),
            "left_out": sum(cell["cells"] for cell in left_out),
            "left_out_requests": sum(cell["requests"] for cell in left_out),
        },
        columns=tuple(_columns(asked.by)),
        rows=[list(_values(cell, asked.by)) for cell in found],
        samples=sum(cell["samples"] for cell in tested),
        coverage={
            "requests": sum(cell["requests"] for cell in cells),
            "traced": sum(cell["traced"] for cell in cells),
            "weight": sum(cell["weight"] for cell in cells),
        },
    )


def alert_sql(by: Sequence[str], until: str, window_s: int = WINDOW_S, baseline_s: int = BASELINE_S) -> str:
    """The same statement for who cannot bind parameters: `until` is an expression of theirs, the rest our own."""
    values = {"until": until, "window_s": window_s, "baseline_s": baseline_s, **JUDGED}
    text = sql("watch").replace("/* by */", ", ".join(f"toString(`{column}`)" for column in by))
    return _PARAMETER.sub(lambda found: str(values[found[1]]), text)


def _columns(by: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from ((name, "") for name in by)
    yield from (("pooled", ""), ("cells", ""), ("p99", "us"), ("p99_before", "us"), ("beyond_us", "us"))
    yield from (("share", "share"), ("share_before", "share"), ("times_more", ""), ("p", ""), ("q", ""))
    yield from (("samples", ""), ("samples_before", ""))


def _values(cell: Row, by: Sequence[str]) -> Iterator[Any]:
    """A column that nobody knows is null, and so are the last `pooled` columns, over which the cell was pooled."""
    known = [value or None for value in cell["pool"]]
    yield from (*known, *[None] * (len(by) - len(known)))
    yield from (len(by) - len(known), cell["cells"])
    yield from (None if cell[name] is None else round(cell[name]) for name in ("p99", "p99_before", "beyond_us"))
    now, before = cell["beyond"] / cell["samples"], cell["beyond_before"] / cell["samples_before"]
    yield from (round(now, 6), round(before, 6), round(now / before, 2) if before else None)
    yield from (float(f"{cell[name]:.3g}") for name in ("p", "q"))
    yield from (cell["samples"], cell["samples_before"])
