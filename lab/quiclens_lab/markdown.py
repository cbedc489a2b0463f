"""Tables in Markdown."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A table without a line feed at its end; what is None is a dash."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join("-" if cell is None else str(cell) for cell in row) + " |" for row in rows)
