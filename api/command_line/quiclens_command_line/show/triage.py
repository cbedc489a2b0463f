"""What has become worse, in sentences."""

from collections.abc import Iterator
from shlex import quote

from rich.console import RenderableType
from rich.text import Text

from quiclens_command_line.show.slow import coverage_line
from quiclens_command_line.show.tables import in_one_line, of_printable
from quiclens_questions.documents import TriageDocument
from quiclens_questions.moment import whole_seconds
from quiclens_questions.triage_words import clock, filters
from quiclens_questions.units import duration


@of_printable
def triage_view(document: TriageDocument) -> Iterator[RenderableType]:
    stretch = f"{document['since']:%Y-%m-%d %H:%M} to {clock(document['until'], document['since'])} UTC"
    if not document["coverage"]["requests"]:
        yield Text(f"No requests from {stretch}.")
        return
    if not document["findings"]:
        yield Text(f"Nothing that chance does not explain, {stretch}.")
    for finding in document["findings"]:
        yield Text(finding["sentence"], style="bold")
        conditions = " ".join(f"--where {quote(text)}" for text in filters(finding, document))
        yield in_one_line(f"  quiclens slow --since {whole_seconds(finding['since'])} {conditions}".rstrip())
        for each in finding["examples"]:
            yield in_one_line(f"  quiclens explain {quote(each['request_id'])}   # {duration(each['duration_us'])}")
        yield Text()
    before = f"{document['before_since']:%Y-%m-%d %H:%M}"
    yield Text(f"{document['tested']:,} comparisons with the time since {before}", style="dim")
    yield coverage_line(document["coverage"])
