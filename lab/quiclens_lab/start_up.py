"""`quiclens-lab start-up`: what each command costs before it does anything, in processor time.

Each command of `quiclens` is run on a store that has tables and no rows, several times, and the cheapest run counts.
`--help` and `--version` have a bar of their own. Of a command that opens a store, the start of the engine is taken off:
what Python takes to open the same store and ask `SELECT 1`. Commands that do not end by themselves are asked for their
`--help` alone. `load` gets a folder without logs; what it takes with one log, linking included, is told beside, without
a bar. Bytecode is written, as where a wheel is installed.

stdout is one JSON document; exit 1 where a bar is missed.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quiclens_lab.damage.flipped_bits import VECTORS
from quiclens_lab.errors import LabError
from quiclens_lab.machine import judged
from quiclens_lab.progress import say

HELP_S, COMMAND_S = 0.3, 0.5
_QUICLENS = Path(sys.executable).with_name("quiclens")
_OPENED = "from quiclens_schema import store\nwith store.open({store!r}) as opened: opened.query('SELECT 1')"
# Of these nothing but a start can be had: they go on until told to stop, or need a broker or a server.
_HELP_ONLY = ("demo", "serve", "ingest", "lines")


def start_up(runs: int, keep: bool) -> dict[str, Any]:
    """Processor time of each command in seconds; `passes` is false where one misses its bar."""
    with tempfile.TemporaryDirectory(prefix="quiclens-start-up-") as scratch:
        store = f"chdb:{scratch}/store"
        cheapest([str(_QUICLENS), "migrate", "--store", store], 1)
        engine_s = cheapest([sys.executable, "-c", _OPENED.format(store=store)], runs)
        found = {word: cheapest([str(_QUICLENS), word], runs) for word in ("--help", "--version")}
        missed = [word for word, cpu_s in found.items() if cpu_s >= HELP_S]
        for name, words in asked(store, Path(scratch) / "no logs").items():
            found[name] = cheapest([str(_QUICLENS), *words], runs)
            if "--store" in words:
                found[name] = round(found[name] - engine_s, 3)
            if found[name] > COMMAND_S:
                missed.append(name)
            say(f"start-up: {name} {found[name]:.2f} s")
        one_log_s = round(cheapest([str(_QUICLENS), "load", str(_log()), "--store", store], runs) - engine_s, 3)
    document = {"runs": runs, "engine_s": engine_s, "cpu_s": found, "load_of_one_log_s": one_log_s}
    document |= {"bars_s": [HELP_S, COMMAND_S], "missed": missed}
    return judged("start_up", document, not missed, keep)


def asked(store: str, no_logs: Path) -> dict[str, list[str]]:
    """The words of each command, on a store without rows; `no_logs` is a folder to load."""
    no_logs.mkdir()
    of = ["--store", store]
    return {
        "slow": ["slow", *of],
        "explain": ["explain", "a1b2c3d4e5f60718/4", *of],
        "export": ["export", "a1b2c3d4e5f60718", "--output", "out.qlog", *of],
        "report": ["report", "tail", *of],
        "failed": ["failed", *of],
        "watch": ["watch", *of],
        "check": ["check", str(_log())],
        "status": ["status", *of],
        "audit": ["audit", *of],
        "link": ["link", *of],
        "retention": ["retention", "--keep-events", "9999d", "--keep-summaries", "9999d", *of],
        "erase": ["erase", "a1b2c3d4e5f60718", "--dry-run", *of],
        "migrate": ["migrate", *of],
        **{name: [name, "--help"] for name in _HELP_ONLY},
        "load": ["load", str(no_logs), *of],
    }


def _log() -> Path:
    (log,) = (VECTORS / "aioquic_burst_loss_server").glob("input.*")
    return log


def cheapest(words: Sequence[str], runs: int) -> float:
    """Processor time of the cheapest of some runs of a program, in seconds. LabError where it cannot do its work."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    taken = []
    for _ in range(runs):
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=environment)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode > 1:  # 1: nothing was found
                said.seek(0)
                raise LabError(f"{' '.join(words)}: {said.read().decode(errors='replace').strip()[-500:]}")
        taken.append(used.ru_utime + used.ru_stime)
    return round(min(taken), 3)
