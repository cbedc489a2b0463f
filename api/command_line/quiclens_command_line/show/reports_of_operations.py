"""The tables of operations: how connections ended, packets on the wrong host, restarts, races."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from quiclens_command_line.show.reports_of_connections import (
    TOO_FEW,
    footer,
    group_of,
    in_sections,
    samples,
    with_interval,
)
from quiclens_command_line.show.slow import coverage_line, shown
from quiclens_command_line.show.tables import of_printable, titled
from quiclens_questions.moment import whole_seconds
from quiclens_questions.report import Report, ReportQuestion
from quiclens_questions.report_words import figure_words, words_of
from quiclens_questions.units import duration


@of_printable
def closes_view(report: Report, asked: ReportQuestion) -> Iterator[RenderableType]:
    words = words_of(report)
    if not report.rows:
        yield Text(words.nothing)
        yield coverage_line(report.coverage)
        return
    table = titled(f"{words.title} [95 % interval]")
    for name in (*asked.by, "how", "closed by"):
        table.add_column(name.replace("_", " "), no_wrap=True)
    for name in ("share", "connections", "of"):
        table.add_column(name, justify="right", no_wrap=True)
    for leading, row in in_sections(table, report.dicts(), group_of(asked)):
        told = with_interval(row["share"], row["share_low"], row["share_high"], unit="share")
        closed_by = shown(row["closed_by"]) if row["reason"] or row["code"] else ""
        table.add_row(
            *leading, Text(_how(row)), Text(closed_by), told, f"{row['connections']:,}", samples(row["samples"])
        )
    yield table
    yield Text(words.notes[0], "dim")
    yield from footer(report, f"{words.notes[1]}; {TOO_FEW}")


def _how(row: Mapping[str, Any]) -> str:
    figure, reason, code = str(row["figure"]), row["reason"], row["code"]
    if figure != "ended_by":
        return figure_words(figure)
    told = ([str(reason)] if reason else []) + ([f"code {code}"] if code else [])
    return f"  {', '.join(told) or 'no close was logged'}"


@of_printable
def misrouted_view(report: Report, asked: ReportQuestion) -> Iterator[RenderableType]:
    counted = report.coverage
    if report.rows:
        places = [name for name, _ in report.columns if name.startswith(("landed_", "meant_"))]
        table = titled(words_of(report).title)
        for name in places:
            table.add_column(name.replace("landed_", "landed on ").replace("meant_", "meant for "), no_wrap=True)
        for name in ("packets", "of those meant for it"):
            table.add_column(name, justify="right", no_wrap=True)
        for rank, name in ((2, "first"), (1, "last")):
            table.add_column(name, no_wrap=True, rank=rank)
        for row in report.dicts():
            when = [Text(whole_seconds(row[name])) for name in ("first_at", "last_at")]
            table.add_row(
                *(Text(shown(row[name])) for name in places),
                f"{row['packets']:,}",
                _share(row["misrouted_share"]),
                *when,
            )
        yield table
    else:
        yield Text(words_of(report).nothing)
    if counted.get("hosts"):
        received, wrong = counted["packets_received"], counted["packets_wrong_host"]
        unknown = counted["packets_connection_unknown"]
        yield Text(
            f"{counted['hosts']:,} hosts received {received:,} packets: {wrong:,} on the wrong host"
            f" ({_share(wrong / received if received else None)}); {unknown:,} on the right one, of connections that"
            " are over, which no routing mends",
            style="dim",
        )


@of_printable
def restarts_view(report: Report, asked: ReportQuestion) -> Iterator[RenderableType]:
    if not report.rows:
        yield Text(words_of(report).nothing)
        return
    by: Sequence[str] = report.params["by"]
    ranks = {"connection_unknown": 3, "received": 4, "took_us": 2, "restarts": 5}
    table = titled(words_of(report).title)
    for name in by:
        table.add_column(name.replace("_", " "), no_wrap=True)
    counts = [name for name, _ in report.columns if name not in by]
    for name in counts:
        head = {"took_us": "took", "hop_lost_share": "lost between"}.get(name, name.replace("_", " "))
        table.add_column(head, justify="right", no_wrap=True, rank=ranks.get(name, 0))
    for row in report.dicts():
        group = [Text(f"{row[name]} s" if name == "since_start" else shown(row[name])) for name in by]
        table.add_row(*group, *(_count(row, name) for name in counts))
    yield table
    yield Text(words_of(report).notes[0], style="dim")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.2f} %"


def _count(row: Mapping[str, Any], name: str) -> str:
    value = row[name]
    if name == "hop_lost_share":
        return _share(value)
    if value is None:
        return "–"
    return duration(value) if name == "took_us" else f"{value:,}"
