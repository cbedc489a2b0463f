"""The tail of the durations as a table: a quantile per column, and with a cause left out what it would have been."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from quiclens_command_line.show.reports_of_connections import samples, with_interval
from quiclens_command_line.show.slow import coverage_line, shown
from quiclens_command_line.show.tables import of_printable, titled
from quiclens_questions.report import Report, ReportQuestion
from quiclens_questions.report_words import words_of
from quiclens_questions.rtt import QUANTILES

# Those with the largest number go first where a terminal has no room.
_RANKS = {"failed": 1, "p75": 2, "requests": 3, "ended well": 4, "traced": 5}

Row = Mapping[str, Any]


@of_printable
def tail_view(report: Report, asked: ReportQuestion) -> Iterator[RenderableType]:
    if not report.rows:
        yield Text(words_of(report).nothing)
    else:
        yield _without(report, asked) if asked.without else _plain(report, asked)
        yield from _notes(report, asked)
    yield coverage_line(report.coverage)
    if asked.without:
        yield _compared(report.coverage)


def _plain(report: Report, asked: ReportQuestion) -> Table:
    table = titled(f"{words_of(report).title} [95 % sampling interval]")
    for name in asked.by:
        table.add_column(name, no_wrap=True)
    for name in (*(name for name, _ in QUANTILES), "failed", "ended well", "requests", "traced"):
        table.add_column(name, justify="right", no_wrap=True, rank=_RANKS.get(name, 0))
    for row in report.dicts():
        quantiles = [_interval(row, name, "sampling") for name, _ in QUANTILES]
        failed = with_interval(row["failed"], row["failed_low"], row["failed_high"], unit="share")
        counts = (samples(row["samples"]), f"{row['requests']:,}", f"{row['traced']:,}")
        table.add_row(*_group(row, asked), *quantiles, failed, *counts)
    return table


def _without(report: Report, asked: ReportQuestion) -> Table:
    """A line for each quantile of each group."""
    table = titled(words_of(report).title)
    for name in asked.by:
        table.add_column(name, no_wrap=True)
    table.add_column("")
    for name in ("measured [sampling]", "without it [prediction]", "saved [prediction]", "samples"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in report.dicts():
        for index, (name, _) in enumerate(QUANTILES):
            table.add_row(
                *(_group(row, asked) if index == 0 else [Text()] * len(asked.by)),
                name,
                _interval(row, name, "sampling"),
                _interval(row, f"without_{name}", "prediction"),
                _interval(row, f"saved_{name}", "prediction"),
                samples(row["samples"]) if index == 0 else "",
            )
        table.add_section()
    return table


def _group(row: Row, asked: ReportQuestion) -> list[Text]:
    return [Text(shown(row[name])) for name in asked.by]


def _interval(row: Row, name: str, kind: str) -> str | Text:
    if row[name] is None:
        return Text("too few", style="yellow")
    return with_interval(row[name], row[f"{name}_{kind}_low"], row[f"{name}_{kind}_high"], unit="us")


def _notes(report: Report, asked: ReportQuestion) -> Iterator[Text]:
    note = f"sampling {words_of(report).notes[0]}; ? = too few to bound"
    if any(row["note"] for row in report.dicts()):
        note += "; too few = fewer than one request expected beyond the quantile"
    yield Text(note, style="dim")
    if not asked.without:
        return
    ratios = report.params["ratios"]
    if ratios is None:
        yield Text("prediction: the lab has not measured this cause, so there is no interval", style="yellow")
    elif not ratios["samples"]:
        words = (
            f"prediction: a placeholder ({ratios['ratio_low']:g} to {ratios['ratio_high']:g} times what is predicted)"
        )
        yield Text(f"{words} until the lab has measured this cause", style="yellow")
    else:
        words = (
            f"prediction: true savings were {ratios['ratio_low']:.2f} to {ratios['ratio_high']:.2f} times the predicted"
        )
        yield Text(f"{words} in 95 % of {ratios['samples']:,} simulated requests", style="dim")


def _compared(coverage: Row) -> Text:
    words = (
        f"{coverage['compared']:,} traced and complete ones were compared, {coverage['with_saving']:,} of them had it"
    )
    if coverage["cannot_show"]:
        words += f"; the logs of {coverage['cannot_show']:,} cannot show this cause"
    return Text(words, style="dim")
