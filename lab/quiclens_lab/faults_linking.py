"""Processes that ask `serve` to link all there is, beside its own rounds, while everything is struck.

Each asks again and again until the schedule is over; by chance it is killed while it waits for the answer. What comes
of it is judged with everything else: the store says what a plain reading says.
"""

import random
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from types import TracebackType

from quiclens_lab.faults_live import Live

PROCESSES = 2
KILLED = 0.3  # of them
LONGEST_S = 120.0
_PAUSES_S = (0.2, 2.0)
_ENDS = {0: "linked", 1: "nothing to link", 3: "away"}


@dataclass
class Linkers:
    """Two of them, until the end of the block. `wrong` is what ended otherwise than it may."""

    live: Live
    seed: int
    wrong: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> "Linkers":
        for number in range(PROCESSES):
            chance = random.Random(self.seed * 1_000_003 + number)
            self._threads.append(threading.Thread(target=self._ask, args=(chance,), name=f"link-{number}"))
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, chance: random.Random) -> None:
        while not self._over.wait(chance.uniform(*_PAUSES_S)):
            command = [sys.executable, "-m", "quiclens_command_line", "link", "--store", self.live.url, "--json"]
            is_killed = chance.random() < KILLED
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
                try:
                    _, said = process.communicate(timeout=chance.uniform(0.3, 1.5) if is_killed else LONGEST_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                    self._count("killed")
                    if not is_killed:
                        self.wrong.append(f"link took more than {LONGEST_S:.0f} s")
                    continue
            end = _ENDS.get(process.returncode)
            if end is None or "Traceback" in said:
                self.wrong.append(f"link ended with {process.returncode}: {said.strip()[-500:]}")
            else:
                self._count(end)

    def _count(self, end: str) -> None:
        with self._lock:
            self.counts[end] = self.counts.get(end, 0) + 1
