"""`check`: which causes a server's log can show, and what to switch on for the others; what records are missing in it,
and what to change. The collector reads it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from quiclens_questions import collector
from quiclens_questions.failure import CannotRun
from quiclens_questions.report import Report

_OF_CAUSE = ("cause", "known", "because")
_COLUMNS = ("trace", "stack", "vantage", *_OF_CAUSE, "switch_on", "dialect", "file")

_DROPS = "the writer drops records when it is busy: give it a larger buffer, or log less of each connection"

# By kind of `connections.damage`.
CHANGES = {
    "packets_sent_missing": _DROPS,
    "packets_received_missing": _DROPS,
    "data_missing": _DROPS,
    "request_start_missing": "the log begins or goes on after a request began: log a connection from its first packet",
    "time_went_back": "several threads write one log: give each connection one writer, or sort before writing",
    "clock_step": "the clock of the log was set while it was written: take a monotonic one",
}

Row = dict[str, Any]


def check(path: str) -> Report:
    """One row per trace and cause."""
    lines = [_trace(line) for line in collector.lines(["dump", path, "--room", "check"]) if line.strip()]
    traces = [line for line in lines if "rejected" not in line]
    rejects = [{"file": line.get("file"), "reason": line["rejected"]} for line in lines if "rejected" in line]
    requests = sum(int(trace.get("requests") or 0) for trace in traces)
    return Report(
        name="check",
        params={
            "log": path,
            "rejected": len(rejects),
            "rejects": rejects,
            "unread": _unread(traces),
            "grades": dict(_summed(trace.get("grades") or {} for trace in traces)),
            "damage": _damage(traces),
        },
        columns=tuple((name, "") for name in _COLUMNS),
        rows=[_row(trace, cause) for trace in traces for cause in trace.get("causes") or ()],
        samples=len(traces),
        coverage={"requests": requests, "traced": requests, "weight": float(requests)},
    )


def _damage(traces: list[Row]) -> list[Row]:
    """Each kind of damage that was met, most traces first: how often, in how many traces, and what to change."""
    logs = [trace.get("damage") or {} for trace in traces]
    times, of_traces = _summed(logs), Counter(kind for log in logs for kind in log)
    return [
        {"kind": kind, "times": times[kind], "traces": number, "change": CHANGES.get(kind, "")}
        for kind, number in sorted(of_traces.items(), key=lambda each: (-each[1], each[0]))
    ]


def _summed(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for each in counts:
        found.update(each)
    return found


def _unread(traces: list[Row]) -> Row:
    """What of all traces nobody reads: events by name, fields and values by event and path, how often each."""
    found: dict[str, Counter[str]] = {"events": Counter(), "fields": Counter(), "values": Counter()}
    others = 0
    for unread in (trace.get("unread") or {} for trace in traces):
        found["events"].update(unread.get("events") or {})
        for kind in ("fields", "values"):
            for event, paths in (unread.get(kind) or {}).items():
                found[kind].update({f"{event} {path}": count for path, count in paths.items()})
        others += int(unread.get("others") or 0)
    return {kind: dict(counts.most_common()) for kind, counts in found.items()} | {"others": others}


def _row(trace: Row, cause: Row) -> list[Any]:
    who = [trace.get("trace_id"), trace.get("stack"), trace.get("vantage")]
    what = [cause.get(name) for name in _OF_CAUSE]
    return [*who, *what, list(cause.get("switch_on") or ()), trace.get("dialect"), trace.get("file")]


def _trace(line: str) -> Row:
    try:
        trace = json.loads(line)
    except ValueError:
        trace = None
    if not isinstance(trace, dict):
        message = f"the collector printed no JSON object: {line[:80]!r}"
        raise CannotRun("collector_failed", message, "are the collector and quiclens of one version?")
    return trace
