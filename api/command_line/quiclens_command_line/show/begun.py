"""Requests whose id begins as was asked."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from quiclens_command_line.show.slow import shown, started
from quiclens_command_line.show.tables import of_printable, titled
from quiclens_questions.begun import CONNECTIONS_AT_MOST, Begun
from quiclens_questions.units import duration


@of_printable
def begun_view(begun: Begun) -> Iterator[RenderableType]:
    """A table, the longest first; nothing where there are none."""
    if not begun.requests:
        return
    table = titled(f"{begun.all:,} traced requests begin so")
    table.add_column("duration", justify="right", no_wrap=True)
    table.add_column("path", overflow="fold", max_width=40, rank=2)
    table.add_column("status", justify="right", no_wrap=True, rank=1)
    table.add_column("started (UTC)", overflow="fold", min_width=10, rank=3)
    table.add_column("request id", no_wrap=True, is_heading=True)
    for row in begun.requests:
        table.add_row(
            duration(row["duration_us"]),
            Text(shown(row["path"])),
            shown(row["status"]),
            started(row["started_at"]),
            Text(row["request_id"]),
        )
    yield Text()
    yield table
    if begun.is_cut:
        words = f"of the first {CONNECTIONS_AT_MOST} connections that begin so; more characters of the id say which"
        yield Text(words, style="yellow")
    elif len(begun.requests) < begun.all:
        yield Text(f"the {len(begun.requests)} longest of {begun.all:,} are shown", style="dim")
