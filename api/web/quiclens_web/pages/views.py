"""What the templates are filled with, from the documents of the questions. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from quiclens_questions.advice import ADVICE, worth_advice
from quiclens_questions.causes import look
from quiclens_questions.event_log import with_carried
from quiclens_questions.events_around import RARE
from quiclens_questions.explain import Explanation
from quiclens_questions.moment import seconds, whole_seconds
from quiclens_questions.savings import REMOVABLE, savings_note
from quiclens_questions.units import duration
from quiclens_web.pages.svg import Span, parts_bar, shares_bar, timeline

AGES = ("15m", "1h", "6h", "24h")
FRESH = timedelta(minutes=10)
"""How old the newest request of a store may be that is still written to."""
_EPISODES_SHOWN = 30
_SENT = "quic:packet_sent"
_OF_LOSS = ("recovery", "repair", "spurious_loss")
_MARKS = (
    ("request_end_us", "request complete"),
    ("response_start_us", "response begins"),
    ("first_byte_us", "first byte"),
    ("last_byte_us", "last byte"),
)

Row = Mapping[str, Any]


def request_view(found: Explanation) -> Row:
    """Everything the page of one request shows."""
    document, stream = found.document, found.stream
    held = document["overlapping"]
    total_us = document["duration_us"] or 0
    view: dict[str, Any] = {
        "id": document["request_id"],
        "document": document,
        "request": found.request,
        "stream": stream,
        "namesakes": found.namesakes,
        "parts": [_part(part, total_us, held) for part in document["parts"]],
        "advice": [(look(cause).name, ADVICE[cause]) for cause in worth_advice(document["parts"])],
        "savings_note": savings_note(document["parts"]),
        "cannot_show": [look(cause).name for cause in document["cannot_show"]],
    }
    siblings = document["siblings"]
    view["siblings"] = siblings if siblings is not None and siblings["causes"] else None
    if view["siblings"]:
        view["siblings_bar"] = shares_bar(view["siblings"]["causes"])
    if stream is not None:
        view["bar"] = parts_bar(document["parts"], total_us)
        view["timeline"] = _timeline(document, stream)
        view["connection_id"] = stream["connection_id"]
        view["around"] = _around(stream["start_us"], stream["end_us"])
        view["episodes"] = _episode_rows(document["episodes"], stream)
        view["episodes_in_all"] = len(_while_it_lasted(document["episodes"]))
        view["focus"] = _focus(document["events"], stream)
        view["events"] = with_carried(document["events"], [e for e in document["events"] if e["name"] == _SENT])
        view["is_cut"] = document["events_all"] > len(document["events"])
        view["gap"] = _gap(view["events"], stream) if view["is_cut"] else None
    return view


def _part(part: Row, total_us: int, held: Row) -> Row:
    cause = part["cause"]
    return {
        **part,
        "held_us": max(held.get(cause, 0), part["us"]),
        "name": look(cause).name,
        "share": part["us"] / max(1, total_us),
        "is_removable": cause in REMOVABLE,
    }


def _gap(events: Sequence[Row], stream: Row) -> tuple[int, int, int] | None:
    """Where the middle of a long request is left out: the seq before it, and from when to when; see events_around."""
    usual = [each for each in events if each["name"] not in RARE]
    middle = (stream["start_us"] + stream["end_us"]) / 2
    before = [each for each in usual if each["time_us"] <= middle]
    after = [each for each in usual if each["time_us"] > middle]
    if not before:
        return None
    return before[-1]["seq"], before[-1]["time_us"], after[0]["time_us"] if after else stream["end_us"]


def _around(start_us: int, end_us: int) -> tuple[int, int]:
    """A stretch with a little of what was before and after it, so that a picture shows where it begins and ends."""
    margin = max(1_000, (end_us - start_us) // 20)
    return max(0, start_us - margin), end_us + margin


def _timeline(document: Row, stream: Row) -> Any:
    start, end = stream["start_us"], stream["end_us"]
    marks = [(name, stream[column]) for column, name in _MARKS if stream.get(column) is not None]
    spans = [Span("this request", "", start, end, f"this request, {duration(end - start)}")]
    spans += _episode_spans(document["episodes"], stream)
    return timeline(spans, marks, start, end)


def _while_it_lasted(episodes: Sequence[Row]) -> list[Row]:
    """Those that are shown: idle is the connection before or after the request."""
    return [each for each in episodes if each["kind"] != "idle"]


def _episode_spans(episodes: Sequence[Row], stream: Row) -> Iterator[Span]:
    start, end = stream["start_us"], stream["end_us"]
    for episode in sorted(_while_it_lasted(episodes), key=lambda each: (each["kind"], each["start_us"])):
        kind = episode["kind"]
        first, last = max(start, episode["start_us"]), min(end, episode["end_us"])
        lasted, after = duration(episode["end_us"] - episode["start_us"]), duration(episode["start_us"] - start)
        title = f"{_lane(kind)}, {lasted} from {after}{_of_packet(episode)}"
        yield Span(_lane(kind), _colour(kind), first, last, title, _packets(episode, stream))


def _of_packet(episode: Row) -> str:
    """Which packet was lost, how late that was known, and by what."""
    number, detection = episode.get("packet_number"), episode.get("detection_us")
    words = [
        f"packet {number}" if number is not None else "",
        f"declared lost after {duration(detection)}" if detection is not None else "",
        f"by {_words(episode['trigger'])}" if detection is not None and episode.get("trigger") else "",
    ]
    return "".join(f", {word}" for word in words if word)


def _packets(episode: Row, stream: Row) -> str:
    """Where the packets of an episode are drawn."""
    first, last = _around(episode["start_us"], episode["end_us"])
    asked = {"view": "packets", "from_us": first, "to_us": last, "stream": stream["stream_id"]}
    return f"/connections/{quote(stream['connection_id'], safe='')}?{urlencode(asked)}"


def _episode_rows(episodes: Sequence[Row], stream: Row) -> list[Row]:
    """The longest of them, in the order of time, since the start of the request."""
    start = stream["start_us"]
    longest = sorted(_while_it_lasted(episodes), key=lambda each: each["start_us"] - each["end_us"])[:_EPISODES_SHOWN]
    return [
        {
            "name": _lane(each["kind"]),
            "cause": _colour(each["kind"]),
            "whose": "connection" if each["stream_id"] < 0 else "this stream",
            "from_us": each["start_us"] - start,
            "to_us": each["end_us"] - start,
            "packet_number": each.get("packet_number"),
            "bytes": each.get("bytes"),
            "detection_us": each.get("detection_us"),
            "trigger": _words(each.get("trigger") or ""),
            "wait_us": each.get("wait_us"),
            "window": each.get("congestion_window"),
            "packets": _packets(each, stream),
        }
        for each in sorted(longest, key=lambda each: (each["start_us"], each["first_seq"]))
    ]


def _words(trigger: str) -> str:
    return trigger.replace("_", " ")


def _colour(kind: str) -> str:
    return "loss_recovery" if kind in _OF_LOSS else kind


def _lane(kind: str) -> str:
    return {
        "repair": "lost and repaired",
        "recovery": "recovery period",
        "spurious_loss": "lost, but arrived",
    }.get(kind, look(kind).name.replace("_", " "))


def _focus(events: Sequence[Row], stream: Row) -> int | None:
    """The number of the first packet that was sent with this stream's data, for qvis to scroll to."""
    for event in events:
        number: int | None = event.get("packet_number")
        is_own = any(frame.get("stream_id") == stream["stream_id"] for frame in event.get("frames", ()))
        if event["name"] == _SENT and number is not None and is_own:
            return number
    return None


def default_window(extent: Row, now: datetime) -> tuple[str, str]:
    """The last 24 hours, or as much of them as there is. Of a store that is written to they are told as an age up to
    now, so that the page's address stays true; of one with old traces they end with the newest request."""
    newest = extent["newest"] or now
    until = newest + timedelta(seconds=1)
    oldest = extent["oldest"] or until - timedelta(hours=24)
    if extent["newest"] and now - newest <= FRESH:
        return next((age for age in AGES if oldest >= now - timedelta(seconds=seconds(age) or 0)), AGES[-1]), ""
    return whole_seconds(max(until - timedelta(hours=24), oldest)), whole_seconds(until)
