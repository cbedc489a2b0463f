"""Every lock so many times, and what came of each round."""

import itertools
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quiclens_lab.errors import LabError
from quiclens_lab.judgement import Judgement
from quiclens_lab.lockouts.locks import LOCKS, Lock
from quiclens_lab.lockouts.site import Certificates, Site, started_broker
from quiclens_lab.progress import say

UNREADY_S, FLOWS_S = 60.0, 30.0
_PATIENCE_S = 300.0


ROUNDS = 5  # of each lock, that the bar asks for


@dataclass(slots=True)
class Round:
    """What came of one round; a time is missing where it broke before."""

    lock: str
    unready_s: float | None = None
    """Until the last of those who are locked out said so."""
    flows_s: float | None = None
    """From the mend until a log that was written meanwhile is stored."""
    ended: bool = False
    """All are ready again."""

    @property
    def slow(self) -> str:
        """Which bars it misses; empty where none."""
        over = [(self.unready_s, UNREADY_S, "until it says so"), (self.flows_s, FLOWS_S, "until rows flow")]
        return ", ".join(f"{took} s {what}, {most:g} are allowed" for took, most, what in over if took and took > most)

    @property
    def is_whole(self) -> bool:
        return self.ended and not self.slow


def lockouts(rounds: int, jobs: int, keep: bool) -> dict[str, Any]:
    """Every lock so many times, `jobs` at once; `passes` is false where one bar is missed."""
    judgement = Judgement("lockouts")
    judgement.least("rounds", ROUNDS, rounds)
    plan = [lock for _ in range(rounds) for lock in LOCKS]
    found = [Round(lock.name) for lock in plan]
    with tempfile.TemporaryDirectory(prefix="quiclens-lockouts-") as scratch, ExitStack() as ending:
        certificates = Certificates(Path(scratch))
        certificates.prepare()
        sharing = [number for number, lock in enumerate(plan) if not lock.has_own_broker]
        shared = ending.enter_context(started_broker(certificates, Path(scratch) / "kafka", sharing))

        def one(number: int) -> None:
            lock, folder = plan[number], Path(scratch) / str(number)
            folder.mkdir()
            with judgement.stage(f"{lock.name}, round {number}"), ExitStack() as ending:
                broker = shared
                if lock.has_own_broker:
                    broker = ending.enter_context(started_broker(certificates, folder / "kafka", [number]))
                play(lock, Site(folder, broker, number), found[number])
            if slow := found[number].slow:
                judgement.miss(f"{lock.name}, round {number}: {slow}")

        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(one, range(len(plan))))
    judgement.found = summary(found)
    return judgement.document(keep)


def summary(found: list[Round]) -> dict[str, Any]:
    """The figures of all rounds: of each lock how many passed, and the slowest."""
    kinds: dict[str, dict[str, Any]] = {}
    for lock in LOCKS:
        own = [each for each in found if each.lock == lock.name]
        kinds[lock.name] = {
            "rounds": len(own),
            "whole": sum(each.is_whole for each in own),
            "unready_s": max((each.unready_s for each in own if each.unready_s is not None), default=None),
            "flows_s": max((each.flows_s for each in own if each.flows_s is not None), default=None),
        }
    return {
        "rounds": len(found),
        "whole": sum(each.is_whole for each in found),
        "bars_s": {"unready": UNREADY_S, "flows": FLOWS_S},
        "locks": kinds,
        "found": [asdict(each) for each in found],
    }


def play(lock: Lock, site: Site, found: Round) -> None:
    """One round: how long until who is locked out says so, and until rows flow. LabError where it breaks; what was
    found until then stays."""
    numbers = itertools.count()
    with ExitStack() as ending:
        ending.callback(site.stop)
        lock.before(site)
        site.start()
        if not lock.is_before:
            first = site.log(next(numbers))
            _wait(lambda: site.has(first), lambda: f"rows do not flow: {_said(lock, site)}")
        lock.during(site)
        began = time.monotonic()
        written = site.log(next(numbers))
        for who in lock.whom:
            _wait(lambda who=who: not site.is_ready(who), lambda who=who: f"{who} does not say it")  # type: ignore[misc]
        found.unready_s = round(time.monotonic() - began, 1)
        if site.has(written):
            raise LabError("it was not locked out")
        lock.mend(site)
        began = time.monotonic()
        _wait(lambda: site.has(written), lambda: f"nothing flows: {_said(lock, site)}")
        found.flows_s = round(time.monotonic() - began, 1)
        for who in lock.whom:
            _wait(lambda who=who: site.is_ready(who), lambda who=who: f"{who} stays unready")  # type: ignore[misc]
    found.ended = True
    say(f"lockouts: {lock.name}: {found.unready_s} s until it says so, {found.flows_s} s until rows flow")


def _said(lock: Lock, site: Site) -> str:
    return "; ".join(site.said(who)[-500:] for who in lock.whom)


def _wait(is_so: Callable[[], bool], otherwise: Callable[[], str]) -> None:
    """Until it becomes so; LabError when it does not."""
    until = time.monotonic() + _PATIENCE_S
    while not is_so():
        if time.monotonic() > until:
            raise LabError(otherwise())
        time.sleep(0.5)
