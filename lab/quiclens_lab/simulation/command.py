"""`quiclens-lab simulation`: does the collector lose or double anything, whatever befalls its machine?

Seeds are run in turns, by as many processes as there are cores. What a turn found is kept in `.made/simulation`, and of
a run that is kept in `lab/simulation-runs`, so that a run that was ended goes on, on another machine too, as long as
the collector's code is the same.
"""

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quiclens_lab.kept import RunLines
from quiclens_lab.machine import LAB, code_of, commit, machine
from quiclens_lab.progress import say
from quiclens_lab.simulation.machine import MADE, ROOT, FailedSchedule, SimulationReport, build, replay, turn

KEPT = LAB / "simulation-runs"
TURN = 500
"""Schedules of a turn."""
SCHEDULES = 100_000
REPLAYS = 1000
"""Schedules that are run twice."""
EACH = 1000
"""Times that every kind of fault befalls every place, at least."""
LEAST = {"logs": 3, "records": 300, "faults": 3}
"""In each schedule, at least."""

_ADDED = ("schedules", "records", "struck", "calls", "lives", "replays")
SOURCES = (
    "Cargo.lock",
    *(f"collectors/{crate}/src" for crate in ("core", "tail", "edge", "heap", "agent")),
    "collectors/core/build.rs",
    "schema/catalogue",
    "schema/topics",
)


@dataclass(frozen=True, slots=True)
class ScheduleRun:
    """Some schedules that were run."""

    first: int
    count: int
    report: SimulationReport


def simulation(
    schedules: int, seconds: int, jobs: int, is_kept: bool, progress: Callable[[int, int], None]
) -> dict[str, Any]:
    """Run that many schedules, those of an earlier run among them, for at most so many seconds (0: as long as it
    takes); `passes` is false when one of them fails, or the bar is missed: see `missed`."""
    code = code_of(ROOT, SOURCES)
    MADE.mkdir(parents=True, exist_ok=True)
    program = MADE / f"collector-{code}"
    if not program.exists():
        for old in MADE.glob("collector-*"):
            old.unlink()
        shutil.copy(build(), program.with_suffix(".new"))
        program.with_suffix(".new").rename(program)
    kept = RunLines(MADE, f"{code}.jsonl", ScheduleRun, also=KEPT if is_kept else None)
    done = list(kept.read())
    run = {each.first for each in done}
    firsts = [first for first in range(0, schedules, TURN) if first not in run]
    until = time.monotonic() + seconds if seconds else float("inf")
    for each in _turns(program, firsts, jobs, until):
        done.append(each)
        kept.add(each)
        progress(min(sum(each.report.schedules for each in done), schedules), schedules)
    document = {
        "commit": commit(),
        "code": code,
        "machine": machine(),
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **added(each.report for each in done),
    }
    document["missed"] = missed(document)
    document["passes"] = not document["missed"]
    for line in lines(document):
        say(line)
    if is_kept:
        keep(document)
    return document


def _turns(program: Path, firsts: list[int], jobs: int, until: float) -> Iterable[ScheduleRun]:
    """Turns as they are done. Each begins with its share of the schedules that are run twice."""
    waiting = list(reversed(firsts))
    replays = -(-REPLAYS * TURN // SCHEDULES)
    running: dict[Future[SimulationReport], int] = {}
    with ThreadPoolExecutor(jobs) as threads:
        while running or (waiting and time.monotonic() < until):
            while waiting and len(running) < jobs and time.monotonic() < until:
                first = waiting.pop()
                running[threads.submit(turn, program, first, TURN, replays)] = first
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield ScheduleRun(running.pop(future), TURN, future.result())


def added(reports: Iterable[SimulationReport]) -> dict[str, Any]:
    """What all turns did together."""
    whole: Counter[str] = Counter()
    made: Counter[str] = Counter()
    befell: dict[str, int] = {}
    least: dict[str, int] = {}
    failures: list[FailedSchedule] = []
    seconds = 0.0
    for report in reports:
        whole.update({name: getattr(report, name) for name in _ADDED})
        made.update(report.made)
        # Not a Counter's update: what never befell is to be seen.
        for name, count in report.befell.items():
            befell[name] = befell.get(name, 0) + count
        for name, count in report.least.items():
            least[name] = min(count, least.get(name, count))
        failures += report.failures
        seconds += report.seconds
    failures.sort(key=lambda failure: failure.seed)
    return {
        **{name: whole[name] for name in _ADDED},
        "least": least,
        "cpu_s": round(seconds, 1),
        "ms_per_schedule": round(1000 * seconds / max(whole["schedules"] + whole["replays"], 1), 2),
        "made": dict(sorted(made.items())),
        "befell": dict(sorted(befell.items())),
        "failed": len(failures),
        "failures": [{**asdict(failure), "replay": replay(failure.seed)} for failure in failures[:100]],
    }


def missed(document: dict[str, Any]) -> list[str]:
    """What of the bar is missed, in words."""
    said = []
    if document["schedules"] < SCHEDULES:
        said.append(f"{document['schedules']:,} schedules of {SCHEDULES:,}")
    if document["replays"] < REPLAYS:
        said.append(f"{document['replays']:,} schedules run twice of {REPLAYS:,}")
    for name, least in LEAST.items():
        if (found := document["least"].get(name, 0)) < least:
            said.append(f"a schedule with {found} {name}, not {least}")
    rare = [f"{name} ({count})" for name, count in document["befell"].items() if count < EACH]
    if rare or not document["befell"]:
        said.append(f"not {EACH:,} times: {', '.join(rare)}")
    if document["failed"]:
        said.append(f"{document['failed']:,} schedules failed")
    return said


def lines(document: dict[str, Any]) -> list[str]:
    """The outcome, for people."""
    found = [
        f"{document['schedules']:,} schedules with {document['records']:,} records, {document['struck']:,} faults, "
        f"{document['lives']:,} lives of a collector, {document['calls']:,} calls; "
        f"{document['ms_per_schedule']} ms each; {document['replays']:,} run twice"
    ]
    for failure in document["failures"][:10]:
        found += [f"seed {failure['seed']}: {failure['wrong'][0]}", f"  {failure['replay']}"]
    found += [f"missed: {said[:1000]}" for said in document["missed"]]
    return [*found, "passes" if document["passes"] else "does not pass"]


def keep(document: dict[str, Any]) -> None:
    """Write the figures of a commit, with those that an earlier run kept and this one has not."""
    KEPT.mkdir(exist_ok=True)
    path = KEPT / f"{document['commit'].rstrip('+')}.json"
    earlier = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(earlier | document, indent=1) + "\n")
