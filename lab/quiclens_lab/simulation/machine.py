"""The tests of the collector that simulate it: built, run for some seeds, and what they report."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from quiclens_lab.errors import LabError
from quiclens_lab.machine import LAB

ROOT = LAB.parent
MADE = ROOT / ".made" / "simulation"
LONGEST_SECONDS = 900
"""A turn that takes longer hangs."""
_MARK = "simulation: "


@dataclass(frozen=True, slots=True)
class FailedSchedule:
    """A schedule in which something was wrong."""

    seed: int
    wrong: list[str]


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """What came of some schedules: `befell` counts calls that met a fault by its kind, call and place, and what writers
    and the broker did; `made` counts calls by call and place; `struck` counts faults; `seconds` is processor time."""

    schedules: int
    records: int
    struck: int
    calls: int
    lives: int
    replays: int
    seconds: float
    least: dict[str, int]
    made: dict[str, int]
    befell: dict[str, int]
    failures: list[FailedSchedule]


_REPORT = TypeAdapter(SimulationReport)


def build(tree: Path = ROOT, into: Path | None = None) -> Path:
    """Build the collector's tests out of `tree`; returns the program. LabError when that fails."""
    command = ["cargo", "test", "--locked", "--release", "--package", "quiclens-agent", "--bin", "quiclens-collector"]
    environment = dict(os.environ) | ({"CARGO_TARGET_DIR": str(into), "CARGO_INCREMENTAL": "1"} if into else {})
    done = subprocess.run(
        [*command, "--no-run", "--message-format=json"],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise LabError(f"the collector's tests do not build: {done.stderr.strip()[-2000:]}")
    told: list[Mapping[str, Any]] = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    programs = [each["executable"] for each in told if each.get("executable")]
    if len(programs) != 1:
        raise LabError(f"cargo names {len(programs)} programs")
    return Path(programs[0])


def turn(program: Path, first: int, count: int, replays: int = 0, most_failed: int = 1000) -> SimulationReport:
    """Run `count` schedules from seed `first` on, the first `replays` of them twice, until `most_failed` have failed.
    LabError when there is no report."""
    command = [str(program), "simulation_of_many", "--ignored", "--nocapture"]
    environment = os.environ | {"QUICLENS_SIMULATION": f"{first} {count} {replays} {most_failed}"}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise LabError(f"seeds {first} to {first + count - 1} hang") from error
    told = [line.removeprefix(_MARK) for line in done.stdout.splitlines() if line.startswith(_MARK)]
    try:
        return _REPORT.validate_json(told[0])
    except (IndexError, ValidationError) as error:
        said = done.stderr.strip()[-500:]
        raise LabError(f"seeds {first} to {first + count - 1}: no report ({done.returncode}): {said}") from error


def replay(seed: int) -> str:
    """The command that runs one schedule again and says what ended each life of the collector."""
    return (
        f'QUICLENS_SIMULATION_SAYS=1 QUICLENS_SIMULATION="{seed} 1 1 1" cargo test --release -p quiclens-agent '
        "simulation_of_many -- --ignored --nocapture"
    )
