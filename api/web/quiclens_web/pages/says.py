"""What an event says, in a few words: for tables that people read. Pure."""

from collections.abc import Iterator
from typing import Any

from quiclens_questions.units import duration, size

_SMALL = ("ack", "padding", "ping")

Row = dict[str, Any]


def says(event: Row) -> str:
    """States, triggers, metrics and frames of one event, without its name and number."""
    return ", ".join(_words(event))


def short_name(name: str) -> str:
    """An event's name without its namespace (`quic:packet_sent`); names without one, as QUIC_TRACE's, as they are."""
    return name.partition(":")[2] or name


def _words(event: Row) -> Iterator[str]:
    if event.get("packet_type"):
        yield event["packet_type"]
    if event.get("packet_bytes"):
        yield size(event["packet_bytes"])
    if event.get("new_state"):
        yield f"{event['old_state']} → {event['new_state']}" if event.get("old_state") else f"→ {event['new_state']}"
    for name in ("trigger", "timer_type", "event_type", "owner", "http_frame_type"):
        if event.get(name):
            yield str(event[name]).replace("_", " ")
    for name, word in (
        ("congestion_window", "window"),
        ("bytes_in_flight", "in flight"),
        ("ssthresh", "ssthresh"),
        ("lost_bytes", "lost"),
    ):
        if event.get(name) is not None:
            yield f"{word} {size(event[name])}"
    for name, word in (("smoothed_rtt_us", "RTT"), ("latest_rtt_us", "latest"), ("min_rtt_us", "min")):
        if event.get(name) is not None:
            yield f"{word} {duration(event[name])}"
    if event.get("pto_count"):
        yield f"probe {event['pto_count']}"
    for frame in event.get("frames", ()):
        yield _frame(frame)
    if carried := [frame for frame in event.get("carried", ()) if frame["frame_type"] not in _SMALL]:
        yield f"carried {', '.join(map(_frame, carried))}"


def _frame(frame: Row) -> str:
    if frame["frame_type"] != "stream":
        of = f" of stream {frame['stream_id']}" if "stream_id" in frame else ""
        return f"{frame['frame_type']}{of}"
    end = " FIN" if frame.get("fin") else ""
    return f"stream {frame['stream_id']} [{frame['offset']}, +{frame['length']}]{end}"
