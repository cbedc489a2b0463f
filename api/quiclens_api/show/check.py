"""Which causes a log can show, one block for each kind of trace in it."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from quiclens_api.questions.connections import Report
from quiclens_api.show.causes import look
from quiclens_api.show.tables import titled

_KNOWN = {"observed": ("yes", "green"), "inferred": ("inferred", "yellow"), "cannot": ("no", "red")}


def check_view(report: Report) -> Iterator[RenderableType]:
    """Traces that can show the same are shown once."""
    kinds: dict[tuple[Any, ...], int] = {}
    for _, rows in groupby(report.rows, key=lambda row: row[0]):
        kind = tuple((row[1], row[2], row[3], row[4], row[5], tuple(row[6])) for row in rows)
        kinds[kind] = kinds.get(kind, 0) + 1
    for kind, count in kinds.items():
        yield _kind(kind, count)
    if not kinds:
        yield Text("No trace was found in it.")


def _kind(kind: tuple[Any, ...], count: int) -> Table:
    stack, vantage = kind[0][0] or "unknown stack", kind[0][1] or "unknown vantage"
    traces = f"{count:,} trace{'' if count == 1 else 's'}"
    title = f"{stack}, {vantage}: {traces}"
    table = titled(title)
    for name in ("cause", "can be shown", "because", "switch on"):
        table.add_column(name, overflow="fold")
    for _, _, cause, known, because, switch_on in kind:
        word, colour = _KNOWN.get(known, (str(known), ""))
        table.add_row(look(cause).name, Text(word, style=colour), Text(because or ""), Text(", ".join(switch_on)))
    return table
