"""What the collector takes of a server: many open connections, one JSON-SEQ file each, some of which grow.

The traces are simulated ones under other connection ids. The collector's own figures come from /proc: resident memory
now and at its highest, and processor time of all its threads.
"""

import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from quiclens_lab.aioquic_pair import simulate
from quiclens_lab.bench_input import bench_plan
from quiclens_lab.draws import digest
from quiclens_lab.errors import LabError
from quiclens_lab.machine import collector_binary, machine
from quiclens_lab.traces import document

FIRST_EVENTS = 200  # of each connection before the measured time: its handshake and its first requests
PAUSE_S = 0.2
A_TURN = 4  # events of each growing file: twenty a second


def collector_bench(connections: int, active: int, seconds: float, cpu_cap: float) -> dict[str, Any]:
    """Open so many connections, let `active` of them grow for so long; what the collector took meanwhile."""
    run = simulate(bench_plan(1, 1), with_client_trace=False)
    trace = document(run, run.server)["traces"][0]
    with tempfile.TemporaryDirectory(prefix="quiclens-collector-bench-") as scratch:
        folder = Path(scratch)
        (folder / "logs").mkdir()
        header, events = _records(trace)
        names = [digest(1, "collector bench", number).hex() for number in range(connections)]
        for name in names:
            text = header.replace(run.connection_id, name) + "".join(events[:FIRST_EVENTS])
            (folder / "logs" / f"{name}.sqlog").write_text(text)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [collector_binary(), "run", write_config(folder, folder / "logs", cpu_cap)], stderr=log
            )
        try:
            until_quiet(process.pid)
            settled = figures(process.pid)
            written = _grow(folder / "logs", names[:active], events[FIRST_EVENTS:], seconds)
            until_quiet(process.pid)
            done = figures(process.pid)
            if process.poll() is not None:
                raise LabError(f"the collector ended: {(folder / 'log').read_text().strip()}")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
        cpu_s = done["cpu_s"] - settled["cpu_s"]
        return {
            "machine": machine(),
            "connections": connections,
            "active": active,
            "events": written,
            "resident_mb_open": settled["resident_mb"],
            "resident_mb": done["resident_mb"],
            "resident_mb_highest": done["highest_mb"],
            "cpu_s_per_million_events": round(cpu_s / written * 1e6, 2),
            "cpu_s_per_million_events_first_reading": round(settled["cpu_s"] / (connections * FIRST_EVENTS) * 1e6, 2),
            "states_mb": round((folder / "state" / "checkpoints").stat().st_size / 1e6, 2),
        }


def _records(trace: dict[str, Any]) -> tuple[str, list[str]]:
    events = trace.pop("events")
    header = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": trace}
    return _record(header), [_record(event) for event in events]


def _record(value: Any) -> str:
    return "\x1e" + json.dumps(value) + "\n"


def write_config(folder: Path, logs: Path, cpu_cap: float, more: str = "") -> Path:
    """Write settings of `run`, which follows `logs` and keeps its state and what it ships below `folder`; `more` stands
    among them."""
    config = folder / "run.toml"
    config.write_text(
        f'state_dir = "{folder / "state"}"\ntraces = ["{logs}"]\ncpu_cap = {cpu_cap}\n{more}'
        f'[sink]\nkind = "files"\nfolder = "{folder / "out"}"\n'
    )
    return config


def _grow(folder: Path, names: list[str], events: list[str], seconds: float) -> int:
    """Append to each file in turn, evenly over the time; returns how many events were written."""
    written = 0
    for begin in range(0, min(len(events), round(seconds / PAUSE_S) * A_TURN), A_TURN):
        started = time.monotonic()
        part = events[begin : begin + A_TURN]
        for name in names:
            with (folder / f"{name}.sqlog").open("a") as file:
                file.write("".join(part))
        written += len(part) * len(names)
        time.sleep(max(0.0, PAUSE_S - (time.monotonic() - started)))
    return written


def until_quiet(pid: int, patience_s: float = 600) -> None:
    """Wait until the process has taken hardly any time for three seconds."""
    began = time.monotonic()
    before = figures(pid)["cpu_s"]
    while time.monotonic() - began < patience_s:
        time.sleep(3)
        now = figures(pid)["cpu_s"]
        if now - before < 0.2:
            return
        before = now
    raise LabError("the collector does not come to rest")


def figures(pid: int) -> dict[str, float]:
    """Resident memory of a process in MB, now and at its highest, and its processor time in seconds."""
    status = dict(row.split(":", 1) for row in Path(f"/proc/{pid}/status").read_text().splitlines())
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return {
        "resident_mb": round(int(status["VmRSS"].split()[0]) / 1024, 1),
        "highest_mb": round(int(status["VmHWM"].split()[0]) / 1024, 1),
        "cpu_s": sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"),
    }
