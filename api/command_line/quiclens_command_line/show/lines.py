"""What was taken from a table or a topic of somebody else's."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from quiclens_command_line.show.tables import of_printable


@of_printable
def lines_view(document: dict[str, Any]) -> Iterator[RenderableType]:
    read = f"{document['rows']:,} rows" if "rows" in document else f"{document['messages']:,} messages"
    yield Text(f"{document['source']}: {read}, {document['lines']:,} request lines")
    for reason, count in document["rejected"].items():
        yield Text(f"rejected, {reason}: {count:,}", style="yellow")
    if document["erased"]:
        yield Text(f"dropped, erased before: {document['erased']:,} rows", style="yellow")
