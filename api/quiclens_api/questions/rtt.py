"""`report rtt`: quantiles of round trip times, as Uber published them for its phones in India (2019)."""

from typing import Any

from quiclens_schema.store import Store

from quiclens_api.asking import ask
from quiclens_api.intervals import Spread, clustered_quantile, quantile_bucket, rounded
from quiclens_api.questions.asked import GROUPS_AT_MOST, Asked, Report
from quiclens_api.questions.slow import coverage

QUANTILES = (("p50", 0.5), ("p75", 0.75), ("p95", 0.95), ("p99", 0.99))

Row = dict[str, Any]


def rtt(store: Store, asked: Asked) -> Report:
    """One row, or one for each group, most samples first; quantiles with 95 % intervals by connection."""
    parameters = {**asked.window, "limit": GROUPS_AT_MOST}
    groups = ask(store, "rtt_histogram", parameters, asked.where, asked.by).dicts()
    spreads = _spreads(store, asked, groups)
    rows = []
    for group in groups:
        cells: list[Any] = list(group["by_values"])
        for index, (_, quantile) in enumerate(QUANTILES):
            spread = spreads.get((group["by_key"], index))
            found = clustered_quantile(group["histogram"], quantile, group["connections"], spread)
            cells += rounded([found.value, found.low, found.high])
        rows.append([*cells, sum(group["histogram"].values()), group["connections"]])
    quantiles = [(name + end, "us") for name, _ in QUANTILES for end in ("", "_low", "_high")]
    return Report(
        name="rtt",
        params=asked.params,
        columns=(*asked.by_columns, *quantiles, ("samples", ""), ("connections", "")),
        rows=rows,
        samples=sum(row[-2] for row in rows),
        coverage=coverage(store, asked.where, asked.window),
    )


def _spreads(store: Store, asked: Asked, groups: list[Row]) -> dict[tuple[str, int], Spread]:
    """How the samples below each quantile fall on connections, asked once the quantiles are known."""
    if not groups:
        return {}
    bounds = [[quantile_bucket(group["histogram"], quantile) or 0 for _, quantile in QUANTILES] for group in groups]
    keys = [group["by_key"] for group in groups]
    parameters = {**asked.window, "keys": keys, "bounds": bounds, "limit": GROUPS_AT_MOST}
    return {
        (row["by_key"], index): Spread(row["sum_aa"][index], row["sum_an"][index], row["sum_nn"])
        for row in ask(store, "rtt_spread", parameters, asked.where, asked.by).dicts()
        for index in range(len(QUANTILES))
    }
