"""Simulated server traces as templates: records with times since their start, to be told again under other ids.

A template's header alone says when the connection began, so telling it again costs a header and a replaced id.
"""

import json
import logging
import pickle
import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from quiclens_lab.access_log import lines_of
from quiclens_lab.machine import collector_binary
from quiclens_lab.population import population
from quiclens_lab.strikes import run_plan
from quiclens_lab.traces import document

LONGEST_MS = 12_000.0  # of a connection: the rate is steady once the first ones have ended
CONNECTIONS = 80


@dataclass(frozen=True, slots=True)
class Request:
    """A request that is over within its trace: after the record with `last_seq` its row can be known."""

    stream_id: int
    last_seq: int


@dataclass(frozen=True, slots=True)
class AccessLine:
    """A line of the access log: when it is written, and its fields."""

    at_ms: float
    started_ms: float
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Template:
    """One connection: `body` holds the records, record n ends at `ends[n]` and was logged `times_ms[n]` after the
    start."""

    connection_id: bytes
    common_fields: dict[str, Any]
    vantage_point: Any
    body: bytes
    ends: list[int]
    times_ms: list[float]
    requests: list[Request]
    lines: list[AccessLine]

    @property
    def events(self) -> int:
        return len(self.ends)

    def header(self, connection_id: bytes, started_ms: float) -> bytes:
        """The first record of the file in which it is told again."""
        fields = {**self.common_fields, "ODCID": connection_id.decode(), "reference_time": started_ms}
        trace = {"common_fields": fields, "vantage_point": self.vantage_point}
        return b"\x1e" + json.dumps({"qlog_format": "JSON-SEQ", "qlog_version": "0.3", "trace": trace}).encode() + b"\n"


def templates(folder: Path, seed: int) -> list[Template]:
    """Simulate a population's connections; what took long or never got through is left out."""
    folder.mkdir()
    logging.getLogger("quic").setLevel(logging.CRITICAL)
    made = []
    for plan in population(CONNECTIONS, seed):
        run = run_plan(plan, False)
        if not run.exchanges:
            continue
        trace = document(run, run.server)["traces"][0]
        began_ms = trace["events"][0]["time"]
        if trace["events"][-1]["time"] - began_ms > LONGEST_MS:
            continue
        made.append(_template(trace, began_ms, run.connection_id, lines_of(run), folder))
    return made


def _template(
    trace: dict[str, Any], began_ms: float, connection_id: str, lines: list[dict[str, Any]], folder: Path
) -> Template:
    body, ends, times_ms = bytearray(), [], []
    for event in trace["events"]:
        since_ms = round(event["time"] - began_ms, 3)
        times_ms.append(since_ms)
        body += b"\x1e" + json.dumps({**event, "time": since_ms}).encode() + b"\n"
        ends.append(len(body))
    bare = Template(
        connection_id.encode(), trace["common_fields"], trace["vantage_point"], bytes(body), ends, times_ms, [], []
    )
    path = folder / f"{connection_id}.sqlog"
    path.write_bytes(bare.header(bare.connection_id, began_ms) + bare.body)
    told = [_line(fields, began_ms) for fields in lines]
    return Template(
        bare.connection_id, bare.common_fields, bare.vantage_point, bare.body, ends, times_ms, _requests(path), told
    )


def _line(fields: dict[str, Any], began_ms: float) -> AccessLine:
    started_ms = datetime.fromisoformat(fields["time"]).timestamp() * 1000 - began_ms
    return AccessLine(started_ms + fields["duration_us"] / 1000, started_ms, fields)


def _requests(path: Path) -> list[Request]:
    """The streams that the collector finds in the file, by the record with which each was over."""
    words = [str(collector_binary()), "dump", str(path), "--room", "summaries"]
    done = subprocess.run(words, capture_output=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        Request(row["row"]["stream_id"], row["row"]["last_seq"])
        for row in rows
        if row["table"] == "streams" and row["row"]["complete"]
    ]


def keep(made: list[Template], path: Path) -> None:
    """For the writer, which is a process of its own."""
    path.write_bytes(pickle.dumps(made))


def kept(path: Path) -> list[Template]:
    """What `keep` wrote."""
    found: list[Template] = pickle.loads(path.read_bytes())
    return found
