"""Which causes a log can show: one table for each stack and side, however many files it has."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from quiclens_command_line.show.tables import of_printable, titled
from quiclens_questions.causes import look
from quiclens_questions.collector import VANTAGES
from quiclens_questions.report import Report

_KNOWN = {"observed": ("yes", "green"), "inferred": ("inferred", "yellow"), "cannot": ("no", "red")}
_UNREAD = {
    "events": "events that are kept and not read",
    "fields": "fields that are kept and not read",
    "values": "values that their field cannot have, kept and not read",
}
_NAMED = 20  # of each kind

Row = Mapping[str, Any]


class CauseAnswer(NamedTuple):
    """What one trace says of one cause."""

    known: str
    because: str
    switch_on: tuple[str, ...]


Answers = tuple[tuple[CauseAnswer, int], ...]  # the most frequent first, each with how many traces say so


@of_printable
def check_view(report: Report) -> Iterator[RenderableType]:
    """The server's side first: it is the one that can show why."""
    sides: dict[tuple[str, str], list[Row]] = {}
    for row in report.dicts():
        sides.setdefault((row["vantage"] or "unknown", row["stack"] or "unknown stack"), []).append(row)
    for vantage, stack in sorted(sides, key=lambda each: (_rank(each[0]), each)):
        yield from _side(stack, vantage, sides[vantage, stack])
    if not sides:
        yield Text("No trace was found in it.")
    yield from _damaged(report.params.get("damage", []), report.params.get("grades", {}))
    yield from _unread(report.params.get("unread", {}))
    yield from _rejects(report.params.get("rejects", []))


def _side(stack: str, vantage: str, rows: Sequence[Row]) -> Iterator[RenderableType]:
    traces, files = len({row["trace"] for row in rows}), len({row["file"] for row in rows})
    title = f"{stack}, {vantage} side: {_count(traces, 'trace')} in {_count(files, 'file')}"
    is_mixed = any(len(answers) > 1 for _, answers in answered(rows))
    table = titled(title)
    for name in ("cause", "can be shown", *(["traces"] if is_mixed else []), "because", "switch on"):
        table.add_column(name, overflow="fold", justify="right" if name == "traces" else "left")
    for causes, answers in answered(rows):
        _add(table, causes, answers, is_mixed)
    yield table
    missing = Counter(word for row in rows for word in row["switch_on"])
    if missing:
        yield Text(f"switch on to see more: {', '.join(sorted(missing, key=lambda each: (-missing[each], each)))}\n")


def answered(rows: Sequence[Row]) -> list[tuple[list[str], Answers]]:
    """Causes of which the traces say the same, together, in the order of the first of each. Pure."""
    said: dict[str, Counter[CauseAnswer]] = {}
    for row in rows:
        answer = CauseAnswer(str(row["known"]), row["because"] or "", tuple(row["switch_on"]))
        said.setdefault(row["cause"], Counter())[answer] += 1
    together: dict[Answers, list[str]] = {}
    for cause, counts in said.items():
        together.setdefault(tuple(sorted(counts.items(), key=lambda each: (-each[1], each[0]))), []).append(cause)
    return [(causes, answers) for answers, causes in together.items()]


def _add(table: Table, causes: list[str], answers: Answers, is_mixed: bool) -> None:
    names = ", ".join(look(cause).name for cause in causes)
    for index, (answer, count) in enumerate(answers):
        word, colour = _KNOWN.get(answer.known, (answer.known, ""))
        table.add_row(
            Text(names if index == 0 else ""),
            Text(word, style=colour),
            *([f"{count:,}"] if is_mixed else []),
            Text(answer.because),
            Text(", ".join(answer.switch_on)),
        )


def _damaged(damage: Sequence[Row], grades: dict[str, int]) -> Iterator[RenderableType]:
    """What is missing in the logs; nothing where they are whole."""
    if not damage:
        return
    table = titled("Missing in these logs, or out of order")
    for name in ("what", "times", "traces", "change"):
        table.add_column(name, overflow="fold", justify="right" if name in ("times", "traces") else "left")
    for each in damage:
        cells = (each["kind"].replace("_", " "), f"{each['times']:,}", f"{each['traces']:,}", each["change"])
        table.add_row(*map(Text, cells))
    yield table
    told = ", ".join(
        f"{count:,} {grade}" for grade, count in sorted(grades.items(), key=lambda each: -each[1]) if grade
    )
    yield Text(f"answers about their requests: {told}\n")


def _unread(unread: Row) -> Iterator[Text]:
    """Everything stays in the store; nothing of this is in an answer."""
    for kind, title in _UNREAD.items():
        counts = sorted(unread.get(kind, {}).items(), key=lambda each: (-each[1], each[0]))
        if counts:
            named = ", ".join(f"{name} ({count:,})" for name, count in counts[:_NAMED])
            more = f" and {len(counts) - _NAMED:,} more, see --json" if len(counts) > _NAMED else ""
            yield Text(f"{title}: {named}{more}\n")


def _rejects(rejects: Sequence[Row]) -> Iterator[Text]:
    for reject in rejects:
        yield Text(f"rejected, {reject['reason']}: {reject['file']}", style="yellow")


def _rank(vantage: str) -> int:
    return VANTAGES.index(vantage) if vantage in VANTAGES else len(VANTAGES)


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
