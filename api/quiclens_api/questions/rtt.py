"""`report rtt`: quantiles of round trip times, as Uber published them for its phones in India (2019)."""

from collections.abc import Sequence
from typing import Any

from quiclens_schema.store import Store

from quiclens_api.asking import ask
from quiclens_api.intervals import Spread, clustered_quantile, quantile_bucket, rounded
from quiclens_api.questions.connections import EVERYTHING, GROUPS_AT_MOST, Report, by_columns, by_value, params
from quiclens_api.questions.slow import coverage
from quiclens_api.where import Where

QUANTILES = (("p50", 0.5), ("p75", 0.75), ("p95", 0.95), ("p99", 0.99))

Row = dict[str, Any]


def rtt(store: Store, by: str, where: Where, texts: Sequence[str]) -> Report:
    """One row, or one for each value of `by`, most samples first; quantiles with 95 % intervals by connection."""
    dimension = by or EVERYTHING
    groups = ask(store, "rtt_histogram", {"by": dimension, "limit": GROUPS_AT_MOST}, where).dicts()
    spreads = _spreads(store, dimension, where, groups)
    rows = []
    for group in groups:
        cells: list[Any] = by_value(group, by)
        for index, (_, quantile) in enumerate(QUANTILES):
            spread = spreads.get((group["by_value"], index))
            found = clustered_quantile(group["histogram"], quantile, group["connections"], spread)
            cells += rounded([found.value, found.low, found.high])
        rows.append([*cells, sum(group["histogram"].values()), group["connections"]])
    quantiles = [(name + end, "us") for name, _ in QUANTILES for end in ("", "_low", "_high")]
    return Report(
        name="rtt",
        params=params(by, texts),
        columns=(*by_columns(by), *quantiles, ("samples", ""), ("connections", "")),
        rows=rows,
        samples=sum(row[-2] for row in rows),
        coverage=coverage(store, where),
    )


def _spreads(store: Store, dimension: str, where: Where, groups: list[Row]) -> dict[tuple[Any, int], Spread]:
    """How the samples below each quantile fall on connections, asked once the quantiles are known."""
    if not groups:
        return {}
    bounds = [[quantile_bucket(group["histogram"], quantile) or 0 for _, quantile in QUANTILES] for group in groups]
    parameters = {
        "by": dimension,
        "values": [group["by_value"] for group in groups],
        "bounds": bounds,
        "limit": GROUPS_AT_MOST,
    }
    return {
        (row["by_value"], index): Spread(row["sum_aa"][index], row["sum_an"][index], row["sum_nn"])
        for row in ask(store, "rtt_spread", parameters, where).dicts()
        for index in range(len(QUANTILES))
    }
