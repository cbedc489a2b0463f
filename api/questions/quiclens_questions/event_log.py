"""The events of one trace, page by page, as a person searches them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.connection_page import place_of
from quiclens_questions.documents import Event, EventsDocument, TracePlace
from quiclens_questions.event_names import WAYS, called
from quiclens_questions.events_around import compact
from quiclens_questions.statements import ask, typed

PAGE_AT_MOST = 5_000
LOST = ("quic:packet_lost", "quic:marked_for_retransmit", "quic:spurious_loss")
_USUAL = "1RTT"  # where a log does not say a packet's type
_TIME_MAX = (1 << 63) - 1

Row = dict[str, Any]


@dataclass(frozen=True)
class Search:
    """What to look for; nothing is everything. Times in us since the trace's first record, both ends within."""

    first_seq: int = 0
    from_us: int = -_TIME_MAX
    to_us: int = _TIME_MAX
    names: tuple[str, ...] = field(default=())
    stream_id: int | None = None
    packet_number: int | None = None
    text: str = ""
    way: str = ""
    limit: int = 500


def event_log(store: Store, trace: Row, search: Search) -> EventsDocument:
    """`events`, each without the columns it has no value for, and the `next_seq` to go on from, null at the end.

    A loss has the frames of its packet as `carried`, where the log says what was sent in it.
    """
    place = place_of(trace)
    names, as_text = called(search.names), called([search.text])
    asked = {
        "first_seq": search.first_seq,
        "from_us": search.from_us,
        "to_us": search.to_us,
        "names": list(names.whole),
        "short_names": list(names.short),
        "of_way": list(WAYS.get(search.way, ())),
        "stream_id": search.stream_id,
        "packet_number": search.packet_number,
        "text": search.text.replace("_", " "),
        "names_of_text": list(as_text.whole),
        "short_names_of_text": list(as_text.short),
        "lost": list(LOST),
        "limit": search.limit + 1,
    }
    rows = ask(store, "event_log", {**place, **asked}).dicts()
    shown = [_shown(row) for row in rows[: search.limit]]
    return {
        **place,
        "events": _with_carried(store, place, typed(Event, shown)),
        "next_seq": rows[search.limit]["seq"] if len(rows) > search.limit else None,
    }


def _shown(row: Row) -> Row:
    """One event; acknowledged numbers as [from, to], what has no column under `more` as raw JSON."""
    acked, more = [list(each) for each in row.pop("acked")], row.pop("more")
    return compact(row) | ({"acked": acked} if acked else {}) | ({"more": more} if more else {})


def _with_carried(store: Store, place: TracePlace, events: list[Event]) -> list[Event]:
    lost = [each for each in events if each["name"] in LOST and "packet_number" in each and "frames" not in each]
    if not lost:
        return events
    numbers = sorted({each["packet_number"] for each in lost if "packet_number" in each})
    rows = ask(store, "carried", {**place, "numbers": numbers, "limit": 4 * len(numbers)}).dicts()
    return with_carried(events, typed(Event, [compact(row) for row in rows]))


def with_carried(events: Sequence[Event], sent: Sequence[Event]) -> list[Event]:
    """Losses with what their packets carried, of the sendings that are known; a loss without a type is of 1-RTT."""
    frames = {_packet(each): each["frames"] for each in sent if "frames" in each}
    return [
        {**each, "carried": carried} if each["name"] in LOST and (carried := frames.get(_packet(each))) else each
        for each in events
    ]


def _packet(event: Event) -> tuple[str, int, int | None]:
    return event.get("packet_type") or _USUAL, event.get("path_id", 0), event.get("packet_number")
