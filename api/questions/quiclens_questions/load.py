"""`report load`: requests a second by size of response, and new connections, as goquic published them (2015)."""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.clustered import Key
from quiclens_questions.report import GROUPS_AT_MOST, Report, ReportQuestion
from quiclens_questions.slow import report_coverage
from quiclens_questions.statements import ask
from quiclens_questions.statistics.rates import Counts, buckets, rate

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
_BUCKETS_AT_MOST = 1_000
_ROWS_AT_MOST = 1_000_000
_MINUTE_S = 60
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Row = dict[str, Any]


@dataclass(frozen=True)
class _Stretch:
    """From one moment to another, in us since 1970, cut into buckets from its beginning; the last may be short."""

    first_us: int
    last_us: int

    @property
    def seconds(self) -> float:
        return (self.last_us - self.first_us) / 1e6

    @property
    def bucket_s(self) -> int:
        return _MINUTE_S * max(1, math.ceil(self.seconds / _MINUTE_S / _BUCKETS_AT_MOST))

    def parameters(self) -> Row:
        return {
            "first_us": self.first_us,
            "bucket_s": self.bucket_s,
            "last_bucket": buckets(self.seconds, self.bucket_s) - 1,
        }

    def counts(self, row: Row) -> Counts:
        return Counts(row["number"], row["sum_nn"], row["n_last"], self.seconds, self.bucket_s)


def load(store: Store, asked: ReportQuestion) -> Report:
    """One row per group, figure and size: the mean rate over the exact stretch that was asked for (where that is open,
    from the first request or to the last), with an interval that takes minutes as the clusters; and the most within
    one second. Requests and connections count for as many as they stand for."""
    stretch = _stretch(store, asked)
    requests: list[Row] = []
    connections: list[Row] = []
    if stretch is not None:
        window = {**asked.window, "limit": _ROWS_AT_MOST, **stretch.parameters()}
        requests = ask(store, "request_load", {**window, "bounds": list(BOUNDS)}, asked.where, asked.by).dicts()
        connections = ask(store, "connection_load", window, asked.where, asked.by).dicts()
    of_requests, of_connections = _by_group(requests), _by_group(connections)
    every = list(dict.fromkeys([*of_requests, *of_connections]))
    groups = every[:GROUPS_AT_MOST]
    columns = ("figure", ""), ("size", ""), ("per_second", "1/s"), ("per_second_low", "1/s"), ("per_second_high", "1/s")
    more = ("peak_per_second", "1/s"), ("bits_per_second", "bit/s"), ("samples", ""), ("stretch_s", "s")
    return Report(
        name="load",
        params=asked.params,
        columns=(*asked.by_columns, *columns, *more),
        rows=[
            [*group, *cells]
            for group in groups
            if stretch is not None
            for cells in _figures(of_requests[group], of_connections[group], stretch)
        ],
        samples=sum(int(row["samples"]) for row in requests),
        coverage=report_coverage(store, asked.where, asked.window),
        groups=len(every),
        groups_shown=len(groups),
    )


def _stretch(store: Store, asked: ReportQuestion) -> _Stretch | None:
    """None where no request was made, or all at one moment."""
    extent = ask(store, "load_extent", asked.window, asked.where).dicts()[0]
    if not extent["requests"]:
        return None
    first_us = int(extent["first_us"]) if asked.since is None else _us(asked.since)
    last_us = int(extent["last_us"]) if asked.until is None else _us(asked.until)
    return _Stretch(first_us, last_us) if last_us > first_us else None


def _us(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1)


def _by_group(rows: list[Row]) -> defaultdict[Key, list[Row]]:
    found: defaultdict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row["by_values"])].append(row)
    return found


def _figures(requests: list[Row], connections: list[Row], stretch: _Stretch) -> Iterator[list[Any]]:
    for row in sorted(requests, key=lambda row: _order(row["size_class"])):
        size = "unknown" if row["size_class"] < 0 else _SIZES[row["size_class"]]
        bits = round(8 * row["response_bytes"] / stretch.seconds)
        yield ["requests", size, *_rate(row, stretch), bits, int(row["samples"]), round(stretch.seconds, 6)]
    for row in connections:
        yield ["new connections", None, *_rate(row, stretch), None, int(row["samples"]), round(stretch.seconds, 6)]


def _order(size_class: int) -> int:
    return size_class if size_class > 0 else len(_SIZES) - size_class


def _rate(row: Row, stretch: _Stretch) -> list[float | int | None]:
    return [*rate(stretch.counts(row)).rounded(4), round(row["peak"], 3)]
