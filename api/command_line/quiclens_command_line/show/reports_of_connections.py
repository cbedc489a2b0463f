"""Reports as tables: numbers with their unit and, where there is one, their interval."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from quiclens_command_line.show.slow import coverage_line, shown
from quiclens_command_line.show.tables import FittedTable, of_printable, titled
from quiclens_questions.report import FEW_SAMPLES, Report, ReportQuestion
from quiclens_questions.report_words import figure_words, words_of
from quiclens_questions.rtt import DEVIATION, QUANTILES
from quiclens_questions.units import age

TOO_FEW = f"? = too few to bound; few = below {FEW_SAMPLES}"

Row = Mapping[str, Any]


@of_printable
def rtt_view(report: Report, asked: ReportQuestion) -> Iterator[RenderableType]:
    if not report.rows:
        yield from _nothing(report)
        return
    table = _table(f"{words_of(report).title} [95 % interval]", *asked.by)
    varies = [DEVIATION] if any(name == DEVIATION for name, _ in report.columns) else []
    names = [*(name for name, _ in QUANTILES), *varies]
    for name in (*names, "samples", "clusters"):
        rank = {"p75": 1, "samples": 2, "clusters": 3}.get(name, 0)
        table.add_column(name, justify="right", no_wrap=True, rank=rank)
    for row in report.dicts():
        quantiles = [with_interval(*(row[name + end] for end in ("", "_low", "_high")), unit="us") for name in names]
        group = [Text(shown(row[name])) for name in asked.by]
        table.add_row(*group, *quantiles, samples(row["samples"]), samples(row["clusters"]))
    yield table
    yield from footer(report, f"{'; '.join(words_of(report).notes)}; {TOO_FEW}")


@of_printable
def figures_view(report: Report, asked: ReportQuestion) -> Iterator[RenderableType]:
    """A row for each figure: loss, handshake, goodput, races."""
    words = words_of(report)
    if not report.rows:
        yield from _nothing(report)
        return
    table = _table(f"{words.title} [95 % interval]", *asked.by, "figure")
    for name in ("value", "samples"):
        table.add_column(name, justify="right", no_wrap=True)
    # Quantiles of nothing are left out; the shares say that there is nothing.
    rows = [row for row in report.dicts() if row["samples"] or row["unit"] == "share"]
    for leading, row in in_sections(table, rows, group_of(asked)):
        value: str | Text = with_interval(row["value"], row["low"], row["high"], unit=row["unit"])
        if row["value"] is None and row["samples"]:
            value = Text("too few", style="yellow")
        table.add_row(*leading, figure_words(row["figure"]), value, samples(row["samples"]))
    yield table
    *notes, intervals = words.notes
    yield from (Text(note, style="dim") for note in notes if report.samples)
    yield from footer(report, f"{intervals}; {TOO_FEW}")


@of_printable
def events_view(report: Report, asked: ReportQuestion) -> Iterator[RenderableType]:
    if not report.rows:
        yield from _nothing(report)
        return
    table = _table(f"{words_of(report).title} [95 % interval]", *asked.by, "figure")
    for name in ("value", "connections kept"):
        table.add_column(name, justify="right", no_wrap=True)
    for leading, row in in_sections(table, report.dicts(), group_of(asked)):
        if row["figure"].startswith("connections"):
            value = f"{row['value']:,}"
        else:
            value = with_interval(row["value"], row["low"], row["high"], unit=row["unit"])
        table.add_row(*leading, Text(row["figure"].replace("_", " ")), value, samples(row["samples"]))
    yield table
    yield from footer(report, f"{'; '.join(words_of(report).notes)}; ? = too few to bound")


def group_of(asked: ReportQuestion) -> Callable[[Row], list[str]]:
    """A row's values of what was asked by."""
    return lambda row: [shown(row[name]) for name in asked.by]


def in_sections(
    table: Table, rows: Iterable[Row], group_of_row: Callable[[Row], list[str]]
) -> Iterator[tuple[list[Text], Row]]:
    """Each row with its group, which stands once, beside its first row; a section for each."""
    before: list[str] | None = None
    for row in rows:
        group = group_of_row(row)
        if before is not None and group != before:
            table.add_section()
        yield [Text(each if group != before else "") for each in group], row
        before = group


@of_printable
def plain_view(report: Report, title: str, empty: str) -> Iterator[RenderableType]:
    """Any report as it is: failed, status."""
    if not report.rows:
        yield Text(empty)
        return
    table = _table(title)
    told = [index for index in range(len(report.columns)) if any(row[index] not in (None, {}) for row in report.rows)]
    for index in told:
        is_number = any(isinstance(row[index], int | float) for row in report.rows)
        table.add_column(
            report.columns[index][0].removesuffix("_s").replace("_", " "), justify="right" if is_number else "left"
        )
    for row in report.rows:
        table.add_row(*(_cell(row[index], report.columns[index][1]) for index in told))
    yield table
    yield coverage_line(report.coverage)


def _table(title: str, *leading: str) -> FittedTable:
    table = titled(title)
    for name in leading:
        table.add_column(name, no_wrap=True)
    return table


def with_interval(value: float | None, low: float | None, high: float | None, *, unit: str) -> str:
    """A value and its interval in one unit, so that they compare at a glance."""
    if value is None:
        return "–"
    scale, digits, name = _scale(max(value, high or 0), unit)
    shown = [f"{each / scale:,.{digits}f}" if each is not None else "?" for each in (value, low, high)]
    return f"{shown[0]}{name} [{shown[1]} … {shown[2]}]"


def _scale(largest: float, unit: str) -> tuple[float, int, str]:
    if unit == "us":
        return (1e6, 2, " s") if largest >= 1e6 else (1e3, 0 if largest >= 1e5 else 1, " ms")
    if unit == "rtt":
        return 1, 2, " RTT"
    if unit == "bit/s":
        return (1e6, 0 if largest >= 1e8 else 1, " Mbit/s") if largest >= 1e6 else (1e3, 0, " kbit/s")
    if unit == "1/s":
        return 1, 0 if largest >= 100 else 2, "/s"
    return (0.01, 1, " %") if unit == "share" else (1, 0, "")


def samples(count: int) -> Text:
    return Text(f"{count:,}") if count >= FEW_SAMPLES else Text(f"{count:,} few", style="yellow")


def _cell(value: Any, unit: str) -> Text:
    if isinstance(value, datetime):
        return Text(f"{value:%Y-%m-%d %H:%M:%S}")
    if isinstance(value, dict):
        return Text(", ".join(f"{name} {count:,}" for name, count in value.items()) or "–")
    if isinstance(value, int):
        return Text(age(value) if unit == "s" else f"{value:,}")
    return Text("–" if value is None or value == "" else str(value))


def _nothing(report: Report) -> Iterator[RenderableType]:
    yield Text(words_of(report).nothing)
    yield coverage_line(report.coverage)


def footer(report: Report, note: str) -> Iterator[RenderableType]:
    """What intervals are of, a warning where there is next to nothing, and how many requests it is drawn from."""
    yield Text(note, style="dim")
    if report.samples < FEW_SAMPLES:
        yield Text(f"too few samples ({report.samples}) to conclude anything", style="yellow")
    yield coverage_line(report.coverage)
