"""`report load`: requests a second by size of response, and new connections, as goquic published them (2015)."""

import math
from collections.abc import Iterator
from typing import Any

from quiclens_schema.store import Store

from quiclens_api.asking import ask
from quiclens_api.intervals import Estimate, rounded
from quiclens_api.questions.asked import GROUPS_AT_MOST, Asked, Report
from quiclens_api.questions.slow import coverage
from quiclens_api.sampling import student95

BOUNDS = (100, 1_000, 5_000, 10_000, 100_000, 1_000_000)
_SIZES = (
    "above 1 MB",
    "to 100 B",
    "to 1 kB",
    "to 5 kB",
    "to 10 kB",
    "to 100 kB",
    "to 1 MB",
)  # as arrayFirstIndex counts
_MINUTES_AT_LEAST = 10

Row = dict[str, Any]


def load(store: Store, asked: Asked) -> Report:
    """One row per group, figure and size: the mean rate over the whole stretch, with an interval that takes minutes as
    the draws, and the most within one second. The stretch is that of the requests which match, not of the clock."""
    window = {**asked.window, "limit": GROUPS_AT_MOST * (len(BOUNDS) + 2)}
    extent = ask(store, "load_extent", asked.window, asked.where).dicts()[0]
    minutes = extent["last_s"] // 60 - extent["first_s"] // 60 + 1 if extent["requests"] else 0
    requests = ask(store, "request_load", {**window, "bounds": list(BOUNDS)}, asked.where, asked.by).dicts()
    connections = ask(store, "connection_load", window, asked.where, asked.by).dicts() if minutes else []
    groups = dict.fromkeys(tuple(row["by_values"]) for row in (*requests, *connections))
    columns = ("figure", ""), ("size", ""), ("per_second", "1/s"), ("per_second_low", "1/s"), ("per_second_high", "1/s")
    more = ("peak_per_second", "1/s"), ("bits_per_second", "bit/s"), ("samples", ""), ("minutes", "")
    return Report(
        name="load",
        params=asked.params,
        columns=(*asked.by_columns, *columns, *more),
        rows=[[*group, *cells] for group in groups for cells in _figures(group, requests, connections, minutes)],
        samples=sum(int(row["number"]) for row in requests),
        coverage=coverage(store, asked.where, asked.window),
    )


def _figures(group: Any, requests: list[Row], connections: list[Row], minutes: int) -> Iterator[list[Any]]:
    own = sorted(
        (row for row in requests if tuple(row["by_values"]) == group), key=lambda row: _order(row["size_class"])
    )
    for row in own:
        size = "unknown" if row["size_class"] < 0 else _SIZES[row["size_class"]]
        yield [
            "requests",
            size,
            *_rate(row, minutes),
            round(8 * row["response_bytes"] / 60 / minutes),
            int(row["number"]),
            minutes,
        ]
    for row in connections:
        if tuple(row["by_values"]) == group:
            yield ["new connections", None, *_rate(row, minutes), None, int(row["number"]), minutes]


def _order(size_class: int) -> int:
    return size_class if size_class > 0 else len(_SIZES) - size_class


def _rate(row: Row, minutes: int) -> list[float | int | None]:
    mean = row["number"] / minutes
    found = Estimate(mean / 60)
    if minutes >= _MINUTES_AT_LEAST:
        squares = max(0.0, row["sum_nn"] - minutes * mean * mean)
        half = student95(minutes - 1) * math.sqrt(squares / (minutes - 1) / minutes) / 60
        found = Estimate(mean / 60, max(0.0, mean / 60 - half), mean / 60 + half)
    return [*rounded([found.value, found.low, found.high], 4), row["peak"]]
