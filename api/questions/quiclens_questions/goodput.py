"""`report goodput`: what connections deliver while they have something to send, what holds them then, how long they are
idle, and their outages."""

from collections.abc import Iterator

from quiclens_schema.store import Store

from quiclens_questions.figures import (
    Cells,
    Figures,
    figures_report,
    quantile_rows,
    share_row,
    shared,
    time_share_row,
)
from quiclens_questions.report import Report, ReportQuestion

LEAST_BYTES = 100_000
"""A connection that sends less spends its time in round trips, whatever the path could carry: it has no goodput."""
_OF_BUSY_TIME = (
    "time_in_cwnd_blocked",
    "time_in_bandwidth",
    "time_in_connection_flow_control",
    "time_in_recovery",
    "time_in_pto",
)


def goodput(store: Store, asked: ReportQuestion) -> Report:
    """One row per figure and group: the figure, its 95 % interval by user (else connection), and its samples."""
    least = {"least_bytes": LEAST_BYTES}
    return figures_report(store, asked, "goodput", "goodput_figures", "connections_with_outage", _figures, least)


def _figures(found: Figures) -> Iterator[Cells]:
    asked = shared(found, "connections_with_request")
    yield share_row("connections_with_request", asked)
    yield from quantile_rows("goodput", "bit/s", None, found.get(("goodput", "")))
    yield time_share_row("time_idle", shared(found, "time_idle"), asked.hits)
    for figure in _OF_BUSY_TIME:
        yield time_share_row(figure, shared(found, figure), asked.hits)
    yield share_row("connections_with_outage", shared(found, "connections_with_outage"))
    yield from quantile_rows("outage", "us", None, found.get(("outage", "")))
    yield from quantile_rows("outage_recovery", "us", None, found.get(("outage_recovery", "")))
