"""A run's qlog documents, as aioquic writes them, with the client's dimensions added to the server's common fields."""

import json
from pathlib import Path
from typing import Any

import aioquic

from quiclens_lab.aioquic_inside import events_logged
from quiclens_lab.aioquic_pair import ConnectionRun, SideRun
from quiclens_lab.errors import LabError
from quiclens_lab.plan import DIMENSIONS, ConnectionPlan

SPAN_TOLERANCE_MS = 1.0
TAG_BYTES = 16
PACKETS = ("packet_sent", "packet_received")


def document(run: ConnectionRun, side: SideRun) -> dict[str, Any]:
    """One trace as a contained qlog 0.3 document; fails when its times are not the simulation's."""
    trace = side.trace.to_dict()
    check_span(run, side, trace)
    if side is run.server:
        trace["common_fields"].update(common_fields(run.plan))
    return {"qlog_format": "JSON", "qlog_version": "0.3", "traces": [trace]}


def common_fields(plan: ConnectionPlan) -> dict[str, Any]:
    """What an operator's server knows about a connection and adds to its trace."""
    fields = {name: getattr(plan.dimensions, name) for name in DIMENSIONS}
    fields["congestion_controller"] = plan.transport.congestion_controller
    fields["stack_version"] = f"aioquic {aioquic.__version__}"
    return fields


def check_span(run: ConnectionRun, side: SideRun, trace: dict[str, Any]) -> None:
    """Compare the trace's first and last time with the virtual clock; wall time leaking in must never go unseen."""
    events = trace["events"]
    for event, virtual_us in ((events[0], side.first_event_us), (events[-1], side.last_event_us)):
        expected_ms = (run.epoch_us + side.skew_us + virtual_us) / 1000
        if abs(event["time"] - expected_ms) > SPAN_TOLERANCE_MS:
            raise LabError(
                f"trace {run.connection_id}: {event['name']} is stamped {event['time']} ms, the simulation says "
                f"{expected_ms} ms; is another aioquic than the pinned one installed?"
            )


def leave_tag_out(content: dict[str, Any]) -> None:
    """Make a document one of a writer that takes a packet's size before it is sealed."""
    for event in content["traces"][0]["events"]:
        raw = event["data"].get("raw")
        if event["name"].rpartition(":")[2] in PACKETS and raw is not None and "length" in raw:
            event["data"] = {**event["data"], "raw": {**raw, "length": raw["length"] - TAG_BYTES}}


def write_traces(run: ConnectionRun, folder: Path, leaves_tag_out: bool = False) -> tuple[int, int]:
    """Write the traces of a run below the folder and return (events, files); an end that saw nothing has no trace."""
    events = files = 0
    sides = {"server": run.server} | ({"client": run.client} if run.client else {})
    for name, side in sides.items():
        assert side is not None
        if not events_logged(side.trace):
            continue
        content = document(run, side)
        if leaves_tag_out:
            leave_tag_out(content)
        target = folder / name / f"{run.connection_id}.qlog"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(content))
        events += len(content["traces"][0]["events"])
        files += 1
    return events, files
