"""`quiclens-lab logging-cost`: what its own logging costs a server, and what of it a share costs.

Each server is given the same load with logging off, for a share of the connections and for all, in turns, so that what
else the machine does falls on all of them alike: each round begins with another setting. stdout is one JSON document;
exit 1 where a request has no line, or other connections were logged than were chosen.
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quiclens_lab.errors import CannotTryError
from quiclens_lab.logging_cost.figures import HEAD, rows, settings
from quiclens_lab.logging_cost.load import LARGE, LARGE_EACH, SMALL, Load
from quiclens_lab.logging_cost.measured import ZSTD_LEVEL, MeasuredTurn, turn
from quiclens_lab.logging_cost.stacks import STACKS, Stack
from quiclens_lab.machine import judged
from quiclens_lab.progress import say

Progress = Callable[[int, int], None]


def logging_cost(names: Sequence[str], load: Load, rounds: int, keep: bool, progress: Progress) -> dict[str, Any]:
    """These servers, or all; `passes` is false where one did not log what it should. What is kept of some is called by
    their names."""
    stacks = [stack for stack in STACKS if not names or stack.name in names]
    if reasons := [reason for stack in stacks if (reason := stack.missing())]:
        raise CannotTryError("; ".join(reasons))
    before = os.getloadavg()[0]
    total, done = rounds * sum(len(shares(stack, load)) for stack in stacks), 0

    def one_more() -> None:
        nonlocal done
        done += 1
        progress(done, total)

    found = {}
    for stack in stacks:
        say(f"logging-cost: {stack.name}: {stack.logs}")
        found[stack.name] = measure(stack, load, rounds, one_more)
    turns = [(name, each) for name, of_rounds in found.items() for of_round in of_rounds for each in of_round]
    missed = sorted({f"{name}: {each.missed}" for name, each in turns if each.missed})
    for each in missed:
        say(f"logging-cost: {each}")
    servers = {stack.name: _server(stack, load, found[stack.name]) for stack in stacks}
    say("\n".join([*HEAD, *(row for server in servers.values() for row in server["table"])]))
    document = {
        "load": {**asdict(load), "small_bytes": SMALL, "large_bytes": LARGE, "large_each": LARGE_EACH},
        "rounds": rounds,
        "zstd_level": ZSTD_LEVEL,
        "load_average": {"before": round(before, 2), "after": round(os.getloadavg()[0], 2)},
        "servers": servers,
        "missed": missed,
    }
    return judged("-".join(["logging-cost", *names]), document, not missed, keep)


def shares(stack: Stack, load: Load) -> list[float]:
    """The settings of a server, the one without logs first."""
    return [0.0, load.share, 1.0] if stack.takes_a_share else [0.0, 1.0]


def measure(stack: Stack, load: Load, rounds: int, one_more: Callable[[], None]) -> list[list[MeasuredTurn]]:
    """Its turns by round, in the order of `shares`."""
    found = []
    for number in range(rounds):
        turns: dict[float, MeasuredTurn] = {}
        for share in turned(shares(stack, load), number):
            with tempfile.TemporaryDirectory(prefix="quiclens-logging-cost-") as scratch:
                turns[share] = turn(stack, load, share, Path(scratch) / "server")
            one_more()
        found.append([turns[share] for share in shares(stack, load)])
    return found


def turned(values: Sequence[float], by: int) -> list[float]:
    """Begun with another one."""
    at = by % len(values)
    return [*values[at:], *values[:at]]


def _server(stack: Stack, load: Load, found: Sequence[Sequence[MeasuredTurn]]) -> dict[str, Any]:
    each = settings(found)
    return {
        "logs": stack.logs,
        "takes_a_share": stack.takes_a_share,
        "settings": [asdict(setting) for setting in each],
        "table": rows(stack.name, load.share, each),
    }
