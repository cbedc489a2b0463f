"""The log around a request, as people read it."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from quiclens_command_line.show.tables import titled
from quiclens_questions.units import milliseconds

_STYLES = {"quic:packet_lost": "red", "quic:spurious_loss": "red", "quic:congestion_state_updated": "yellow"}
_BARE = (
    "seq",
    "time_us",
    "name",
    "frames",
    "packet_type",
    "packet_number",
    "packet_bytes",
    "stream_id",
    "payload_bytes",
)

_ORDINARY = ("quic:packet_sent", "quic:packet_received")

Row = Mapping[str, Any]


def event_rows(events: Sequence[Row], all_of_them: int, stream: Row, count: int) -> Table:
    """At most `count`: how it began, how it ended, and in between what is no ordinary packet; of how many in all."""
    table = titled("The log around it")
    table.add_column("at ms", justify="right", no_wrap=True)
    table.add_column("seq", justify="right", no_wrap=True, style="dim")
    table.add_column("event", no_wrap=True)
    table.add_column("what", overflow="fold")
    before = -1
    for index in [*chosen(events, count), len(events)]:
        if index > before + 1:
            table.add_row("", "", Text(f"… {index - before - 1} more …", style="dim"), "")
        if index < len(events):
            _add(table, events[index], stream)
        before = index
    if all_of_them > len(events):
        kept = "losses and changes of state, then what is nearest to its beginning and end"
        table.caption = f"of {len(events):,} of {all_of_them:,} events: {kept}"
        table.caption_justify = "left"
    return table


def chosen(events: Sequence[Row], count: int) -> list[int]:
    """Which events to show, by index and in order. Pure."""
    everything = range(len(events))
    edges = [*everything[: (count + 3) // 4], *everything[max(0, len(events) - count // 4) :]]
    telling = [index for index in everything if events[index]["name"] not in _ORDINARY]
    picked = dict.fromkeys([*edges, *telling, *everything])
    return sorted(list(picked)[:count])


def _add(table: Table, event: Row, stream: Row) -> None:
    style = _STYLES.get(event["name"], "")
    at = milliseconds(event["time_us"] - stream["start_us"], 3)
    table.add_row(at, str(event["seq"]), Text(event["name"], style=style), Text(_what(event, stream["stream_id"])))


def _what(event: Row, stream_id: int) -> str:
    words = []
    if "packet_number" in event:
        size = f", {event['packet_bytes']} B" if "packet_bytes" in event else ""
        words.append(f"{event.get('packet_type', 'packet')} {event['packet_number']}{size}")
    elif "stream_id" in event:
        words.append(f"stream {event['stream_id']}")
    words += [_frame(frame) for frame in event.get("frames", ()) if frame.get("stream_id") == stream_id]
    words += [f"{name} {value}" for name, value in event.items() if name not in _BARE]
    return "; ".join(words)


def _frame(frame: Row) -> str:
    if frame["frame_type"] != "stream":
        return str(frame["frame_type"])
    end = frame["offset"] + frame["length"]
    return f"bytes {frame['offset']:,}–{end:,} of stream {frame['stream_id']}" + (", FIN" if frame["fin"] else "")
