"""Where the whole logs come from: folders of any stack, and aioquic's scenarios, which are made here."""

import itertools
import json
import logging
import multiprocessing
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from quiclens_lab.errors import CannotTryError
from quiclens_lab.scenarios import SCENARIOS, scenario_named
from quiclens_lab.strikes import run_plan
from quiclens_lab.traces import write_traces
from quiclens_lab.truth.other_stacks import RECORDS, read_records

STACK = "aioquic"
Progress = Callable[[int, int], None]
PATTERNS = ("*.sqlog", "*.qlog", "*.qlog.gz", "*.sqlog.gz")


@dataclass(frozen=True, slots=True)
class WholeLog:
    """A log, the stack that wrote it, and its name within its folder, from which all chance comes."""

    stack: str
    name: str
    path: Path


def logs_below(folder: Path) -> list[WholeLog]:
    """The logs that the folder's `truth.jsonl` names, else every log below it as of one stack, the folder's name."""
    if (folder / RECORDS).is_file():
        named = {log: sample.stack for sample, log in read_records(folder)}
    else:
        named = {log: folder.name for pattern in PATTERNS for log in sorted(folder.rglob(pattern))}
    if not named:
        raise CannotTryError(f"no logs below {folder}")
    return [WholeLog(stack, str(log.relative_to(folder)), log) for log, stack in named.items()]


def drawn(logs: Sequence[WholeLog], limit: int, seed: int) -> list[WholeLog]:
    """At most so many of them, one of each of as many equal stretches."""
    if limit >= len(logs):
        return list(logs)
    draw = random.Random(f"{seed} {limit}")
    edges = [at * len(logs) // limit for at in range(limit + 1)]
    return [logs[draw.randrange(first, after)] for first, after in itertools.pairwise(edges)]


def make_aioquic(folder: Path, seeds: int, processes: int, progress: Progress) -> None:
    """Write the logs of every scenario with their `truth.jsonl`, of the vantage that each is judged from."""
    jobs = [(scenario.name, seed) for scenario in SCENARIOS for seed in range(1, seeds + 1)]
    lines = []
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for line in pool.imap(partial(_made, folder), jobs):
            lines.append(json.dumps(line) + "\n")
            progress(len(lines), len(jobs))
    (folder / RECORDS).write_text("".join(lines))


def _made(folder: Path, job: tuple[str, int]) -> dict[str, Any]:
    logging.getLogger("quic").setLevel(logging.CRITICAL)
    name, seed = job
    scenario = scenario_named(name)
    assert scenario is not None
    inside = folder / name / str(seed)
    write_traces(run_plan(scenario.plan(seed), with_client_trace=scenario.vantage == "client"), inside)
    (log,) = (inside / scenario.vantage).glob("*.qlog")
    return {
        "stack": STACK, "scenario": name, "cause": scenario.cause, "vantage": scenario.vantage, "seed": seed,
        "variant": "with", "log": str(log.relative_to(folder)), "stream_id": scenario.stream_id,
    }  # fmt: skip
