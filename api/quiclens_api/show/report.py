"""Reports as tables: numbers with their unit and, where there is one, their interval."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from quiclens_api.questions.connections import FEW_SAMPLES, Report
from quiclens_api.show.slow import coverage_line, shown
from quiclens_api.show.tables import titled
from quiclens_api.units import age

_LOSS_NAMES = {
    "connections_with_loss": "connections with loss",
    "of_those_in_handshake": "  of those, in the handshake",
    "of_those_in_data": "  of those, in data",
    "retransmission_delay": "delay until retransmission",
    "detection_delay": "delay until declared lost",
    "retransmissions": "retransmissions of one range",
}


def rtt_view(report: Report, by: str) -> Iterator[RenderableType]:
    table = _table("Round trip times [95 % interval]".replace("[", "\\["), *([by] if by else []))
    for name in ("p50", "p75", "p95", "p99", "samples", "connections"):
        table.add_column(name, justify="right", no_wrap=True)
    skip = 1 if by else 0
    for row in report.rows:
        cells = row[skip:]
        quantiles = [_with_interval(*cells[i : i + 3], unit="us") for i in range(0, 12, 3)]
        table.add_row(*([shown(row[0])] if by else []), *quantiles, _samples(cells[12]), _samples(cells[13]))
    yield table
    yield from _footer(report, "intervals take connections as the draws; ? = too few to bound; few = below 30")


def loss_view(report: Report, by: str) -> Iterator[RenderableType]:
    table = _table("Loss and repair [95 % interval]".replace("[", "\\["), *([by] if by else []), "figure")
    for name in ("value", "samples"):
        table.add_column(name, justify="right", no_wrap=True)
    skip, before = (1 if by else 0), None
    for row in report.rows:
        figure, unit, value, low, high, samples = row[skip:]
        name, _, quantile = figure.rpartition("_p")
        words = _LOSS_NAMES.get(figure) or f"{_LOSS_NAMES.get(name, name)}, p{quantile}"
        group = [shown(row[0]) if before != row[0] else ""] if by else []
        before = row[0]
        table.add_row(*group, words, _with_interval(value, low, high, unit=unit), _samples(samples))
    yield table
    yield from _footer(
        report, "intervals: Wilson for shares, order statistics for quantiles; ? = too few to bound; few = below 30"
    )


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


def _table(title: str, *leading: str) -> Table:
    table = titled(title)
    for name in leading:
        table.add_column(name, no_wrap=True)
    return table


def _with_interval(value: float | None, low: float | None, high: float | None, *, unit: str) -> str:
    """A value and its interval in one unit, so that they compare at a glance."""
    if value is None:
        return "–"
    scale, digits, name = _scale(max(value, high or 0), unit)
    shown = [f"{each / scale:,.{digits}f}" if each is not None else "?" for each in (value, low, high)]
    return f"{shown[0]}{name} \\[{shown[1]} … {shown[2]}]"


def _scale(largest: float, unit: str) -> tuple[float, int, str]:
    if unit == "us":
        return (1e6, 2, " s") if largest >= 1e6 else (1e3, 0 if largest >= 1e5 else 1, " ms")
    return (0.01, 1, " %") if unit == "share" else (1, 0, "")


def _samples(count: int) -> str:
    return f"{count:,}" if count >= FEW_SAMPLES else f"[yellow]{count:,} few[/]"


def _cell(value: Any, unit: str) -> Text:
    if isinstance(value, datetime):
        return Text(f"{value:%Y-%m-%d %H:%M:%S}")
    if isinstance(value, dict):
        return Text(", ".join(f"{name} {count:,}" for name, count in value.items()) or "–")
    if isinstance(value, int):
        return Text(age(value) if unit == "s" else f"{value:,}")
    return Text("–" if value is None or value == "" else str(value))


def _footer(report: Report, note: str) -> Iterator[RenderableType]:
    yield Text(note, style="dim")
    if report.samples < FEW_SAMPLES:
        yield Text(f"too few samples ({report.samples}) to conclude anything", style="yellow")
    yield coverage_line(report.coverage)
