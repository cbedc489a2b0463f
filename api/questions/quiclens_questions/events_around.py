"""The events around a stream: those that name it, and every loss, probe and change of state while it lasted."""

from dataclasses import dataclass
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.statements import ask

EVENTS_AT_MOST = 200
RARE = (
    "quic:packet_lost",
    "quic:marked_for_retransmit",
    "quic:spurious_loss",
    "quic:congestion_state_updated",
    "quic:connection_state_updated",
    "quic:connection_closed",
    "quic:migration_state_updated",
    "quic:tuple_assigned",
    "quic:mtu_updated",
)
_PLACE = ("connection_id", "vantage", "trace_id", "trace_day", "stream_id", "start_us", "end_us")
_STREAM_FRAMES = ("stream", "reset_stream", "stop_sending", "max_stream_data", "stream_data_blocked")

Row = dict[str, Any]


@dataclass(frozen=True)
class EventsAround:
    """Events in the log's order, each without the columns it has no value for; of how many in all."""

    events: list[Row]
    all: int


def events_around(store: Store, stream: Row) -> EventsAround:
    """At most 200."""
    place = {name: stream[name] for name in _PLACE}
    rows = ask(store, "events_around", {**place, "rare": list(RARE), "limit": EVENTS_AT_MOST}).dicts()
    return EventsAround([compact(row) for row in rows], rows[0]["events_all"] if rows else 0)


def compact(row: Row) -> Row:
    """One event with the values it has; frames as a list, their stream columns only where a frame is a stream's."""
    columns = ("frame_types", "frame_stream_ids", "frame_offsets", "frame_lengths", "frame_fins")
    left_out = (*columns, "events_all")
    frames = [_frame(*frame) for frame in zip(*(row[name] for name in columns), strict=True)]
    event = {name: value for name, value in row.items() if name not in left_out and value not in (None, "")}
    return event | ({"frames": frames} if frames else {})


def _frame(frame_type: str, stream_id: int, offset: int, length: int, fin: int) -> Row:
    if frame_type not in _STREAM_FRAMES:
        return {"frame_type": frame_type}
    frame: Row = {"frame_type": frame_type, "stream_id": stream_id}
    if frame_type == "stream":
        frame |= {"offset": offset, "length": length, "fin": bool(fin)}
    return frame
