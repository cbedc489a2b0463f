"""Two folders of logs against each other: the sentence first, then durations and causes."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from quiclens_command_line.show.tables import of_printable, titled
from quiclens_questions.causes import look
from quiclens_questions.diff_words import cells, left_out, sentence
from quiclens_questions.documents import ChangedFigure, DiffDocument


@of_printable
def diff_view(document: DiffDocument) -> Iterator[RenderableType]:
    yield Text(sentence(document), style="bold")
    yield Text()
    durations = [(each["name"], each) for each in document["durations"]]
    causes = [(look(each["name"]).name, each) for each in document["causes"]]
    if durations:
        yield _table(f"Durations, {document['vantage']}'s logs", durations)
        yield _table("Mean time by cause", causes)
    for name, side in (("before", document["old"]), ("after", document["new"])):
        if left := left_out(side):
            yield Text(f"left out {name}: {left}", style="dim")
    note = f"sure: with nothing changed, one comparison in {round(1 / document['level'])} has any such figure"
    yield Text(note, style="dim")


def _table(title: str, figures: Sequence[tuple[str, ChangedFigure]]) -> RenderableType:
    table = titled(title)
    table.add_column("", no_wrap=True, is_heading=True)
    for name, rank in (("before", 2), ("after", 2), ("difference", 0), ("95 % interval", 1), ("", 0)):
        table.add_column(name, justify="right", no_wrap=True, rank=rank)
    for name, each in figures:
        table.add_row(*(Text(text) for text in (name, *cells(each))))
    return table
