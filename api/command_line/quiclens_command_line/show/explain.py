"""One request: a bar that adds up, its marks, its episodes, the log around it, and a sentence."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from quiclens_command_line.show.bars import StackedBar, fill
from quiclens_command_line.show.event_rows import event_rows
from quiclens_command_line.show.stretches import episode_rows, marks
from quiclens_command_line.show.tables import ANY_WIDTH, in_one_line, of_printable
from quiclens_questions.advice import ADVICE, worth_advice
from quiclens_questions.causes import look
from quiclens_questions.documents import Siblings
from quiclens_questions.explain import Explanation
from quiclens_questions.logged import logged_facts
from quiclens_questions.savings import REMOVABLE, ratios, savings_note
from quiclens_questions.sentence import missing
from quiclens_questions.units import duration, milliseconds, share, share_interval

_BAR_WIDTH = 72
_LEGEND: tuple[JustifyMethod, ...] = ("left", "left", "right", "right", "left", "left", "left")

Row = Mapping[str, Any]


class _LegendRow(NamedTuple):
    """One part of the bar."""

    swatch: Text
    cause: str
    us: str
    share: str
    known: str
    held: str
    saved: str


@of_printable
def explain_view(found: Explanation, events: int) -> Iterator[RenderableType]:
    document, stream = found.document, found.stream
    yield _title(found)
    yield Text()
    yield Text(document["sentence"], style="bold")
    if stream is not None:
        parts = document["parts"]
        yield Text()
        yield StackedBar([(part["cause"], part["us"]) for part in parts], _BAR_WIDTH)
        yield _Legend(document)
        yield marks(stream)
        if document["episodes"]:
            yield episode_rows(document["episodes"], document["episodes_all"], stream["start_us"])
        still_open = document["connection"].get("open_episodes")
        if isinstance(still_open, Sequence) and still_open:
            yield Text(f"not over when the trace ended: {', '.join(map(str, still_open))}", style="dim")
        if document["events"] and events:
            yield event_rows(document["events"], document["events_all"], stream, events)
        yield _coverage(document)
        yield from _interval_note(parts)
        yield from _bounds_note(document)
        hidden = missing(document["cannot_show"], stream["vantage"])
        if hidden:
            yield Text(f"this log cannot show: {', '.join(look(cause).name for cause in hidden)}", style="dim")
    elif found.request:
        yield Text()
        yield _logged(found.request)
        yield from _siblings(document["siblings"])
    for cause in worth_advice(document["parts"]):
        yield Text(f"what usually helps against {look(cause).name}: {ADVICE[cause]}", style="dim")


def _bounds_note(document: Row) -> Iterator[Text]:
    """Between what the parts lie, where records of the log are missing."""
    if document["grade"] not in ("repaired", "damaged"):
        return
    parts = [part["cause"] for part in document["parts"]]
    names = {**{cause: look(cause).name for cause in parts}, "duration": "duration"}
    bounds = [(names[name], *bounds) for name, bounds in document["bounds_us"].items() if name in names]
    between = "; between: " + ", ".join(f"{name} {duration(low)} to {duration(high)}" for name, low, high in bounds)
    between = between if bounds else ""
    yield Text(f"{document['grade']}: records of this log are missing{between}", style="yellow")


def _logged(request: Row) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in logged_facts(request):
        table.add_row(Text(name, style="dim"), value)
    return table


def _siblings(siblings: Siblings | None) -> Iterator[RenderableType]:
    """On what the time of traced requests like this one was spent: none of it is known of this one."""
    if siblings is None or not siblings["causes"]:
        return
    yield Text()
    yield Text("what traced requests like it spent their time on; of this one nothing is known")
    table = Table(box=None, show_header=False, pad_edge=False)
    for place, cause in enumerate(siblings["causes"]):
        between = share_interval(cause["low"], cause["high"])
        swatch = Text(fill(place) * 2, style=look(cause["cause"]).colour)
        table.add_row(swatch, look(cause["cause"]).name, share(cause["share"] or 0, 1), Text(between, style="dim"))
    yield table
    for request_id in siblings["examples"]:
        yield in_one_line(f"for instance: quiclens explain {request_id}")


def _title(found: Explanation) -> Text:
    document, status = found.document, found.told("status")
    title = Text(document["request_id"], style="bold")
    for word in (found.line, f"status {status}" if status else "", *_who(found.request)):
        if word:
            title.append(f"  {word}", style="not bold")
    if document["duration_us"] is not None:
        title.append(f"  {duration(document['duration_us'])}", style="bold")
    logged = document["logged_duration_us"]
    if logged is not None and found.stream is not None:
        title.append(f" (access log: {duration(logged)})", style="not bold dim")
    return title


def _who(request: Row) -> list[str]:
    return [str(request[name]) for name in ("carrier", "region", "server") if request.get(name)]


class _Legend:
    """Each part with its share, how long its condition held in all, and what its absence would have saved. Where the
    terminal has no room, the last two stand below."""

    def __init__(self, document: Row) -> None:
        total, held = document["duration_us"], document["overlapping"]
        self._rows = [
            _LegendRow(
                Text(fill(index) * 2, style=look(part["cause"]).colour),
                look(part["cause"]).name,
                f"{milliseconds(part['us'], 3)} ms",
                share(part["us"], total),
                part["known"] if part["known"] == "inferred" else "",
                f"held {duration(in_all)} in all" if (in_all := held.get(part["cause"], 0)) > part["us"] else "",
                _saves(part),
            )
            for index, part in enumerate(document["parts"])
        ]
        self._sum = _LegendRow(Text(), "sum", f"{milliseconds(total, 3)} ms", share(total, total), "", "", "")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=None, show_header=False, pad_edge=False)
        for justify in _LEGEND:
            table.add_column(justify=justify, no_wrap=True)
        for row in (*self._rows, self._sum):
            dim = (Text(each, style="dim") for each in (row.known, row.held, row.saved))
            table.add_row(row.swatch, row.cause, row.us, row.share, *dim, style=self._style(row))
        at_any = options.update(width=ANY_WIDTH)
        if Measurement.get(console, at_any, table).maximum <= options.max_width or not console.is_terminal:
            yield from console.render(table, at_any if not console.is_terminal else options)
            return
        room = max(cell_len(row.cause) for row in self._rows)
        figures = max(cell_len(row.us) for row in (*self._rows, self._sum))
        for row in (*self._rows, self._sum):
            head = Text("  ") if not row.swatch.plain else row.swatch.copy()
            head.append(f" {row.cause:<{room}}", style=self._style(row))
            told = Text(f"{row.us:>{figures}} {row.share:>5}", style=self._style(row))
            told.append(f" {row.known}" if row.known else "", style="dim")
            if cell_len(head.plain) + 1 + cell_len(told.plain) <= options.max_width:
                yield head + Text(" ") + told
            else:
                yield head
                yield Padding(told, (0, 0, 0, 3), expand=False)
            saved, interval, rest = row.saved.partition(" (")
            is_one = cell_len(row.saved) + 3 <= options.max_width
            for more in filter(None, (row.held, *([row.saved] if is_one else [saved, (interval + rest).strip()]))):
                yield Padding(Text(more, style="dim"), (0, 0, 0, 3), expand=False)

    def _style(self, row: "_LegendRow") -> str:
        return "bold" if row is self._sum else ""


def _saves(part: Row) -> str:
    """What stays in any case (the round trip) is not said to save anything."""
    if part["saves_us"] is None or part["cause"] not in REMOVABLE:
        return ""
    words = f"without it {duration(part['saves_us'])} less"
    if part["saves_interval_us"] is None or not part["saves_us"]:
        return words
    return f"{words} ({'–'.join(duration(each) for each in part['saves_interval_us'])})"


def _interval_note(parts: Sequence[Row]) -> Iterator[Text]:
    """What the intervals of the savings are; nothing where there are none."""
    known = [ratios(part["cause"]) for part in parts if part["saves_interval_us"]]
    if not known:
        return
    words = "(A–B): between what the true saving lay in 95 % of the lab's simulated requests"
    if any(found is not None and not found.samples for found in known):
        words = "(A–B): placeholders, until the lab has measured what each cause's absence saves"
    yield Text(words, style="dim")
    if note := savings_note(parts):
        yield Text(note, style="dim")


def _coverage(document: Row) -> Text:
    coverage, connection = document["coverage"], document["connection"]
    words = {"full": "all events kept", "partial": "trace cut or incomplete", "summary": "events not kept"}
    link = {
        "none": "no access log line",
        "id": "linked by id",
        "alias": "linked by another id of the connection",
        "tuple": "linked by time and client",
    }
    told = [
        f"trace {connection.get('trace_id', '–')} of {connection.get('stack') or 'an unknown stack'}",
        f"{connection.get('vantage', 'unknown')} side",
        f"{coverage['events_seen'] or 0:,} events",
        words.get(coverage["coverage"], coverage["coverage"]),
        link.get(coverage["link"], ""),
    ]
    return Text(", ".join(word for word in told if word), style="dim")
