"""What the templates are filled with, from the documents of the questions. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from quiclens_api.pages.svg import Span, parts_bar, timeline
from quiclens_api.questions.explain import Explanation
from quiclens_api.savings import REMOVABLE, savings_note
from quiclens_api.show.causes import look
from quiclens_api.units import duration

_SPANS_AT_MOST = 400
_OF_LOSS = ("recovery", "repair", "spurious_loss")
_MARKS = (
    ("request_end_us", "request complete"),
    ("response_start_us", "response begins"),
    ("first_byte_us", "first byte"),
    ("last_byte_us", "last byte"),
)

Row = dict[str, Any]


def request_view(found: Explanation) -> Row:
    """Everything the page of one request shows."""
    document, stream = found.document, found.stream
    view: Row = {
        "id": document["request_id"],
        "document": document,
        "request": found.request,
        "stream": stream,
        "namesakes": found.namesakes,
        "parts": [_part(part, document["duration_us"]) for part in document["parts"]],
        "savings_note": savings_note(document["parts"]),
        "cannot_show": [look(cause).name for cause in document["cannot_show"]],
    }
    if stream is not None:
        view["bar"] = parts_bar(document["parts"], document["duration_us"])
        view["timeline"] = _timeline(document, stream)
        view["connection_id"] = stream["connection_id"]
        view["focus"] = _focus(document["events"], stream)
    return view


def _part(part: Row, total_us: int) -> Row:
    cause = part["cause"]
    return {
        **part,
        "name": look(cause).name,
        "share": part["us"] / max(1, total_us),
        "is_removable": cause in REMOVABLE,
    }


def _timeline(document: Row, stream: Row) -> Any:
    start, end = stream["start_us"], stream["end_us"]
    marks = [(name, stream[column]) for column, name in _MARKS if stream.get(column) is not None]
    spans = [Span("this request", "network", start, end, f"this request, {duration(end - start)}")]
    spans += list(_episode_spans(document["episodes"], start, end))[:_SPANS_AT_MOST]
    return timeline(spans, marks, start, end)


def _episode_spans(episodes: Sequence[Row], start: int, end: int) -> Iterator[Span]:
    for episode in sorted(episodes, key=lambda each: (each["kind"], each["start_us"])):
        kind = episode["kind"]
        cause = "loss_recovery" if kind in _OF_LOSS else kind
        first, last = max(start, episode["start_us"]), min(end, episode["end_us"])
        title = (
            f"{kind}, {duration(episode['end_us'] - episode['start_us'])} from {duration(episode['start_us'] - start)}"
        )
        yield Span(_lane(kind), cause, first, last, title)


def _lane(kind: str) -> str:
    return {"repair": "lost and repaired", "recovery": "recovery period"}.get(kind, look(kind).name.replace("_", " "))


def _focus(events: Sequence[Row], stream: Row) -> int | None:
    """The number of the first packet that was sent with this stream's data, for qvis to scroll to."""
    for event in events:
        number: int | None = event.get("packet_number")
        is_own = any(frame.get("stream_id") == stream["stream_id"] for frame in event.get("frames", ()))
        if event["name"] == "quic:packet_sent" and number is not None and is_own:
            return number
    return None


def default_window(extent: Row, now: datetime) -> tuple[datetime, datetime]:
    """The last 24 hours up to the newest request, so that a store of old traces does not look empty."""
    newest = extent["newest"] or now
    until = newest + timedelta(seconds=1)
    oldest = extent["oldest"] or until - timedelta(hours=24)
    return max(until - timedelta(hours=24), oldest), until


def connection_about(trace: Row) -> list[str]:
    """A connection in a few words, for the line under its title."""
    started = trace["started_at"]
    words = [
        f"{trace['vantage']}'s log" if trace["vantage"] else "",
        trace["stack"],
        trace["congestion_controller"],
        *(trace[name] for name in ("carrier", "region", "server")),
        duration(trace["duration_us"]),
        f"{trace['requests']} requests",
        f"{trace['events_seen']:,} events" + ("" if trace["events_kept"] != "none" else ", not kept"),
        "" if trace["complete"] else "cut",
        f"{started:%Y-%m-%d %H:%M:%S} UTC" if started else "undated",
    ]
    return [str(word) for word in words if word]


def connection_facts(connection: Row) -> list[tuple[str, str]]:
    """What a request's page says of its connection."""
    connection = defaultdict(lambda: None, connection)  # an explanation leaves out what is not known
    sent = connection["packets_sent"] or 0
    lost = connection["packets_lost"] or 0
    facts = (
        ("connection", connection["connection_id"]),
        ("stack", " ".join(str(connection[name]) for name in ("stack", "stack_version") if connection[name])),
        ("congestion controller", connection["congestion_controller"]),
        ("handshake", duration(connection["handshake_us"]) if connection["handshake_us"] is not None else ""),
        ("0-RTT", connection["zero_rtt"]),
        ("round trip", _rtt(connection)),
        (
            "packets",
            f"{sent:,} sent, {connection['packets_received'] or 0:,} received, {lost:,} lost"
            + (f" ({lost / sent:.1%})" if sent else ""),
        ),
        ("lost for nothing", f"{connection['packets_spurious']:,}" if connection["packets_spurious"] else ""),
        ("probe timeouts", f"{connection['ptos']:,}" if connection["ptos"] else ""),
        ("migrations", str(connection["migrations"]) if connection["migrations"] else ""),
        (
            "closed",
            " ".join(
                str(connection[name]) for name in ("close_owner", "close_reason", "close_code") if connection[name]
            ),
        ),
        ("requests on it", str(connection["requests"])),
    )
    return [(name, str(value)) for name, value in facts if value]


def _rtt(connection: Row) -> str:
    if connection["rtt_min_us"] is None:
        return ""
    mean = connection["rtt_mean_us"]
    return (
        f"{duration(connection['rtt_min_us'])} least, {duration(mean)} mean, {duration(connection['rtt_max_us'])} most"
    )
