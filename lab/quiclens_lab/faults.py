"""Faults: the live system is struck while files grow, rotate and break; nothing may be lost, doubled or changed.

A schedule starts the whole system, writes traffic, and strikes (`faults_schedule.py` has the kinds). When everything
runs again and is quiet, the store must say, row by row, what a plain reading of all bytes ever written says.
"""

import json
import logging
import multiprocessing
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from quiclens_lab import faults_live, system
from quiclens_lab.faults_run import run
from quiclens_lab.faults_schedule import KINDS, SPOOL, Schedule, draw_schedule
from quiclens_lab.judgement import Judgement
from quiclens_lab.kept import RunLines, keep_only
from quiclens_lab.machine import LAB, code_of

MADE = LAB.parent / ".made" / "faults"
KEPT = LAB / "fault-runs"
SCHEDULES = 200
"""Whole ones, in which each kind strikes."""

SOURCES = (
    *("Cargo.lock", "requirements.lock", "schema/catalogue", "schema/clickhouse", "schema/topics"),
    *(f"collectors/{crate}" for crate in ("core", "tail", "edge", "heap", "agent/src")),
    *("schema/quiclens_schema", "ingest/quiclens_ingest"),
    *("api/store_server/quiclens_store_server", "api/web/quiclens_web/front"),
)
"""What a schedule judges."""


@dataclass(frozen=True)
class Outcome:
    """What a schedule did, and what was wrong afterwards."""

    schedule: Schedule
    seconds: float
    phases_s: dict[str, float] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    wrong: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    folder: str = ""

    @property
    def is_whole(self) -> bool:
        return not (self.wrong or self.error)

    def as_json(self) -> dict[str, Any]:
        return {**self.__dict__, "schedule": self.schedule.as_json(), "is_whole": self.is_whole}


def faults(
    schedules: Sequence[Schedule],
    jobs: int,
    is_kept: bool,
    progress: Callable[[int, int], None],
    folder: Path = MADE,
) -> dict[str, Any]:
    """Run the schedules, `jobs` side by side, each in a process and a folder of its own; `passes` is false where one is
    not whole, and, of a document that is kept, where there are too few, or a kind never struck.

    In `folder` each outcome is kept as soon as it is there: a run of the same code goes on with those that are left,
    and tries again those that were not whole. What those leave behind is kept there too. Where a document is kept,
    whole outcomes are also kept in `KEPT`, of the newest code only: a run on another machine goes on from there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    code = code_of(LAB.parent, SOURCES)
    kept = RunLines(folder, f"{code}.jsonl", Outcome)
    elsewhere = RunLines(KEPT if is_kept else None, f"{code}.jsonl", Outcome)
    known = known_outcomes(kept, elsewhere)
    if is_kept:
        keep_only(KEPT, f"{code}.jsonl")
    left = [each for each in schedules if (each.seed, each.number) not in known]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # told to end, it ends what it started too
    outcomes = [known[each.seed, each.number] for each in schedules if (each.seed, each.number) in known]
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for done in as_completed([pool.submit(apart, each, folder) for each in left]):
                outcomes.append(done.result())
                kept.add(outcomes[-1])
                if outcomes[-1].is_whole:
                    elsewhere.add(outcomes[-1])
                progress(len(outcomes), len(schedules))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for running in multiprocessing.active_children():
                running.terminate()  # it ends what it started
            raise
    outcomes.sort(key=lambda each: each.schedule.number)
    judgement = Judgement("faults", {"code": code, **added(outcomes)})
    judge(judgement, outcomes)
    return judgement.document(is_kept)


def known_outcomes(here: RunLines[Outcome], elsewhere: RunLines[Outcome]) -> dict[tuple[int, int], Outcome]:
    """Whole outcomes of both, by seed and number; those of here are `elsewhere` too afterwards."""
    known = _whole(elsewhere)
    for number, outcome in _whole(here).items():
        if number not in known:
            elsewhere.add(outcome)
            known[number] = outcome
    return known


def _whole(lines: RunLines[Outcome]) -> dict[tuple[int, int], Outcome]:
    """Whole outcomes that were kept, by seed and number."""
    return {(each.schedule.seed, each.schedule.number): each for each in lines.read() if each.is_whole}


def added(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What all schedules did together."""
    whole = [each for each in outcomes if each.is_whole]
    struck = Counter(strike.kind for each in whole for strike in each.schedule.strikes)
    return {
        "schedules": len(outcomes),
        "whole": len(whole),
        "seconds": {"least": min(each.seconds for each in outcomes), "most": max(each.seconds for each in outcomes)},
        "rows": dict(sum((Counter(each.rows) for each in whole), Counter())),
        "struck": dict(sorted(struck.items())),
        "broken": [each.as_json() for each in outcomes if not each.is_whole],
    }


def judge(judgement: Judgement, outcomes: Sequence[Outcome]) -> None:
    """Find out what of the bar is missed, or left out."""
    for each in outcomes:
        judgement.want(each.is_whole, f"schedule {each.schedule.number} of seed {each.schedule.seed} is not whole")
    whole = judgement.found["whole"]
    judgement.leave_out(whole < SCHEDULES, f"{whole} whole schedules of {SCHEDULES}")
    never = [kind for kind in KINDS if kind not in judgement.found["struck"]]
    judgement.leave_out(bool(never), f"never struck: {', '.join(never)}")


def apart(schedule: Schedule, keep: Path) -> Outcome:
    """One schedule in a process of its own, for the engine that reads plainly is one to a process."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_tell, args=(sender, schedule, keep))
    process.start()
    sender.close()
    try:
        outcome: Outcome = receiver.recv()
    except EOFError:
        outcome = Outcome(schedule, 0.0, error="its process ended without a word")
    process.join()
    return outcome


def _tell(sender: Connection, schedule: Schedule, keep: Path) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        sender.send(in_its_folder(schedule, keep))


def in_its_folder(schedule: Schedule, keep: Path) -> Outcome:
    """One schedule. What a failed one leaves behind is kept below `keep`; of one that is interrupted nothing is."""
    logging.getLogger("clickhouse_connect").setLevel(logging.CRITICAL)  # a store that is away is what we wait for
    folder = Path(tempfile.mkdtemp(prefix=f"quiclens-faults-{schedule.number}-"))
    try:
        outcome = _in_a_live_system(schedule, folder)
        if not outcome.is_whole:
            outcome = replace(outcome, folder=str(_kept(folder, keep, outcome)))
        return outcome
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _in_a_live_system(schedule: Schedule, folder: Path) -> Outcome:
    began = time.monotonic()
    try:
        live = faults_live.start(folder, schedule.idle_s, schedule.when_full, schedule.is_disk_small)
        phases_s = {"start": round(time.monotonic() - began, 1)}
        found = run(schedule, live)
        seconds = round(time.monotonic() - began, 1)
        wrong = json.loads(json.dumps(found.wrong, default=str))
        return Outcome(schedule, seconds, phases_s | found.phases_s, found.rows, wrong)
    except Exception:  # the others go on; this one did not pass
        return Outcome(schedule, round(time.monotonic() - began, 1), error=traceback.format_exc())
    finally:
        system.down(folder)
        for mounted in ("collector/spool", "traffic"):  # what stood in the latter is in traffic.img
            faults_live.unmount(folder / mounted)


def _kept(folder: Path, keep: Path, outcome: Outcome) -> Path:
    target = keep / f"{outcome.schedule.seed}-{outcome.schedule.number}"
    shutil.rmtree(target, ignore_errors=True)
    shutil.move(folder, target)
    (target / "outcome.json").write_text(json.dumps(outcome.as_json(), indent=1, default=str) + "\n")
    return target


def kinds_here() -> list[str]:
    """The kinds that this collector can be struck with."""
    listens = faults_live.can_listen()
    return [kind for kind in KINDS if listens or kind not in SPOOL]


def schedules_of(count: int, seed: int, only: Sequence[int]) -> list[Schedule]:
    """The schedules of a seed, or some of them by number."""
    kinds = kinds_here()
    return [draw_schedule(number, seed, kinds) for number in (only or range(count))]
