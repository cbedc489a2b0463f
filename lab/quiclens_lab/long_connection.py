"""A connection that lives for hours: one simulated stretch of it, told again and again with all its numbers moved on.

Times, packet numbers, stream ids and acknowledged ranges move; what a stretch says of itself stays. For benchmarks of
the reader, which needs bytes and an ever newer state, not new physics.
"""

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quiclens_lab.aioquic_pair import simulate
from quiclens_lab.plan import RequestPlan, Turn
from quiclens_lab.scenario_plans import plan
from quiclens_lab.traces import document

TURNS = 10
TOGETHER = 2
PAUSE_MS = 25


@dataclass(frozen=True)
class Stretch:
    """The part of a trace that is repeated, and how far each repetition moves it on."""

    trace: dict[str, Any]
    before: list[dict[str, Any]]
    events: list[dict[str, Any]]
    sent: int
    received: int
    length_ms: float

    @property
    def streams(self) -> int:
        return TURNS * TOGETHER


def stretch(seed: int) -> Stretch:
    """Twenty responses in pairs over a path with some loss."""
    made = plan(seed, RequestPlan("/warm-up", 1_000))
    sizes = [[20_000 + 900 * turn + 7_000 * each for each in range(TOGETHER)] for turn in range(TURNS)]
    turns = tuple(Turn(tuple(RequestPlan("/long", size) for size in pair), gap_us=20_000) for pair in sizes)
    lossy = replace(made.path, down=replace(made.path.down, loss_rate=0.01))
    run = simulate(replace(made, turns=turns, path=lossy), with_client_trace=False)
    trace = document(run, run.server)["traces"][0]
    events = trace.pop("events")
    packets = [at for at, event in enumerate(events) if _is_one_rtt(event)]
    first = next(at for at in packets if any(frame.get("stream_id") == 0 for frame in events[at]["data"]["frames"]))
    last = max(at for at in packets if not _closes(events[at]))
    repeated = events[first : last + 1]
    numbers = {
        name: [event["data"]["header"]["packet_number"] for event in repeated if event["name"].endswith(name)]
        for name in ("packet_sent", "packet_received")
    }
    spans = {name: max(found) - min(found) + 1 for name, found in numbers.items()}
    length_ms = repeated[-1]["time"] - repeated[0]["time"] + PAUSE_MS
    return Stretch(trace, events[:first], repeated, spans["packet_sent"], spans["packet_received"], length_ms)


def _is_one_rtt(event: dict[str, Any]) -> bool:
    is_packet = event["name"].endswith((":packet_sent", ":packet_received"))
    return bool(is_packet and event["data"]["header"]["packet_type"] == "1RTT")


def _closes(event: dict[str, Any]) -> bool:
    return any(frame["frame_type"] == "connection_close" for frame in event["data"]["frames"])


def moved(part: Stretch, event: dict[str, Any], times: int) -> dict[str, Any]:
    """One event of the stretch as it is after so many repetitions."""
    event = copy.deepcopy(event)
    event["time"] += times * part.length_ms
    data = event["data"]
    is_sent = event["name"].endswith(":packet_sent")
    if _is_one_rtt(event):
        data["header"]["packet_number"] += times * (part.sent if is_sent else part.received)
        for frame in data["frames"]:
            _move_frame(frame, times, part.streams, part.received if is_sent else part.sent)
    elif event["name"].endswith(":packet_lost"):
        data["packet_number"] += times * part.sent
    elif data.get("stream_id", 1) % 4 == 0:
        data["stream_id"] += 4 * times * part.streams
    return event


def _move_frame(frame: dict[str, Any], times: int, streams: int, numbers: int) -> None:
    if frame["frame_type"].startswith("ack"):
        frame["acked_ranges"] = [[end + times * numbers for end in ends] for ends in frame["acked_ranges"]]
    elif frame.get("stream_id", 1) % 4 == 0:
        frame["stream_id"] += 4 * times * streams
    elif frame["frame_type"] == "max_data":
        frame["maximum"] += times * (1 << 30)


def write_long_connection(file: Path, part: Stretch, repetitions: int, connection_id: str) -> tuple[int, int]:
    """Write a server's trace as JSON-SEQ; returns its events and its request streams."""
    header = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": part.trace}
    known_as = part.trace["common_fields"]["ODCID"]
    events = 0
    with file.open("w") as out:
        out.write("\x1e" + json.dumps(header).replace(known_as, connection_id) + "\n")
        for event in _told(part, repetitions):
            out.write("\x1e" + json.dumps(event) + "\n")
            events += 1
    return events, repetitions * part.streams


def _told(part: Stretch, repetitions: int) -> Iterator[dict[str, Any]]:
    yield from part.before
    for times in range(repetitions):
        for event in part.events:
            yield moved(part, event, times)
