"""`quiclens-lab against`: is the collector as fast as an older one, and does it need no more instructions an event?

Both read the same simulated traces in three forms: one document with its header first, one with its header behind the
events (sorted keys), and JSON-SEQ. Instructions are those that callgrind counts of `bench`, for each form; the start of
the process is taken off by a smaller input. Speed is processor time of `run` with redaction on, as servers run it, in
runs that alternate between the two.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from quiclens_lab.bench import as_sequence
from quiclens_lab.bench_input import make_bench_input
from quiclens_lab.collector_bench import figures, until_quiet, write_config
from quiclens_lab.errors import CannotTryError, LabError
from quiclens_lab.judgement import Judgement
from quiclens_lab.machine import collector_binary
from quiclens_lab.progress import say

MORE_INSTRUCTIONS = 1.03
AS_FAST = 0.97
EVENTS, RUNS = 300_000, 11  # that the bar asks for
COUNTED_EVENTS = 60_000
"""Of each form under callgrind, which is some fifty times slower."""


def against(older: Path, events: int, runs: int, keep: bool) -> dict[str, Any]:
    """Compare with the collector at `older`; `passes` is false where one of the two bars is missed.

    CannotTryError where one of the collectors does not run, or valgrind is missing.
    """
    collectors = {"older": older, "newer": collector_binary()}
    version = _version(older)
    with tempfile.TemporaryDirectory(prefix="quiclens-against-") as scratch:
        counted = instructions(collectors, forms(Path(scratch) / "counted", COUNTED_EVENTS))
        logs = Path(scratch) / "logs"
        forms(logs, events)
        taken = alternating(collectors, logs, runs, Path(scratch))
    more = {form: round(of["newer"] / of["older"], 4) for form, of in counted.items()}
    as_fast = round(median(old / new for old, new in zip(taken["older"], taken["newer"], strict=True)), 4)
    judgement = Judgement("against")
    judgement.least("events of each form", EVENTS, events)
    judgement.least("alternating runs", RUNS, runs)
    judgement.found |= {
        "older": version,
        "instructions_an_event": counted,
        "times_the_instructions": more,
        "events": 3 * events,
        "cpu_s": taken,
        "times_as_fast": as_fast,
        "bars": {"times_the_instructions": MORE_INSTRUCTIONS, "times_as_fast": AS_FAST},
    }
    judgement.want(as_fast >= AS_FAST, f"{as_fast} times as fast, not {AS_FAST}")
    for form, times in more.items():
        judgement.want(times <= MORE_INSTRUCTIONS, f"{form}: {times} times the instructions, not {MORE_INSTRUCTIONS}")
    return judgement.document(keep)


def forms(folder: Path, events: int) -> dict[str, Path]:
    """A folder for each form, each with the same `events` under connection ids of its own."""
    behind = folder / "header behind"
    make_bench_input(behind, events, 1, lambda done, total: None)
    first = folder / "header first"
    first.mkdir()
    for path in behind.rglob("*.qlog"):
        (first / f"f{path.name}").write_text(json.dumps(header_first(json.loads(path.read_text()))))
    sequence = folder / "JSON-SEQ"
    as_sequence(behind, sequence, None)
    for path in behind.rglob("*.qlog"):
        path.write_text(json.dumps(json.loads(path.read_text()), sort_keys=True))
    return {path.name: path for path in (first, behind, sequence)}


def header_first(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document of one trace whose events come last."""
    (trace,) = document["traces"]
    others = {key: value for key, value in document.items() if key != "traces"}
    return {**others, "traces": [{**{key: trace[key] for key in trace if key != "events"}, "events": trace["events"]}]}


def instructions(collectors: Mapping[str, Path], folders: Mapping[str, Path]) -> dict[str, dict[str, float]]:
    """Instructions an event of each form and collector."""
    found: dict[str, dict[str, float]] = {}
    for form, folder in folders.items():
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        found[form] = {}
        for name, collector in collectors.items():
            (few_events, few), (all_events, of_all) = (counted(collector, part) for part in (files[:1], files))
            found[form][name] = round((of_all - few) / (all_events - few_events), 1)
        say(f"against: {form}: instructions an event {found[form]}")
    return found


def counted(collector: Path, files: list[Path]) -> tuple[int, int]:
    """Events of files, and the instructions that `bench` of them takes."""
    if shutil.which("valgrind") is None:
        raise CannotTryError("no valgrind here; apt install valgrind")
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(collector), "bench"]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or collected is None:
        raise LabError(f"{collector} bench: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)["events"], int(collected[1])


def alternating(collectors: Mapping[str, Path], logs: Path, runs: int, scratch: Path) -> dict[str, list[float]]:
    """Processor time of each run in seconds. Which of the two begins alternates too."""
    taken: dict[str, list[float]] = {name: [] for name in collectors}
    for run in range(runs):
        for name in sorted(collectors, reverse=run % 2 == 1):
            folder = scratch / f"{name} {run}"
            taken[name].append(cpu_s(collectors[name], logs, folder))
            shutil.rmtree(folder)
        say(f"against: run {run + 1} of {runs}: {', '.join(f'{name} {of[-1]} s' for name, of in taken.items())}")
    return taken


def cpu_s(collector: Path, logs: Path, folder: Path) -> float:
    """Processor time in seconds until a collector that follows `logs` has read all of it."""
    folder.mkdir()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([collector, "run", write_config(folder, logs, 0)], stderr=log)
    try:
        until_quiet(process.pid)
        taken = figures(process.pid)["cpu_s"]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
    if not any(path.stat().st_size for path in (folder / "out").rglob("*") if path.is_file()):
        raise LabError(f"{collector} shipped nothing: {(folder / 'log').read_text().strip()[-500:]}")
    return round(taken, 2)


def _version(collector: Path) -> str:
    done = subprocess.run([collector, "--version"], capture_output=True, text=True, check=False)
    if done.returncode != 0 or not os.access(collector, os.X_OK):
        raise CannotTryError(f"{collector} does not run: {done.stderr.strip()}")
    return done.stdout.strip()
