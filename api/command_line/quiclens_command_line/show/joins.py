"""By what the lines of a mapping can find their traces."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from quiclens_command_line.show.tables import of_printable, titled
from quiclens_questions.documents import JoinsDocument
from quiclens_questions.joins import why


@of_printable
def joins_view(found: JoinsDocument) -> Iterator[RenderableType]:
    """How many can be joined and by what, what the others lack, and which columns have values."""
    table = titled(f"{found['source']}: {found['lines']:,} lines of the newest {found['looked_at']:,}")
    table.add_column("can be joined")
    table.add_column("lines", justify="right")
    table.add_column("share", justify="right")
    for name, count in (
        ("by connection id and stream", found["by_id"]),
        ("by client, method, path and time", found["by_client"]),
        ("to nothing: HTTP/1.1 or HTTP/2 has no QUIC trace", found["over_tcp"]),
        ("to nothing: something is missing", found["neither"]),
    ):
        table.add_row(name, f"{count:,}", f"{count / found['lines']:.1%}" if found["lines"] else "-")
    yield table
    for name, count in found["lacks"].items():
        yield Text(f"missing in {count:,}: {name}, {why(name)}", style="yellow")
    if found["without_time"]:
        yield Text(f"{found['without_time']:,} rows have no time and are never taken", style="yellow")
    for reason, count in found["rejected"].items():
        yield Text(f"rejected, {reason}: {count:,}", style="yellow")
    if found["rejected_text"]:
        yield Text(f"the first of these: {found['rejected_text']}")
    told = (f"{name} {count / found['lines']:.0%}" for name, count in found["filled"].items()) if found["lines"] else ()
    yield Text(f"columns with a value: {', '.join(told)}")
