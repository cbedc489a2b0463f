"""`diff`: two folders of logs of the same work, say of a QUIC stack before and after a change; what became slower, and
which cause grew. No store is opened; the collector reads the logs.

Where the same file of both folders has the same connections with the same requests, as a lab's runs from a seed have,
requests are paired; else the folders are two samples. `statistics/resampled.py` says what is sure.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, model_validator
from quiclens_schema.catalogue import CAUSES

from quiclens_questions.collector import VANTAGES
from quiclens_questions.documents import ChangedFigure, DiffDocument, DiffSide, DiffVerdict
from quiclens_questions.failure import CannotRun
from quiclens_questions.printed import printed
from quiclens_questions.statistics.resampled import FEWEST, LEVEL, Changed, ClusteredSums, changes

QUANTILES = (("p50", 0.5), ("p75", 0.75), ("p95", 0.95), ("p99", 0.99))
PAIRED_FROM = 0.8
"""Share of the requests of each side that must have a counterpart."""

Key = tuple[str, int, int]
"""A request: the file's path within its folder, the trace's number in the file, the stream."""


class _Row(BaseModel):
    """What the collector prints has more columns than are read here."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    vantage: str
    trace_id: str


class TraceRow(_Row):
    """Of `connections`: which file a trace is of."""

    source_file: str


class RequestRow(_Row):
    """Of `streams`: a request with its parts."""

    stream_id: int
    complete: bool
    duration_us: int
    end_is: str
    grade: str
    parts_us: tuple[int, ...]

    @model_validator(mode="before")
    @classmethod
    def _with_parts(cls, row: Mapping[str, object]) -> Mapping[str, object]:
        return {**row, "parts_us": [row.get(f"{cause}_us") for cause in CAUSES]}


class _Trace(BaseModel):
    table: Literal["connections"]
    row: TraceRow


class _Request(BaseModel):
    table: Literal["streams"]
    row: RequestRow


class _Reject(BaseModel):
    table: Literal["rejects"]


class _Other(BaseModel):
    table: Literal["episodes", "connection_aliases"]


_LINE: TypeAdapter[_Trace | _Request | _Reject | _Other] = TypeAdapter(_Trace | _Request | _Reject | _Other)


@dataclass(frozen=True)
class Logs:
    """What a folder has: requests that ended and whose log is whole enough, in order, and how many were left out, by
    reason."""

    requests: Mapping[Key, RequestRow]
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])

    @cached_property
    def connections(self) -> list[tuple[str, int]]:
        return list(dict.fromkeys((path, trace) for path, trace, _ in self.requests))


def diff(old: Path, new: Path, vantage: str = "") -> DiffDocument:
    """`vantage`: whose logs; of the server where both folders have some, else of the first side that both have."""
    rows = {side: _read(path) for side, path in (("old", old), ("new", new))}
    chosen = vantage or next(
        (each for each in VANTAGES if all(_has(read.requests, each) for read in rows.values())), VANTAGES[0]
    )
    before, after = (_logs(read, path, chosen) for read, path in ((rows["old"], old), (rows["new"], new)))
    common = [key for key in before.requests if key in after.requests]
    most = max(len(before.requests), len(after.requests))
    is_paired = most > 0 and len(common) >= PAIRED_FROM * most
    if is_paired:
        before, after = (_only(each, common) for each in (before, after))
    durations, causes = _figures(before, after, is_paired)
    return {
        "old": _side(old, before),
        "new": _side(new, after),
        "vantage": chosen,
        "paired": is_paired,
        "level": LEVEL,
        "fewest_connections": FEWEST,
        "verdict": _verdict(durations, causes, min(len(each.connections) for each in (before, after))),
        "durations": durations,
        "causes": sorted(causes, key=lambda each: -abs(each["us"])),
    }


@dataclass(frozen=True)
class _ReadRows:
    traces: Sequence[TraceRow]
    requests: Sequence[RequestRow]
    rejects: int


def _read(path: Path) -> _ReadRows:
    if not path.exists():
        raise CannotRun("unreadable", f"there is nothing at {path}", "name a log file or a folder of them")
    traces, requests, rejects = [], [], 0
    for found in printed(["dump", str(path)], _LINE, "row"):
        if isinstance(found, _Trace):
            traces.append(found.row)
        elif isinstance(found, _Request):
            requests.append(found.row)
        elif isinstance(found, _Reject):
            rejects += 1
    return _ReadRows(traces, requests, rejects)


def _has(requests: Sequence[RequestRow], vantage: str) -> bool:
    return any(each.vantage == vantage for each in requests)


def _logs(read: _ReadRows, path: Path, vantage: str) -> Logs:
    """Requests of one side's logs, by their place; a file's traces are numbered as they stand in it."""
    files: dict[tuple[str, str], tuple[str, int]] = {}
    in_file: Counter[str] = Counter()
    for trace in read.traces:
        if trace.vantage == vantage:
            within = Path(trace.source_file).relative_to(path).as_posix() if path.is_dir() else ""
            files[trace.vantage, trace.trace_id] = within, in_file[within]
            in_file[within] += 1
    requests: dict[Key, RequestRow] = {}
    left_out: Counter[str] = Counter({"rejected_records": read.rejects} if read.rejects else {})
    for each in read.requests:
        if each.vantage != vantage:
            left_out["other_side"] += 1
        elif not each.complete or each.end_is == "reset":
            left_out["not_ended"] += 1
        elif each.grade == "damaged":
            left_out["damaged"] += 1
        elif (key := (*files[each.vantage, each.trace_id], each.stream_id)) in requests:
            left_out["twice"] += 1  # the same trace in two files
        else:
            requests[key] = each
    return Logs(requests, left_out)


def _only(logs: Logs, keys: Sequence[Key]) -> Logs:
    without = len(logs.requests) - len(keys)
    left_out = {**logs.left_out, "no_counterpart": without} if without else logs.left_out
    return Logs({key: logs.requests[key] for key in keys}, left_out)


def _figures(before: Logs, after: Logs, is_paired: bool) -> tuple[list[ChangedFigure], list[ChangedFigure]]:
    """Of the duration its mean and quantiles; and the mean of each cause that any request has."""
    if not before.requests or not after.requests:
        return [], []
    seen = [
        place
        for place in range(len(CAUSES))
        if any(each.parts_us[place] for logs in (before, after) for each in logs.requests.values())
    ]
    old, new = (_sums(each, seen) for each in (before, after))
    mean, *others = changes(old, new, is_paired, [level for _, level in QUANTILES])
    means, quantiles = others[: len(seen)], others[len(seen) :]
    durations = zip(("mean", *(name for name, _ in QUANTILES)), (mean, *quantiles), strict=True)
    causes = zip((CAUSES[place] for place in seen), means, strict=True)
    return [_figure(*each) for each in durations], [_figure(*each) for each in causes]


def _sums(logs: Logs, seen: Sequence[int]) -> ClusteredSums:
    numbers = {each: at for at, each in enumerate(logs.connections)}
    rows = [
        (numbers[path, trace], float(each.duration_us), [float(each.parts_us[place]) for place in seen])
        for (path, trace, _), each in logs.requests.items()
    ]
    return ClusteredSums.of(rows, len(numbers), len(seen))


def _figure(name: str, found: Changed) -> ChangedFigure:
    low, high = (None if each is None else round(each, 3) for each in (found.low_us, found.high_us))
    return {
        "name": name,
        "old_us": round(found.old_us, 3),
        "new_us": round(found.new_us, 3),
        "us": round(found.us, 3),
        "low_us": low,
        "high_us": high,
        "chance": None if found.chance is None else float(f"{found.chance:.3g}"),
        "is_sure": found.is_sure,
    }


def _side(path: Path, logs: Logs) -> DiffSide:
    return {
        "path": str(path),
        "requests": len(logs.requests),
        "connections": len(logs.connections),
        "left_out": dict(logs.left_out),
    }


def _verdict(durations: Sequence[ChangedFigure], causes: Sequence[ChangedFigure], connections: int) -> DiffVerdict:
    """By the durations that are sure; where none is, by the causes: parts add up to the duration, and what one adds is
    often surer than the sum, which varies by all of them."""
    if connections < FEWEST:
        return "too_few"
    for some in (durations, causes):
        sure = [each["us"] > 0 for each in some if each["is_sure"]]
        if sure:
            return "slower" if all(sure) else "shifted" if any(sure) else "faster"
    return "same"
