"""Inputs to begin with, made of the case folders each time: nothing of them is kept as a copy.

Many targets take the last two bytes of an input as the way in which it is cut: every seed of them ends in two more.
"""

import gzip
import json
import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

from quiclens_lab.fuzzing import surfaces
from quiclens_lab.fuzzing.targets import FuzzTarget
from quiclens_lab.machine import LAB

VECTORS = LAB.parent / "schema" / "vectors"
EVENTS = 24  # of a log that is cut short: libFuzzer wants small inputs
CUT = b"\x21\x03"

_LINES = (
    '192.0.2.7 - - [20/Nov/2026:10:00:00 +0000] "GET /a?b=c HTTP/3.0" 200 615 "-" "curl/8.7.1"',
    "192.0.2.7:33317 [20/Nov/2026:10:00:00.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "
    '{1wt.eu} {} "GET /index.html HTTP/1.1"',
    '[2026-11-20T10:00:00.310Z] "POST /api HTTP/2" 204 - 154 0 226 100 "192.0.2.28" "nsq2http" "cc21" "locations" '
    '"tcp://198.51.100.1:80"',
    '{"ts":1795168800.52,"request":{"remote_ip":"192.0.2.7","remote_port":"41342","proto":"HTTP/3.0",'
    '"headers":{"A":["b"]}},"duration":0.1}',
    '{"time":1795168800.25,"connection_id":"AABB","stream_id":"4","client_network":"192.0.2.7/32","x":{"y":[1]}}',
    '192.0.2.7:443 [2026-11-20T10:00:00+00:00] 1795168800.250 0.125 "GET / HTTP/3.0" 200 9 "a" 5 1200 -',
    '192.0.2.7:443 [20/Nov/2026:10:00:00.000250] 1200 1 "GET / HTTP/2.0" 200 9 "a" x',
)
_CONDITIONS = ("carrier=x", "duration_us>=1000", "time>=-1h", "status!=", "country = de", "time<=2026-11-20T10:00:00Z")


def write(target: FuzzTarget, folder: Path) -> None:
    """Write the seeds of a target into a folder of their own, a file each; libFuzzer would cut longer ones."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for kind in target.seeds:
        made = _LOGS[kind](target.longest - len(CUT)) if kind in _LOGS else _KINDS[kind]()
        for number, seed in enumerate(seed for seed in made if len(seed) <= target.longest):
            (folder / f"{kind}-{number:04}").write_bytes(seed)


def inputs() -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each case's trace."""
    for path in sorted(VECTORS.glob("*/input.*")):
        yield path.parent.name, path.read_bytes()


def _files(longest: int) -> Iterator[bytes]:
    for _, text in inputs():
        for short in _shortened(text, longest):
            yield short + CUT
            # Times that are differences are allowed, and no case has them.
            if (other := re.sub(rb'("time_format": ?)"relative"', rb'\1"delta"', short)) != short:
                yield other + CUT


def _shortened(text: bytes, longest: int) -> Iterator[bytes]:
    """A log with as many of its first records as fit into `longest` bytes; a document as a sequence, too."""
    try:
        log = json.loads(text)
    except ValueError:
        yield _fitting(text.splitlines(keepends=True), longest)
        return
    traces = log.get("traces", [])
    events = [trace.get("events", [])[:EVENTS] for trace in traces]
    for trace, some in zip(traces, events, strict=True):
        header = {"qlog_version": "0.3", "trace": {key: trace[key] for key in trace if key != "events"}}
        yield _fitting([b"\x1e" + json.dumps(record).encode() + b"\n" for record in (header, *some)], longest)
    for length in range(EVENTS, -1, -1):
        for trace, some in zip(traces, events, strict=True):
            trace["events"] = some[:length]
        if len(whole := json.dumps(log).encode()) <= longest:
            break
    yield whole[:longest]


def _fitting(records: list[bytes], longest: int) -> bytes:
    """The first of `records` that fit; the beginning of the first one where none does."""
    ends = list(accumulate(map(len, records[:EVENTS])))
    fits = [end for end in ends if end <= longest]
    return b"".join(records)[: fits[-1] if fits else longest]


def _records() -> Iterator[bytes]:
    yield from (record + CUT for record in _distinct(_each_record()) if record[:1] in b"{[")


def _rows() -> Iterator[bytes]:
    yield from (record + CUT for record in _distinct(_each_record()) if record[:1] not in b"{[")


def _headers() -> Iterator[bytes]:
    for _, text in inputs():
        try:
            log = json.loads(text)
        except ValueError:
            yield text.splitlines()[0].strip(b"\x1e") + CUT
            continue
        for trace in log.get("traces", []):
            trace.pop("events", None)
            yield json.dumps({"qlog_version": log.get("qlog_version"), "trace": trace}).encode() + CUT


def _each_record() -> Iterator[bytes]:
    for _, text in inputs():
        try:
            log = json.loads(text)
        except ValueError:
            yield from (line.strip(b"\x1e") for line in text.splitlines() if line.strip(b"\x1e "))
            continue
        for trace in log.get("traces", []):
            yield from (json.dumps(event).encode() for event in trace.get("events", []))


def _distinct(texts: Iterator[bytes]) -> Iterator[bytes]:
    """Of texts that differ in their digits alone, the first."""
    seen = set()
    for text in texts:
        form = re.sub(rb"[0-9a-f]{8,}|[0-9]+", b"0", text)
        if form not in seen:
            seen.add(form)
            yield text


def _values() -> Iterator[bytes]:
    """Three texts after each other, as `arbitrary` takes them apart: from the end, each with its length."""
    for record in _distinct(_each_record()):
        if record[:1] == b"{":
            yield b"http:frame_created" + b"frame.headers" + record[:256] + bytes([18, 13])


def _compressed(longest: int) -> Iterator[bytes]:
    for _, text in inputs():
        # Text becomes shorter: three times as much of it is tried first.
        packed = (gzip.compress(next(_shortened(text, longest * times)), mtime=0) for times in (3, 2, 1))
        yield next(body for body in packed if len(body) <= longest) + CUT


def _lines() -> Iterator[bytes]:
    yield from (line.encode() for line in _LINES)
    for path in sorted(VECTORS.glob("*/access.log")):
        yield from path.read_bytes().splitlines()[:EVENTS]


def _conditions() -> Iterator[bytes]:
    yield from (text.encode() for text in _CONDITIONS)


# Logs, shortened to the bytes given.
_LOGS: dict[str, Callable[[int], Iterator[bytes]]] = {"files": _files, "compressed": _compressed}
_KINDS: dict[str, Callable[[], Iterator[Any]]] = {
    "headers": _headers,
    "records": _records,
    "rows": _rows,
    "values": _values,
    "lines": _lines,
    "conditions": _conditions,
    **surfaces.SEEDS,
}
