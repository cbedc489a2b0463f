"""`report handshake`: how long handshakes take, what is lost in them as each end saw it, and what 0-RTT comes to."""

from collections.abc import Iterator

from quiclens_schema.store import Store

from quiclens_questions.figures import Cells, Figures, figures_report, quantile_rows, share_row, shared
from quiclens_questions.report import Report, ReportQuestion

_SHARES = (
    "connections_with_retry",
    "with_loss_seen_by_server",
    "with_loss_seen_by_client",
    "with_loss_unseen_by_server",
    "zero_rtt_attempted",
    "zero_rtt_accepted",
    "zero_rtt_rejected",
)


def handshake(store: Store, asked: ReportQuestion) -> Report:
    """One row per figure and group: the figure, its 95 % interval by user (else connection), and its samples."""
    return figures_report(store, asked, "handshake", "handshake_figures", "handshakes_complete", _figures)


def _figures(found: Figures) -> Iterator[Cells]:
    yield share_row("handshakes_complete", shared(found, "handshakes_complete"))
    yield from quantile_rows("handshake", "us", None, found.get(("handshake", "")))
    yield from quantile_rows("handshake_rtts", "rtt", 3, found.get(("handshake_rtts", "")))
    for figure in _SHARES:
        yield share_row(figure, shared(found, figure))
