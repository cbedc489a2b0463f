"""`report rtt`: round trip times of connections, as Uber compared carriers in India (2019).

Of connections they are of every sample that a trace has, and beside them is how much the samples of a connection vary:
the mean over connections of their standard deviation. Of requests they are of one figure each, the smoothed round
trip when the request ended: of QUIC as traced, of TCP (and of QUIC without a trace) as the server logged it, so that
both can be compared.
"""

from collections.abc import Mapping
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.clustered import Key, Mean, means, sampled
from quiclens_questions.connections import by_time
from quiclens_questions.report import GROUPS_AT_MOST, Report, ReportQuestion
from quiclens_questions.slow import report_coverage
from quiclens_questions.statements import together
from quiclens_questions.statistics.estimates import Estimate

QUANTILES = (("p50", 0.5), ("p75", 0.75), ("p95", 0.95), ("p99", 0.99))
DEVIATION = "deviation"
_ENDS = ("", "_low", "_high")


def rtt(store: Store, asked: ReportQuestion) -> Report:
    """One row, or one for each group, most samples first; each figure with its 95 % interval by user, else by
    connection."""
    of_requests = asked.of == "requests"
    samples, parameters = ("request_rtts", asked.window) if of_requests else ("connection_rtts", asked.parameters)
    levels = [quantile for _, quantile in QUANTILES]
    found, deviations, coverage = together(
        lambda: sampled(store, samples, asked, asked.by, levels, parameters, GROUPS_AT_MOST),
        lambda: {} if of_requests else _deviations(store, asked),
        lambda: report_coverage(store, asked.where, asked.window),
    )
    figures = [name for name, _ in QUANTILES] + ([] if of_requests else [DEVIATION])
    rows = []
    for key in by_time(list(found.by_key), asked.by):
        group, cells = found.by_key[key], list[Any](key)
        for each in group.quantiles:
            cells += each.rounded()
        if not of_requests:
            cells += (deviations[key].mean if key in deviations else Estimate(None)).rounded()
        rows.append([*cells, group.samples, group.clusters])
    return Report(
        name="rtt",
        params=asked.params | {"of": asked.of or "connections"},
        columns=(
            *asked.by_columns,
            *((name + end, "us") for name in figures for end in _ENDS),
            ("samples", ""),
            ("clusters", ""),
        ),
        rows=rows,
        samples=found.samples,
        coverage=coverage,
        groups=found.all,
        groups_shown=len(rows),
    )


def _deviations(store: Store, asked: ReportQuestion) -> Mapping[Key, Mean]:
    """Of each group, the mean over connections of the standard deviation of a connection's samples."""
    return means(store, "rtt_deviations", asked, asked.by, asked.parameters).by_key
