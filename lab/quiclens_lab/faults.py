"""Faults: processes are killed and held at random moments while a real server writes; nothing may be lost.

A schedule starts the live system, lets a server answer some connections, and strikes the collector, ingest, the store
or the broker with kill -9 or SIGSTOP, each of them started or let go again. Afterwards the set of seq of every
connection in the store must be that of its file: a loss and a doubled record would cancel out in a count.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quiclens_lab import system

BIN = Path(sys.executable).parent
STRIKES = 4
CONNECTIONS = 12
REQUESTS = 5
LIMIT_S = 60
TARGETS = ("collector", "ingest", "serve", "broker")


@dataclass(frozen=True)
class Outcome:
    """What a schedule did, and what was wrong afterwards."""

    number: int
    strikes: tuple[str, ...]
    connections: int
    events: int
    missing: dict[str, list[int]]
    doubled: dict[str, list[int]]
    seconds: float

    @property
    def is_whole(self) -> bool:
        return self.connections > 0 and not self.missing and not self.doubled

    def as_json(self) -> dict[str, Any]:
        return {**self.__dict__, "is_whole": self.is_whole}


def faults(schedules: int, seed: int, progress: Callable[[int, int], None]) -> dict[str, Any]:
    """Run the schedules one after the other."""
    outcomes = []
    for number in range(schedules):
        with tempfile.TemporaryDirectory(prefix="quiclens-faults-") as scratch:
            outcomes.append(schedule(number, random.Random(seed * 1_000_003 + number), Path(scratch)))
        progress(number + 1, schedules)
    return {
        "schedules": schedules,
        "seed": seed,
        "passed": sum(each.is_whole for each in outcomes),
        "outcomes": [each.as_json() for each in outcomes],
    }


def schedule(number: int, draw: random.Random, folder: Path) -> Outcome:
    """One schedule in one folder."""
    began = time.monotonic()
    places = system.up(folder, "127.0.0.1:0", with_traffic=False)
    try:
        traffic = folder / "traffic"
        words = [str(BIN / "quiclens-lab"), "live", "--out", str(traffic), "--connections", str(CONNECTIONS)]
        words += ["--requests", str(REQUESTS), "--together", "2", "--pause-ms", "150"]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL) as server:
            strikes = [_strike(folder, draw) for _ in range(STRIKES)]
            server.wait(timeout=LIMIT_S)
        wanted = {path.stem: path.read_bytes().count(b"\n") - 1 for path in (traffic / "traces").glob("*.sqlog")}
        missing, doubled = _settled(folder, places["store"], wanted)
    finally:
        system.down(folder)
    return Outcome(
        number, tuple(strikes), len(wanted), sum(wanted.values()), missing, doubled, round(time.monotonic() - began, 1)
    )


def _strike(folder: Path, draw: random.Random) -> str:
    """Kill or hold one process for a moment, and bring it back."""
    time.sleep(draw.uniform(0.1, 1.2))
    system.revive(folder)
    target = draw.choice(TARGETS)
    is_held = draw.random() < 0.3
    pid = system.pid_of(folder, target)
    os.kill(pid, signal.SIGSTOP if is_held else signal.SIGKILL)
    time.sleep(draw.uniform(0.1, 1.0))
    if is_held:
        os.kill(pid, signal.SIGCONT)
    else:
        system.again(folder, target)
    return f"{'hold' if is_held else 'kill'} {target}"


def _settled(folder: Path, store: str, wanted: dict[str, int]) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Wait until the store has everything; what is missing and what is seen twice when patience ends."""
    began = time.monotonic()
    while True:
        system.revive(folder)  # a process that met a store or a broker that was away may have given up
        rows = _stored(store)
        missing = {name: sorted(set(range(count)) - set(rows.get(name, ()))) for name, count in wanted.items()}
        missing = {name: seqs[:20] for name, seqs in missing.items() if seqs}
        doubled = {name: sorted({seq for seq in seqs if seqs.count(seq) > 1})[:20] for name, seqs in rows.items()
                   if len(seqs) != len(set(seqs))}  # fmt: skip
        if not (missing or doubled) or time.monotonic() - began > LIMIT_S:
            return missing, doubled
        time.sleep(0.5)


def _stored(store: str) -> dict[str, list[int]]:
    """The seqs of every connection, as queries see them."""
    script = (
        "import json, sys\nfrom quiclens_schema import store\n"
        "with store.open(sys.argv[1]) as opened:\n"
        "    rows = opened.query('SELECT connection_id, groupArray(seq) FROM events_now GROUP BY connection_id').rows\n"
        "print(json.dumps(dict(rows)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, store], capture_output=True, text=True, check=False)
    found: dict[str, list[int]] = json.loads(done.stdout) if done.returncode == 0 else {}
    return found
