"""What a load did, and what to ask next."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from quiclens_command_line.show.tables import of_printable
from quiclens_questions.units import size


@of_printable
def load_view(document: dict[str, Any], next_step: str = "") -> Iterator[RenderableType]:
    seconds = max(document["seconds"], 1e-9)
    yield Text(
        f"{document['files']:,} files, {document['connections']:,} connections, {document['events']:,} events, "
        f"{document['requests']:,} access log lines"
    )
    rate = f"{document['bytes'] / seconds / 1e6:,.1f} MB/s, {document['events'] / seconds:,.0f} events/s"
    yield Text(f"{size(document['bytes'])} in {document['seconds']:.1f} s ({rate})", style="dim")
    for reason, count in document["rejected"].items():
        yield Text(f"rejected, {reason}: {count:,}", style="yellow")
    if document["values_unread"]:
        said = f"{document['values_unread']:,} values that their column cannot hold: kept, used by nothing"
        yield Text(f"{said}; `quiclens check` names those of traces", style="yellow")
    for limit, times in document["limits_crossed"].items():
        yield Text(f"a limit of the collector was crossed {times:,} times: `{limit}`", style="yellow")
    if document["erased"]:
        yield Text(f"dropped, erased before: {document['erased']:,} rows", style="yellow")
    if next_step and (document["connections"] or document["requests"]):
        yield Text(f"next: {next_step}", style="dim")
