"""`report rtt`: quantiles of round trip times, as Uber published them for its phones in India (2019).

Of connections they are of every sample that a trace has. Of requests they are of one figure each, the smoothed round
trip when the request ended: of QUIC as traced, of TCP (and of QUIC without a trace) as the server logged it, so that
both can be compared.
"""

from typing import Any

from quiclens_schema.store import Store

from quiclens_api.asking import ask
from quiclens_api.intervals import Spread, clustered_quantile, quantile_bucket, rounded
from quiclens_api.questions.asked import GROUPS_AT_MOST, Asked, Report
from quiclens_api.questions.clustered import sampled
from quiclens_api.questions.slow import coverage

QUANTILES = (("p50", 0.5), ("p75", 0.75), ("p95", 0.95), ("p99", 0.99))

Row = dict[str, Any]


def rtt(store: Store, asked: Asked) -> Report:
    """One row, or one for each group, most samples first; quantiles with 95 % intervals by connection, or by user."""
    return _of_requests(store, asked) if asked.of == "requests" else _of_connections(store, asked)


def _of_connections(store: Store, asked: Asked) -> Report:
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
    return _report(store, asked, rows, "connections")


def _of_requests(store: Store, asked: Asked) -> Report:
    found = sampled(store, "request_rtts", asked, asked.by, [quantile for _, quantile in QUANTILES], asked.window)
    rows = []
    for key, group in sorted(found.items(), key=lambda each: (-each[1].samples, str(each[0])))[:GROUPS_AT_MOST]:
        cells: list[Any] = list(key)
        for each in group.quantiles:
            cells += rounded([each.value, each.low, each.high])
        rows.append([*cells, group.samples, group.draws])
    return _report(store, asked, rows, "draws")


def _report(store: Store, asked: Asked, rows: list[list[Any]], draws: str) -> Report:
    quantiles = [(name + end, "us") for name, _ in QUANTILES for end in ("", "_low", "_high")]
    return Report(
        name="rtt",
        params=asked.params | {"of": asked.of or "connections"},
        columns=(*asked.by_columns, *quantiles, ("samples", ""), (draws, "")),
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
