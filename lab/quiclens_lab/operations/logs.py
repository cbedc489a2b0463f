"""Logs that are of no one connection, as qlog sequences: a host's own, `host:<server>`, and an app's, `client:<id>`.

Each is one trace whose header's `group_id` is its name. Traces of connections are written with the same hand.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quiclens_lab.access_log import Line, write_access_log
from quiclens_lab.operations.fleet import Host
from quiclens_lab.plan import DIMENSIONS, Dimensions
from quiclens_lab.scenario_plans import WALL_START_US

DAY_US = 86_400_000_000
START_US = WALL_START_US - 20 * DAY_US  # a day of their own, so that a store may hold the demo beside them
LENGTH_US = 50 * 60 * 1_000_000

Fields = dict[str, Any]


@dataclass
class Log:
    """One trace that is being written: where it goes, its name, whose it is, what its header says, its records."""

    file: str
    name: str
    vantage: str
    fields: Fields
    _records: list[tuple[int, str, Fields]] = field(default_factory=list)

    def add(self, at_us: int, event: str, /, **data: Any) -> None:
        """One event, `at_us` after the scenario's start."""
        self._records.append((at_us, event, data))

    def text(self, start_us: int = START_US) -> str:
        """The whole file, its records in the order of their times; the scenario starts at this moment."""
        trace = {"vantage_point": {"type": self.vantage}, "common_fields": {"group_id": self.name, **self.fields}}
        header = {"file_schema": "urn:ietf:params:qlog:file:sequential", "trace": trace}
        ordered = sorted(self._records, key=lambda record: record[0])
        records = [{"time": (start_us + at_us) / 1000, "name": event, "data": data} for at_us, event, data in ordered]
        return "".join(f"\x1e{json.dumps(record)}\n" for record in (header, *records))

    @property
    def events(self) -> int:
        return len(self._records)


def host_log(host: Host, process: int, release: str) -> Log:
    """What one process of a host logs of itself; its host id in the header says who the id in a connection id is."""
    names = {"server": host.server, "cluster": host.cluster, "pop": host.pop}
    own = {"host_id": host.host_id, "process_id": process, "release": release}
    return Log(f"hosts/{host.server}-{process}.sqlog", f"host:{host.server}", "server", {**names, **own})


def client_fields(dimensions: Dimensions) -> Fields:
    """Who a client is, by the catalogue's names."""
    return {name: getattr(dimensions, name) for name in (*DIMENSIONS, "client_network")}


@dataclass(frozen=True)
class MadeScenario:
    """What a scenario wrote, and what is planted in it."""

    logs: Sequence[Log]
    truth: Fields
    lines: Sequence[Line] = ()

    def write_logs(self, folder: Path, start_us: int = START_US) -> None:
        """Write the logs below the folder."""
        for log in self.logs:
            target = folder / log.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(log.text(start_us), encoding="utf-8")

    def write(self, folder: Path, access_log: str) -> Fields:
        """Write the logs, and an access log where there is one; the document that says what is there."""
        self.write_logs(folder)
        if self.lines:
            write_access_log(self.lines, folder / access_log)
        events = sum(log.events for log in self.logs)
        return {"files": len(self.logs), "events": events, "requests": len(self.lines), "truth": self.truth}
