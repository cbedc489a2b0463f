"""`report races`: QUIC against TCP, and IPv6 against IPv4, as apps logged them: outcomes, errors by value, how long."""

from collections.abc import Iterator

from quiclens_schema.store import Store

from quiclens_questions.figures import Cells, Figures, figures_report, mean_row, quantile_rows, share_row, shared
from quiclens_questions.report import Report, ReportQuestion

ERRORS_AT_MOST = 20
"""Errors that have a row of their own. An app may write any text there."""
_RACES = "won_by_quic"


def races(store: Store, asked: ReportQuestion) -> Report:
    """One row per figure and group: the figure, its 95 % interval by app, and its samples. Errors are shares of all
    races."""
    most = {"errors": ERRORS_AT_MOST}
    return figures_report(store, asked, "races", "race_figures", _RACES, _figures, most, averages="family_delays")


def _figures(found: Figures) -> Iterator[Cells]:
    for figure in (_RACES, "quic_late", "quic_cancelled", "quic_failed"):
        yield share_row(figure, shared(found, figure))
    errors = [error for figure, error in found if figure == "quic_failed_with" and shared(found, figure, error).hits]
    for error in sorted(errors, key=lambda each: (-(shared(found, "quic_failed_with", each).share.value or 0), each)):
        yield share_row(f"quic_failed_with_{error}", shared(found, "quic_failed_with", error))
    if shared(found, "quic_failed_otherwise").hits:
        yield share_row("quic_failed_otherwise", shared(found, "quic_failed_otherwise"))
    for figure in ("quic", "tcp", "tcp_delay"):
        yield from quantile_rows(figure, "us", None, found.get((figure, "")))
    for protocol in sorted({name for figure, name in found if figure == "ipv6"}):
        for figure in ("ipv6", "timer_fired", "second_won"):
            yield share_row(f"{figure}_of_{protocol or 'unknown'}", shared(found, figure, protocol))
        yield mean_row(f"added_mean_of_{protocol or 'unknown'}", "us", None, found.get(("added_mean", protocol)))
