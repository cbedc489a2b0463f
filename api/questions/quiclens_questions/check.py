"""`check`: which causes a server's log can show, and what to switch on for the others; what records are missing in it,
and what to change. The collector reads it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from quiclens_questions.printed import printed
from quiclens_questions.report import Report

_COLUMNS = ("trace", "stack", "vantage", "cause", "known", "because", "switch_on", "dialect", "file")

_DROPS = "the writer drops records when it is busy: give it a larger buffer, or log less of each connection"

# By kind of `connections.damage`.
CHANGES = {
    "packets_sent_missing": _DROPS,
    "packets_received_missing": _DROPS,
    "data_missing": _DROPS,
    "request_start_missing": "the log begins or goes on after a request began: log a connection from its first packet",
    "time_went_back": "several threads write one log: give each connection one writer, or sort before writing",
    "values_unread": "the log writes an acknowledgement or stream data in a form that nobody reads: tell us of it",
    "clock_step": "the clock of the log was set while it was written: take a monotonic one",
}


class _Line(BaseModel):
    """What the collector prints may have more members than are read here."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class CheckedCause(_Line):
    """What one trace says of one cause: whether the log can show it, why, and what to switch on."""

    cause: str
    known: str
    because: str
    switch_on: Sequence[str]


class UnreadCounts(_Line):
    """What of one trace nobody reads: events by name, fields and values by event and path, and how many others."""

    events: Mapping[str, int] = {}
    fields: Mapping[str, Mapping[str, int]] = {}
    values: Mapping[str, Mapping[str, int]] = {}
    others: int = 0


class CheckedTrace(_Line):
    """One trace of a log."""

    file: str
    trace_id: str
    vantage: str
    stack: str
    dialect: str
    requests: int
    causes: Sequence[CheckedCause]
    damage: Mapping[str, int] | None = None
    grades: Mapping[str, int] | None = None
    unread: UnreadCounts | None = None


class RejectedRecord(_Line):
    """What of a file is no record."""

    file: str
    rejected: str


_LINE: TypeAdapter[CheckedTrace | RejectedRecord] = TypeAdapter(CheckedTrace | RejectedRecord)


def check(path: str) -> Report:
    """One row per trace and cause."""
    lines = list(printed(["dump", path, "--room", "check"], _LINE, "checked trace"))
    traces = [line for line in lines if isinstance(line, CheckedTrace)]
    rejects = [{"file": line.file, "reason": line.rejected} for line in lines if isinstance(line, RejectedRecord)]
    requests = sum(trace.requests for trace in traces)
    return Report(
        name="check",
        params={
            "log": path,
            "rejected": len(rejects),
            "rejects": rejects,
            "unread": _unread(traces),
            "grades": dict(_summed(trace.grades or {} for trace in traces)),
            "damage": _damage(traces),
        },
        columns=tuple((name, "") for name in _COLUMNS),
        rows=[_row(trace, cause) for trace in traces for cause in trace.causes],
        samples=len(traces),
        coverage={"requests": requests, "traced": requests, "weight": float(requests)},
    )


def _damage(traces: Sequence[CheckedTrace]) -> list[dict[str, str | int]]:
    """Each kind of damage that was met, most traces first: how often, in how many traces, and what to change."""
    logs = [trace.damage or {} for trace in traces]
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


def _unread(traces: Sequence[CheckedTrace]) -> dict[str, dict[str, int] | int]:
    """What of all traces nobody reads: events by name, fields and values by event and path, how often each."""
    unread = [trace.unread for trace in traces if trace.unread is not None]
    found: dict[str, dict[str, int] | int] = {
        "events": dict(_summed(each.events for each in unread).most_common()),
        "fields": _by_path(each.fields for each in unread),
        "values": _by_path(each.values for each in unread),
    }
    return found | {"others": sum(each.others for each in unread)}


def _by_path(counts: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, int]:
    paths = (
        {f"{event} {path}": count for path, count in of_event.items()}
        for each in counts
        for event, of_event in each.items()
    )
    return dict(_summed(paths).most_common())


def _row(trace: CheckedTrace, cause: CheckedCause) -> list[Any]:
    who = [trace.trace_id, trace.stack, trace.vantage]
    what = [cause.cause, cause.known, cause.because]
    return [*who, *what, list(cause.switch_on), trace.dialect, trace.file]
