"""The published tables: an arm against another, sessions, use rate, load, grid."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from quiclens_command_line.show.reports_of_connections import TOO_FEW, group_of, in_sections, samples, with_interval
from quiclens_command_line.show.slow import coverage_line, shown
from quiclens_command_line.show.tables import of_printable, titled
from quiclens_questions.compare import COMPARED, PATHS
from quiclens_questions.report import Report, ReportQuestion
from quiclens_questions.report_words import figure_words, stratum_words, words_of
from quiclens_questions.units import duration

Row = Mapping[str, Any]
_ENDS = ("_low", "_high")
_WORSE_IF_MORE = frozenset([*(name for name, _ in (*COMPARED, *PATHS)), "failed"])


@of_printable
def compare_view(report: Report, asked: ReportQuestion) -> Iterator[RenderableType]:
    """A section for each group, stratum and arm; in it a row for each figure."""
    base, between = report.params["base"], report.params["between"]
    if not report.rows:
        yield Text(words_of(report).nothing)
        yield coverage_line(report.coverage)
        return
    for warning in report.warnings:
        yield Text(warning["text"], style="yellow")
    table = titled(f"{words_of(report).title} [95 % interval]")
    for name in (*asked.by, "stratum", between, "figure"):
        table.add_column(name.replace("_", " "), no_wrap=True)
    for name, rank in (("value", 1), (f"of {base}", 2), ("difference", 0), ("samples", 3), (f"samples of {base}", 4)):
        table.add_column(name, justify="right", no_wrap=True, rank=rank)
    group = group_of(asked)
    for leading, row in in_sections(
        table, report.dicts(), lambda row: [*group(row), stratum_words(row["stratum"]), row["arm"]]
    ):
        table.add_row(
            *leading,
            Text(figure_words(row["figure"])),
            *(_value(row[name], row["unit"]) for name in ("value", "base_value")),
            _change(row),
            *(samples(row[name]) for name in ("samples", "base_samples")),
        )
    yield table
    note = f"{words_of(report).notes[0]}; ? = too few to bound; too few = below one beyond it"
    yield Text(note, style="dim")
    yield coverage_line(report.coverage)


def _value(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    return duration(int(value)) if unit == "us" else f"{100 * value:.1f} %" if unit == "share" else f"{value:,}"


def _change(row: Row) -> Text:
    """By what share a quantile differs, or the users of an arm from the plan; shares by points."""
    if row["difference"] is None:
        return Text("too few", style="yellow")
    value, low, high = (
        "?" if each is None else f"{100 * each:+.1f}"
        for each in (row["difference"], row["difference_low"], row["difference_high"])
    )
    is_sure = row["difference_low"] is not None and row["difference_high"] is not None
    judged = is_sure and not row["difference_low"] <= 0 <= row["difference_high"] and row["figure"] in _WORSE_IF_MORE
    unit = " points" if row["unit"] == "share" else " %"
    return Text(f"{value}{unit} [{low} … {high}]", style=_sign(row["difference"]) if judged else "")


def _sign(difference: float) -> str:
    return "green" if difference < 0 else "red"


@of_printable
def table_view(report: Report, asked: ReportQuestion) -> Iterator[RenderableType]:
    """As it is: coverage, use rate, load, grid."""
    words = words_of(report)
    if report.rows:
        yield _table(report, words.title)
        yield Text(f"{'; '.join(words.notes)}; {TOO_FEW}", style="dim")
    else:
        yield Text(words.nothing)
    yield coverage_line(report.coverage)


def _table(report: Report, title: str) -> Table:
    """Every column once: the ends of an interval stand with their value."""
    names = [name for name, _ in report.columns]
    units = dict(report.columns)
    kept = [name for name in names if not any(name.endswith(end) and name.removesuffix(end) in units for end in _ENDS)]
    rows = report.dicts()
    kept = [name for name in kept if any(row[name] is not None for row in rows)]
    table = titled(f"{title} [95 % interval]")
    texts = {name for name in kept if all(isinstance(row[name], str | None) for row in rows)}
    for name in kept:
        rank = {"clusters": 2, "samples": 1}.get(name, 0)
        table.add_column(name.replace("_", " "), justify="left" if name in texts else "right", no_wrap=True, rank=rank)
    for row in rows:
        table.add_row(*(_cell(row, name, units) if name in texts or row[name] is not None else "–" for name in kept))
    return table


def _cell(row: Row, name: str, units: dict[str, str]) -> str | Text:
    value = row[name]
    if name + "_low" in units:
        return with_interval(value, row[name + "_low"], row[name + "_high"], unit=units[name])
    if name == "samples":
        return samples(value)
    if name == "figure":
        return Text(figure_words(value))
    if name == "note":
        return Text(value or "")
    return Text(f"{value:,}" if isinstance(value, int | float) else shown(value))
