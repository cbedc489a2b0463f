"""Bugs planted for the simulation: after how many schedules is each found?

A plant of `collectors/agent/src/run/simulation/plants.toml` replaces one text in a copy of the tree, whose tests are
built again. A finding counts when the code without the plant passes the same schedule.
"""

import shutil
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from quiclens_lab.errors import LabError
from quiclens_lab.fuzzing.plants import Plant, copy_tree, plant_in, verdict
from quiclens_lab.machine import commit, machine
from quiclens_lab.progress import say
from quiclens_lab.simulation.command import keep
from quiclens_lab.simulation.machine import MADE, ROOT, build, turn

PLANTS = ROOT / "collectors" / "agent" / "src" / "run" / "simulation" / "plants.toml"
MOST = 10_000
"""Schedules in which a plant is to be found."""
TURN = 100
"""Schedules of a turn: a plant that is found at once costs two."""


def planted(only: list[str], jobs: int, is_kept: bool) -> dict[str, Any]:
    """Plant each bug and run schedules until one fails; `passes` is false when one is not found, or was left out."""
    plants = [plant for plant in read() if not only or plant.name in only]
    if not plants:
        raise LabError(f"no such plants: {', '.join(only)}")
    tree, into = MADE / "plants", ROOT / "target" / "simulation-plants"
    copy_tree(tree)
    shutil.copy(ROOT / "Cargo.lock", tree)
    for plant in plants:
        plant_in(tree, plant)  # all of them fit before the first is tried
        copy_tree(tree)
    clean = MADE / "plants-clean"
    shutil.copy(build(tree, into), clean)
    rows = []
    say(f"{'plant':<64}{'schedules':>10}")
    for plant in plants:
        plant_in(tree, plant)
        try:
            program = build(tree, into)
        finally:
            copy_tree(tree)
        rows.append({"plant": plant.name, **_sought(program, clean, jobs)})
        say(f"{plant.name:<64}{rows[-1]['schedules']:>10,}  {rows[-1]['outcome']}")
    document = {"commit": commit(), "machine": machine(), **verdict(rows, read()), "plants": rows}
    if is_kept:
        keep(document)
    return document | {"passes": document["plants_pass"]}


def read() -> list[Plant]:
    """The plants of `plants.toml`."""
    return [Plant(target="simulation", **plant) for plant in tomllib.loads(PLANTS.read_text())["plant"]]


def _sought(program: Path, clean: Path, jobs: int) -> dict[str, Any]:
    """In how many schedules, in order of their seeds, a planted bug is found, and what is wrong then."""
    with ThreadPoolExecutor(jobs) as threads:
        for at in range(0, MOST, TURN * jobs):
            turns = [threads.submit(_turn, program, first) for first in range(at, at + TURN * jobs, TURN)]
            failed = [failure for each in turns for failure in each.result()]
            if failed:
                seed, wrong = min(failed)
                is_ours = bool(turn(clean, seed, 1).failures)
                outcome = "found without the plant" if is_ours else "found"
                return {"outcome": outcome, "schedules": seed + 1, "said": wrong[:200]}
    return {"outcome": "not found", "schedules": MOST, "said": ""}


def _turn(program: Path, first: int) -> list[tuple[int, str]]:
    """The first failure of a turn, if there is one."""
    report = turn(program, first, TURN, most_failed=1)
    return [(failure.seed, failure.wrong[0]) for failure in report.failures]
