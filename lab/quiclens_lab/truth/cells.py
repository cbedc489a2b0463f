"""Every stack with every controller on every kind of path: cells of runs that are made, judged and kept one by one."""

import subprocess
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from quiclens_lab.errors import LabError
from quiclens_lab.machine import LAB
from quiclens_lab.path import CONSTANT
from quiclens_lab.scenarios import CLEAN_SIZES, SCENARIOS
from quiclens_lab.truth.collector import identity
from quiclens_lab.truth.job_lists import STACK, Way, scenario_jobs
from quiclens_lab.truth.kept_runs import KeptRuns
from quiclens_lab.truth.other_stacks import judged_folder
from quiclens_lab.truth.runs import Progress, judged_runs
from quiclens_lab.truth.samples import LATE_TIMERS, WITHOUT_TAG, Judged
from quiclens_lab.truth.split import split

TARGET = LAB.parent / "target"
PROGRAMS = {
    "quic-go": TARGET / "quicgo-lab",
    "noq": TARGET / "noq" / "release" / "noq-traces",
    "tquic": TARGET / "tquic" / "release" / "tquic-traces",
}
MANY_SEEDS = {("quic-go", CONSTANT): 10}
"""How many times as many seeds, where runs cost next to nothing."""
OWN_TIMERS = ("quic-go",)
"""Stacks whose timers the lab cannot make late: they are the language's own."""
CONDITIONS = ("", LATE_TIMERS, WITHOUT_TAG)


@dataclass(frozen=True)
class Cell:
    """Runs of one stack and controller on one kind of path; no scenarios are all but the clean sizes."""

    stack: str
    controller: str
    script: str
    seeds: int
    scenarios: tuple[str, ...] = ()
    condition: str = ""
    first_seed: int = 1

    @property
    def seed_range(self) -> range:
        """The seeds of its runs."""
        return range(self.first_seed, self.first_seed + self.seeds)

    def command(self, program: Path, folder: Path) -> list[str]:
        """How the stack's program is asked for it."""
        says = self.condition.split()
        seeds = f"{self.seed_range[0]}-{self.seed_range[-1]}"
        if self.stack == "quic-go":
            command = [str(program), "-test.run", "^TestGenerate$", "-out", str(folder), "-seeds", seeds]
            command += ["-scripts", self.script, "-scenarios", ",".join(self.scenarios)]
            return [*command, *(["-without-tag"] if WITHOUT_TAG in says else [])]
        command = [str(program), "--out", str(folder), "--seeds", seeds, "--scripts", self.script]
        command += ["--controllers", self.controller]
        command += ["--scenarios", ",".join(self.scenarios)] if self.scenarios else []
        return [*command, *(f"--{name}" for name in says)]


def cells(is_final: bool, seeds: int, stacks: Collection[str] = (), scripts: Collection[str] = ()) -> Iterator[Cell]:
    """Those of `stacks.toml` that are for development, or those that are kept for the final check. No names are all."""
    clean = tuple(each.name for each in CLEAN_SIZES)
    for stack, controllers in split().controllers.items():
        if stacks and stack not in stacks:
            continue
        for controller in controllers:
            for script in split().scripts:
                if (scripts and script not in scripts) or split().is_final(stack, script) != is_final:
                    continue
                first = split().first_seed(stack, script)
                yield Cell(stack, controller, script, seeds * MANY_SEEDS.get((stack, script), 1), first_seed=first)
            for condition in CONDITIONS:
                if split().is_final(stack, CONSTANT) != is_final:
                    continue
                if (scripts and CONSTANT not in scripts) or (condition == LATE_TIMERS and stack in OWN_TIMERS):
                    continue
                first = split().first_seed(stack, CONSTANT)
                yield Cell(stack, controller, CONSTANT, seeds, clean, condition, first)


def judged_cells(
    chosen: Sequence[Cell], collector: Path, processes: int, progress: Progress, kept: KeptRuns
) -> list[Judged]:
    """All runs of these cells, one cell after another. LabError where the program of a stack is not built."""
    if missing := sorted({str(PROGRAMS[cell.stack]) for cell in chosen if not _is_built(cell.stack)}):
        raise LabError(f"{', '.join(missing)}: not built; `make truth` builds what it runs")
    done: list[Judged] = []
    for number, cell in enumerate(chosen):
        done += _judged_cell(cell, collector, processes, kept)
        progress(number + 1, len(chosen))
    return done


def _is_built(stack: str) -> bool:
    return stack == STACK or PROGRAMS[stack].is_file()


def _judged_cell(cell: Cell, collector: Path, processes: int, kept: KeptRuns) -> list[Judged]:
    if cell.stack == STACK:
        known = {each.name: each for each in (*SCENARIOS, *CLEAN_SIZES)}
        scenarios = [known[name] for name in cell.scenarios] or SCENARIOS
        way = Way(cell.controller, cell.script, cell.condition)
        return judged_runs(
            list(scenario_jobs(scenarios, cell.seed_range, True, way)), collector, processes, _silent, kept
        )
    program = PROGRAMS[cell.stack]
    name = f"{identity(program)} {cell}"
    found = kept.get(name)
    if found is None:
        found = _made(cell, program, collector)
        kept.put(name, found)
    return found


def _made(cell: Cell, program: Path, collector: Path) -> list[Judged]:
    with tempfile.TemporaryDirectory(prefix="quiclens-truth-") as scratch:
        done = subprocess.run(cell.command(program, Path(scratch)), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()] or ["no message"]
            raise LabError(f"{program.name} ended with {done.returncode} for {cell}: {lines[-1]}")
        return judged_folder(Path(scratch), collector, _silent)


def _silent(_done: int, _all: int) -> None:
    """Cells tell of themselves."""
