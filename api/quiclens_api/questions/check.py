"""`check`: which causes a server's log can show, and what to switch on for the others. The collector reads it."""

import json
from typing import Any

from quiclens_api import collector
from quiclens_api.failure import CannotRun
from quiclens_api.questions.connections import Report

_COLUMNS = ("trace", "stack", "vantage", "cause", "known", "because", "switch_on")


def check(path: str) -> Report:
    """One row per trace and cause."""
    lines = [_trace(line) for line in collector.lines(["dump", path, "--room", "check"]) if line.strip()]
    traces = [line for line in lines if "rejected" not in line]
    rows = [
        [
            trace.get("trace_id"),
            trace.get("stack"),
            trace.get("vantage"),
            cause.get("cause"),
            cause.get("known"),
            cause.get("because"),
            list(cause.get("switch_on") or ()),
        ]
        for trace in traces
        for cause in trace.get("causes") or ()
    ]
    requests = sum(int(trace.get("requests") or 0) for trace in traces)
    return Report(
        name="check",
        params={"log": path, "rejected": len(lines) - len(traces)},
        columns=tuple((name, "") for name in _COLUMNS),
        rows=rows,
        samples=len(traces),
        coverage={"requests": requests, "traced": requests, "weight": float(requests)},
    )


def _trace(line: str) -> dict[str, Any]:
    try:
        trace = json.loads(line)
    except ValueError:
        trace = None
    if not isinstance(trace, dict):
        message = f"the collector printed no JSON object: {line[:80]!r}"
        raise CannotRun("collector_failed", message, "are the collector and quiclens of one version?")
    return trace
