"""The list of slow requests as a table."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from quiclens_command_line.show.bars import single
from quiclens_command_line.show.tables import of_printable, titled
from quiclens_questions.causes import look
from quiclens_questions.units import duration, share, times

Row = Mapping[str, Any]


@of_printable
def slow_view(
    document: Row, by: str = "", title: str = "Slowest requests", is_by_usual: bool = False
) -> Iterator[RenderableType]:
    """One table, with a section for each value of `by`, and how many requests it was drawn from; with what is usual, if
    it is sorted by that."""
    if not document["requests"]:
        yield Text("No requests match.")
    else:
        if is_by_usual:
            title = f"{title} beside what is usual"
        yield _table(document["requests"], by, f"{title} by {by}" if by else title, is_by_usual)
        if left_out := _values_line(document, by):
            yield left_out
    yield coverage_line(document["coverage"])


def coverage_line(coverage: Row) -> Text:
    requests, traced, weight = coverage["requests"], coverage["traced"], coverage["weight"]
    words = f"drawn from {requests:,} requests, {traced:,} of them traced ({share(traced, requests)})"
    if missing := ", ".join(f"{coverage[grade]:,} {grade}" for grade in ("repaired", "damaged") if coverage.get(grade)):
        words += f"; records of the log are missing: {missing}"
    if abs(weight - requests) >= 0.5:
        words += f", standing for {weight:,.0f}"
    return Text(words, style="dim")


def groups_line(groups: int | None, groups_shown: int | None) -> Text | None:
    """How many groups have no row, where some have none."""
    if not groups or not groups_shown or groups <= groups_shown:
        return None
    words = f"{groups_shown:,} of {groups:,} groups are shown, those with most; totals are of all (--where chooses)"
    return Text(words, style="yellow")


def _values_line(document: Row, by: str) -> Text | None:
    """That not all requests of all values are there, where that is so."""
    if document.get("values") is None:
        return None
    shown, values = document["values_shown"], document["values"]
    words = f"{len(document['requests']):,} requests are shown, the slowest, of {shown:,} of {values:,} values of {by}"
    return Text(f"{words}; the others' are left out (--where chooses)", style="yellow")


def shown(value: Any) -> str:
    return "unknown" if value is None or value == "" else str(value)


def _table(rows: Sequence[Row], by: str, title: str, is_by_usual: bool) -> Table:
    """Every row once; a value of `by` stands once, beside its first row, and not again among the client's columns."""
    client = tuple(name for name in ("carrier", "region") if name != by)
    groups = _grouped(rows, by) if by else [(None, rows)]
    table = titled(title)
    if by:
        table.add_column(by, overflow="fold", style="bold", max_width=40)
    table.add_column("duration", justify="right", no_wrap=True)
    if is_by_usual:
        table.add_column("beside usual", justify="right", no_wrap=True)
    table.add_column("mostly", no_wrap=True)
    table.add_column("request", overflow="fold", max_width=40, rank=2)
    table.add_column("status", justify="right", no_wrap=True, rank=4)
    table.add_column(" / ".join(client), overflow="fold", max_width=32, rank=1)
    table.add_column("started (UTC)", overflow="fold", min_width=10, rank=3)
    table.add_column("request id", no_wrap=True, is_heading=True)
    for value, group in groups:
        for index, row in enumerate(group):
            leading = [Text(shown(value) if index == 0 else "")] if by else []
            took, *cells = _cells(row, client)
            beside = [_beside_usual(row)] if is_by_usual else []
            table.add_row(*leading, took, *beside, *cells)
        if len(rows) > len(groups):
            table.add_section()
    return table


def _grouped(rows: Sequence[Row], by: str) -> list[tuple[Any, Sequence[Row]]]:
    ordered = sorted(rows, key=lambda row: _rank(row[by]))
    return [(value, list(group)) for value, group in groupby(ordered, key=lambda row: row[by])]


def _cells(row: Row, client: tuple[str, ...]) -> tuple[RenderableType, ...]:
    request = " ".join(str(row[name]) for name in ("method", "path") if row[name]) or "stream without HTTP events"
    where = " / ".join(str(row[name]) for name in client if row[name]) or "–"
    return (
        duration(row["duration_us"]),
        _mostly(row),
        Text(request),
        str(row["status"] or "–"),
        Text(where),
        started(row["started_at"]),
        Text(row["request_id"]),
    )


def _beside_usual(row: Row) -> str:
    """How many times as long as is usual, and what that is; nothing where too few are like it to say."""
    usual, took = row["usual_us"], row["duration_us"]
    return "–" if usual is None or took is None else f"{times(took, usual)} times {duration(usual)}"


def _mostly(row: Row) -> Text:
    if row["top_cause"] is None:
        # A trace explains a request without a duration as well: there is nothing to explain.
        return Text("no trace" if row["coverage"] == "none" else "took no time", style="dim")
    top, whole = row["top_cause_us"] or 0, row["duration_us"] or 0
    told = Text(f" {share(top, whole):>5} {look(row['top_cause']).name}")
    if row["grade"] == "damaged":
        told += Text(", damaged log", style="yellow")
    return single(row["top_cause"], top, whole, 8) + told


def started(started_at: datetime | None) -> str:
    return "undated" if started_at is None else f"{started_at:%Y-%m-%d %H:%M:%S}"


def _rank(value: Any) -> tuple[bool, Any]:
    return (value is None, 0 if value is None else value)
