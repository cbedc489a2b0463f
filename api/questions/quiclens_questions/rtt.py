"""`report rtt`: round trip times of connections, as Uber compared carriers in India (2019).

Of connections they are of every sample that a trace has. Of requests they are of one figure each, the smoothed round
trip when the request ended: of QUIC as traced, of TCP (and of QUIC without a trace) as the server logged it, so that
both can be compared.
"""

from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.clustered import sampled
from quiclens_questions.report import GROUPS_AT_MOST, Report, ReportQuestion
from quiclens_questions.slow import report_coverage
from quiclens_questions.statements import together

QUANTILES = (("p50", 0.5), ("p75", 0.75), ("p95", 0.95), ("p99", 0.99))


def rtt(store: Store, asked: ReportQuestion) -> Report:
    """One row, or one for each group, most samples first; quantiles with 95 % intervals by user, else by connection."""
    samples = "request_rtts" if asked.of == "requests" else "connection_rtts"
    levels = [quantile for _, quantile in QUANTILES]
    found, coverage = together(
        lambda: sampled(store, samples, asked, asked.by, levels, asked.window, GROUPS_AT_MOST),
        lambda: report_coverage(store, asked.where, asked.window),
    )
    rows = []
    for key, group in found.by_key.items():
        cells: list[Any] = list(key)
        for each in group.quantiles:
            cells += each.rounded()
        rows.append([*cells, group.samples, group.clusters])
    quantiles = [(name + end, "us") for name, _ in QUANTILES for end in ("", "_low", "_high")]
    return Report(
        name="rtt",
        params=asked.params | {"of": asked.of or "connections"},
        columns=(*asked.by_columns, *quantiles, ("samples", ""), ("clusters", "")),
        rows=rows,
        samples=found.samples,
        coverage=coverage,
        groups=found.all,
        groups_shown=len(rows),
    )
