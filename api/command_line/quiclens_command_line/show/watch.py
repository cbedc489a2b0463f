"""Cells that have just become worse, as a table."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from quiclens_command_line.show.slow import coverage_line, shown
from quiclens_command_line.show.tables import of_printable, titled
from quiclens_questions.report import Report
from quiclens_questions.units import duration

_NUMBERS = ("before", "now", "times", "p99 before", "p99 now", "requests", "p")
# Those with the largest number go first where a terminal has no room.
_RANKS = {"requests": 1, "p99 before": 2, "p99 now": 2, "p": 3, "times": 4}
_MEASURES = {
    "failed": "failed",
    "handshake": "waited for a handshake",
    "not_quic": "not over QUIC",
    "loss": "lost packets",
    "retransmission": "waited for a retransmission",
}

Row = Mapping[str, Any]


@of_printable
def watch_view(report: Report) -> Iterator[RenderableType]:
    params = report.params
    stretch = f"{params['since']:%Y-%m-%d %H:%M} to {params['until']:%H:%M} UTC"
    if not report.coverage["requests"]:
        yield Text(f"No requests from {stretch}. --until T ends the stretch at another time.")
        return
    if not report.rows:
        yield Text(f"No cell has become worse, {stretch}.")
    else:
        by = params["by"]
        table = titled(f"Worse than before, {stretch}")
        for name in by:
            table.add_column(name, no_wrap=True, max_width=28)
        table.add_column("requests that", no_wrap=True)
        for name in _NUMBERS:
            table.add_column(name, justify="right", no_wrap=True, rank=_RANKS.get(name, 0))
        for row in report.dicts():
            table.add_row(*(Text(text) for text in (*_cell(row, by), _measure(row), *_figures(row))))
        yield table
    note = f"{params['tested']:,} cells tested ({params['tested_pooled']:,} of them pooled)"
    if params["left_out"]:
        note += f"; too few requests, now or before, in {params['left_out']:,} more ({params['left_out_requests']:,})"
    yield Text(f"{note}; of what is found in a week at most {params['rate']:.0%} is chance", style="dim")
    yield coverage_line(report.coverage)


def _cell(row: Row, by: list[str]) -> Iterator[str]:
    for place, name in enumerate(by):
        is_pooled = place >= len(by) - row["pooled"]
        yield "others" if is_pooled else shown(row[name])


def _measure(row: Row) -> str:
    if row["measure"] == "duration":
        return f"took over {duration(row['beyond_us'])}"
    return _MEASURES[row["measure"]]


def _figures(row: Row) -> Iterator[str]:
    yield from (f"{row[name]:.2%}" for name in ("share_before", "share"))
    yield f"{row['times_more']:,.1f}" if row["times_more"] else "–"
    yield from ("–" if row[name] is None else duration(row[name]) for name in ("p99_before", "p99"))
    yield from (f"{row['samples']:,}", f"{row['p']:.1g}")
