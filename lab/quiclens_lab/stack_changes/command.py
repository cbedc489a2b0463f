"""The bar of `quiclens diff`: planted changes of quic-go are found, with their cause; nothing is found where nothing
changed; versions of quic-go are compared.

A comparison is of so many connections a side, of the same seeds, over paths whose jitter is drawn anew for each side.
What a change did to the p95 is the mean of all comparisons; a change of 2 % or more must be found.
"""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from quiclens_questions.diff import diff
from quiclens_questions.documents import DiffDocument

from quiclens_lab.judgement import Judgement
from quiclens_lab.kept import RunLines
from quiclens_lab.machine import LAB, code_of
from quiclens_lab.progress import say, show
from quiclens_lab.stack_changes.stacks import (
    NEWEST,
    VERSIONS,
    PlantedChange,
    QuicGo,
    build_planted,
    build_version,
    planted_changes,
)

MADE = LAB.parent / ".made" / "stack-changes"
RUNS, NOTHING = 100, 1_000
"""Of the bar: comparisons of each change, and of nothing that changed."""
CHANGES, FOUND, RIGHT, FALSE, SECONDS = 12, 0.95, 0.95, 0.01, 60.0
EXPLAINED = 0.5
"""Of the mean's change, by the causes that a change acts on, at least: a cause may be sure, and hardly anything."""
LEAST_P95 = 0.02
"""What a change must do to the p95 to be one that has to be found."""
CONNECTIONS = 120
"""Of each side, about."""
MANY = 1_000
"""Connections of each side of the comparison whose time is taken."""
MIXED = (
    *("clean", "clean_10k", "clean_200k", "think", "burst_loss", "tail_loss", "blackout", "stream_credit"),
    *("connection_credit", "small_window", "slow_bottleneck", "upload", "dribble", "competing", "amplification"),
)
PATHS = ("constant", "jitter")
_CODE = ("api/questions/quiclens_questions", "collectors/core/src", "lab/quicgo", "lab/quiclens_lab/stack_changes")


@dataclass(frozen=True)
class StackCompared:
    """What came of one comparison."""

    of: str  # a planted change, two versions, or `nothing`
    run: int
    verdict: str
    old_p95_us: float
    new_p95_us: float
    p95_is_sure: bool
    mean_us: float  # what the mean changed by
    causes_us: Mapping[str, float]  # what those changed by which are sure, the most first


@dataclass(frozen=True)
class Comparison:
    """One that is to be made; picklable, for the processes that make them."""

    of: str
    run: int
    old: QuicGo
    new: QuicGo
    scenarios: tuple[str, ...]
    scripts: tuple[str, ...]
    is_same_work: bool = True  # else the seeds of the second side are others

    def compare(self) -> StackCompared:
        """Both sides are written, and compared by the product."""
        a_seed = max(1, CONNECTIONS // len(self.scenarios) // len(self.scripts))
        first = 1 + 2 * self.run * a_seed
        seeds = range(first, first + a_seed)
        others = seeds if self.is_same_work else range(first + a_seed, first + 2 * a_seed)
        with TemporaryDirectory(prefix="quiclens-stack-changes-") as folder:
            old, new = Path(folder, "old"), Path(folder, "new")
            self.old.write(old, self.scenarios, self.scripts, seeds, 2 * self.run)
            self.new.write(new, self.scenarios, self.scripts, others, 2 * self.run + 1)
            return _compared(self.of, self.run, diff(old, new, "server"))


def _compared(of: str, run: int, found: DiffDocument) -> StackCompared:
    durations = {each["name"]: each for each in found["durations"]}
    p95, mean = durations["p95"], durations["mean"]
    causes = {each["name"]: each["us"] for each in found["causes"] if each["is_sure"]}
    return StackCompared(of, run, found["verdict"], p95["old_us"], p95["new_us"], p95["is_sure"], mean["us"], causes)


def stack_changes(
    runs: int, nothing: int, versions: bool, only: Sequence[str], jobs: int, keep: bool, folder: Path | None = MADE
) -> dict[str, Any]:
    """So many comparisons of each planted change, of each two versions of quic-go, and of nothing changed."""
    changes = [change for change in planted_changes() if not only or change.name in only]
    judgement = Judgement("stack-changes", {"runs": runs, "nothing": nothing, "connections": CONNECTIONS})
    judgement.least("comparisons of a change", RUNS, runs)
    judgement.least("comparisons of nothing", NOTHING, nothing)
    judgement.leave_out(not versions, "versions of quic-go")
    judgement.least("changes", len(planted_changes()), len(changes))
    kept = RunLines(folder, f"{code_of(LAB.parent, _CODE)}.jsonl", StackCompared)
    with TemporaryDirectory(prefix="quiclens-quic-go-") as made:
        newest = build_version(NEWEST, Path(made))
        planted = build_planted(changes, Path(made))
        others = [(version, build_version(version, Path(made))) for version in VERSIONS] if versions else []
        upgrades = [(f"{a} → {b}", old, new) for (a, old), (b, new) in pairwise([*others, (NEWEST, newest)])]
        wanted = [
            *(
                Comparison(change.name, run, newest, new, change.scenarios, (change.script,))
                for change, new in zip(changes, planted, strict=True)
                for run in range(runs)
            ),
            *(
                Comparison("nothing", run, newest, newest, MIXED, PATHS, is_same_work=run % 2 == 0)
                for run in range(nothing)
            ),
            *(
                Comparison(name, run, old, new, MIXED, ("constant",))
                for name, old, new in upgrades
                for run in range(runs)
            ),
        ]
        found = _all(wanted, kept, jobs)
        judgement.leave_out(not keep, f"the time of {MANY:,} connections a side")
        if keep:
            judgement.found["seconds"] = _seconds(newest, Path(made))
            judgement.want(
                judgement.found["seconds"] <= SECONDS,
                f"{MANY} connections a side took {judgement.found['seconds']} s",
            )
    by_name: dict[str, list[StackCompared]] = {}
    for each in found:
        by_name.setdefault(each.of, []).append(each)
    judgement.found["changes"] = [_judge_change(judgement, change, by_name[change.name]) for change in changes]
    found_large = [row for row in judgement.found["changes"] if abs(row["p95"]) >= LEAST_P95]
    judgement.want(
        len(found_large) >= min(CHANGES, len(changes)), f"{len(found_large)} changes move the p95 by {LEAST_P95:.0%}"
    )
    if nothing:
        _judge_nothing(judgement, by_name["nothing"])
    judgement.found["versions"] = [_judge_versions(judgement, name, by_name[name]) for name, _, _ in upgrades]
    return judgement.document(keep)


def _all(wanted: Sequence[Comparison], kept: RunLines[StackCompared], jobs: int) -> list[StackCompared]:
    """What was kept, and what is still to be compared; in order."""
    done = {(each.of, each.run): each for each in kept.read()}
    left = [each for each in wanted if (each.of, each.run) not in done]
    with ProcessPoolExecutor(jobs) as processes:
        for at, each in enumerate(processes.map(Comparison.compare, left), 1):
            kept.add(each)
            done[each.of, each.run] = each
            show(at, len(left))
    return [done[each.of, each.run] for each in wanted]


def _judge_change(judgement: Judgement, change: PlantedChange, rows: Sequence[StackCompared]) -> Mapping[str, Any]:
    p95 = _p95(rows)
    sign = 1 if change.becomes == "slower" else -1
    found = fmean(_is_found(each, change.becomes, sign) for each in rows)
    right = fmean(_is_right(each, change.causes, sign) for each in rows)
    means = fmean(each.mean_us for each in rows)
    explained = fmean(sum(each.causes_us.get(cause, 0.0) for cause in change.causes) for each in rows) / means
    if abs(p95) >= LEAST_P95:
        judgement.want(explained >= EXPLAINED, f"{change.name}: its causes are {explained:.0%} of the mean's change")
        judgement.want(found >= FOUND, f"{change.name}: found in {found:.0%} of {len(rows)}")
        judgement.want(right >= RIGHT, f"{change.name}: the cause right in {right:.0%} of {len(rows)}")
    say(f"{change.name:<56} p95 {p95:+.1%}, found {found:.0%}, cause {right:.0%}, explains {explained:.0%}")
    return {
        "name": change.name,
        "p95": round(p95, 4),
        "found": round(found, 4),
        "right": round(right, 4),
        "explained": round(explained, 4),
        **_said(rows),
    }


def _said(rows: Sequence[StackCompared]) -> Mapping[str, Any]:
    """How often each verdict was given, and each cause was the one that changed most."""
    return {
        "verdicts": dict(Counter(each.verdict for each in rows)),
        "causes": dict(Counter(_most(each) for each in rows)),
    }


def _is_found(row: StackCompared, becomes: str, sign: int) -> bool:
    """Its verdict says so; or some figures grew and others shrank, and the p95 is of the right ones."""
    return row.verdict == becomes or (
        row.verdict == "shifted" and row.p95_is_sure and sign * (row.new_p95_us - row.old_p95_us) > 0
    )


def _is_right(row: StackCompared, causes: Sequence[str], sign: int) -> bool:
    most = _most(row)
    return most in causes and sign * row.causes_us[most] > 0


def _most(row: StackCompared) -> str:
    """The cause that changed most, of those which are sure."""
    return next(iter(row.causes_us), "")


def _judge_nothing(judgement: Judgement, rows: Sequence[StackCompared]) -> None:
    for name, half in (("same seeds", rows[::2]), ("other seeds", rows[1::2])):
        judgement.found[f"nothing, {name}"] = dict(Counter(each.verdict for each in half))
    false = fmean(each.verdict != "same" for each in rows)
    judgement.found["false"] = round(false, 4)
    judgement.want(false <= FALSE, f"nothing changed, and something was found in {false:.1%} of {len(rows)}")


def _judge_versions(judgement: Judgement, name: str, rows: Sequence[StackCompared]) -> Mapping[str, Any]:
    p95 = _p95(rows)
    becomes = "slower" if p95 > 0 else "faster"
    found = fmean(each.verdict == becomes for each in rows)
    if abs(p95) >= LEAST_P95:
        judgement.want(found >= FOUND, f"quic-go {name}: p95 {p95:+.1%}, found in {found:.0%} of {len(rows)}")
    say(f"quic-go {name}: p95 {p95:+.1%}, {becomes} in {found:.0%}")
    return {
        "versions": name,
        "p95": round(p95, 4),
        **_said(rows),
    }


def _p95(rows: Sequence[StackCompared]) -> float:
    """How far the p95 moved, as a share of it."""
    return fmean(each.new_p95_us for each in rows) / fmean(each.old_p95_us for each in rows) - 1


def _seconds(newest: QuicGo, made: Path) -> float:
    """Of `quiclens diff` for many connections, as somebody runs it."""
    a_seed = MANY // len(MIXED)
    sides = [made / "before", made / "after"]
    for jitter_seed, side in enumerate(sides):
        newest.write(side, MIXED, ("constant",), range(1, 1 + a_seed), jitter_seed)
    began = time.monotonic()
    command = [str(Path(sys.executable).with_name("quiclens")), "diff", *map(str, sides), "--json"]
    done = subprocess.run(command, capture_output=True, check=True)
    took = time.monotonic() - began
    assert json.loads(done.stdout)["verdict"], "no verdict"
    return round(took, 1)
