"""`report loss`: how often connections lose packets and how long repairs take, as Uber published it (2019)."""

from collections.abc import Iterator

from quiclens_schema.store import Store

from quiclens_questions.figures import Cells, Figures, figures_report, quantile_rows, share_row, shared
from quiclens_questions.report import Report, ReportQuestion

# Figures of repairs: name, unit, decimals.
_REPAIRS = (
    ("retransmission_delay", "us", None),
    ("retransmission_delay_rtts", "rtt", 3),
    ("retransmissions", "", None),
    ("detection_delay", "us", None),
)


def loss(store: Store, asked: ReportQuestion) -> Report:
    """One row per figure and group: the figure, its 95 % interval by user (else connection), and its samples."""
    return figures_report(store, asked, "loss", "loss_figures", "connections_with_loss", _figures)


def _figures(found: Figures) -> Iterator[Cells]:
    for figure in (
        "connections_with_loss",
        "of_those_in_handshake",
        "of_those_in_data",
        "packets_lost",
        "packets_lost_in_lossy",
        "packets_retransmitted",
    ):
        yield share_row(figure, shared(found, figure))
    for figure, unit, digits in _REPAIRS:
        yield from quantile_rows(figure, unit, digits, found.get((figure, "")))
    for figure in ("losses_spurious", "connections_with_pto", "ptos_spurious", "detected_after_4_rtts"):
        yield share_row(figure, shared(found, figure))
    met = [
        (each.samples, trigger, each)
        for (figure, trigger), each in found.items()
        if figure == "detection" and each.samples
    ]
    for _, trigger, told in sorted(met, key=lambda each: (-each[0], each[1])):
        name = trigger or "unknown"
        yield share_row(f"lost_by_{name}", shared(found, "detection", trigger))
        yield from quantile_rows(f"detection_by_{name}", "rtt", 3, told)
