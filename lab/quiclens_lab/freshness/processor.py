"""Processor time and memory of processes, from /proc."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Thread


def seconds(pids: Mapping[str, int]) -> dict[str, float]:
    """Processor seconds that each has used so far, user and system."""
    return {name: _seconds(pid) for name, pid in pids.items()}


def _seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> float:
    """Resident memory now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return round(int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024, 1)


class Meter:
    """Processor seconds that processes use from a moment on, for a while; read by a thread of its own."""

    def __init__(self, pids: Mapping[str, int], begin_s: float, seconds: float) -> None:
        """Begins in `begin_s` seconds."""
        self._pids, self._begin_s, self._seconds = pids, begin_s, seconds
        self._used: dict[str, float] = {}
        self.load_average = 0.0
        self._thread = Thread(target=self._read)
        self._thread.start()

    def used(self) -> dict[str, float]:
        """Wait until it is over; what each used."""
        self._thread.join()
        return self._used

    def _read(self) -> None:
        time.sleep(self._begin_s)
        before = seconds(self._pids)
        time.sleep(self._seconds)
        after = seconds(self._pids)
        self._used = {name: after[name] - before[name] for name in before}
        self.load_average = os.getloadavg()[0]
