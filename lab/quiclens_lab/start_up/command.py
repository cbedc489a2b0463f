"""Every command, asked as its kind is."""

import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quiclens_lab.damage.flipped_bits import VECTORS
from quiclens_lab.judgement import Judgement
from quiclens_lab.outside import said_by
from quiclens_lab.progress import say
from quiclens_lab.served import served
from quiclens_lab.start_up.measured import begun, cheapest, ended, spoken

HELP_S, COMMAND_S = 0.3, 0.5
MORE_LOGS = 10
"""Beside the one: what each of these costs is the work of a log."""
_QUICLENS = Path(sys.executable).with_name("quiclens")
_OPENED = "from quiclens_schema import store\nwith store.open({store!r}) as opened: opened.query('SELECT 1')"
_NOBODY = "127.0.0.1:9"
_TOPIC = """topic = "lines"
[format]
time_is = "start"
[format.columns]
time = { from = "t" }
"""


@dataclass(frozen=True, slots=True)
class StartUpCommand:
    """How a command is asked: its words, and by what its start is over."""

    words: tuple[str, ...]
    measure: Callable[[list[str]], float] = ended

    @property
    def opens_store(self) -> bool:
        """It starts the engine."""
        return any(word.startswith("chdb:") for word in self.words)

    def cpu_s(self) -> float:
        return self.measure([str(_QUICLENS), *self.words])


RUNS = 5  # of each command, that the bar asks for


def start_up(runs: int, keep: bool) -> dict[str, Any]:
    """Processor time of each command in seconds; `passes` is false where one misses its bar."""
    judgement = Judgement("start_up", {"runs": runs, "bars_s": [HELP_S, COMMAND_S]})
    judgement.least("runs", RUNS, runs)
    judgement.found["load_average"] = round(os.getloadavg()[0], 2)
    cpu_s: dict[str, float] = {}
    judgement.found["cpu_s"] = cpu_s
    with tempfile.TemporaryDirectory(prefix="quiclens-start-up-") as scratch:
        folder = Path(scratch)
        store = f"chdb:{folder / 'store'}"
        ended([str(_QUICLENS), "migrate", "--store", store])
        engine_s = cheapest([sys.executable, "-c", _OPENED.format(store=store)], runs)
        judgement.found["engine_s"] = engine_s
        for word in ("--help", "--version"):
            cpu_s[word] = cheapest([str(_QUICLENS), word], runs)
            judgement.want(cpu_s[word] < HELP_S, f"{word} takes {cpu_s[word]} s, less than {HELP_S} is allowed")
        for name, one in asked(store, folder).items():
            with judgement.stage(name):
                whole_s = min(one.cpu_s() for _ in range(runs))
                cpu_s[name] = round(whole_s - engine_s * one.opens_store, 3)
                say(f"start-up: {name} {cpu_s[name]:.3f} s")
        with judgement.stage("lines"), served(folder, needs_token=False) as serving:
            one = _lines(folder, serving.port)
            cpu_s["lines"] = round(min(one.cpu_s() for _ in range(runs)), 3)
            say(f"start-up: lines {cpu_s['lines']:.3f} s")
        with judgement.stage("load"):
            cpu_s["load"] = _load(judgement, folder, engine_s, runs)
        with judgement.stage("demo of one connection"):
            judgement.found["demo_s"] = _demo(folder)
    for name in listed(said_by([str(_QUICLENS), "--help"])):
        judgement.want(name in cpu_s, f"{name} was not asked")
        over = cpu_s.get(name, 0.0) > COMMAND_S
        judgement.want(not over, f"{name} takes {cpu_s.get(name)} s beside the engine's start, {COMMAND_S} is allowed")
    return judgement.document(keep)


def asked(store: str, folder: Path) -> dict[str, StartUpCommand]:
    """How each command is asked, on a store without rows: all but `load` and `lines`, which are measured otherwise."""
    of = ("--store", store)
    demo = ("demo", "--dir", str(folder / "demo"), "--connections", "1")
    return {
        "demo": StartUpCommand(demo, lambda words: spoken(words, "simulating 1 connections")),
        "slow": StartUpCommand(("slow", *of)),
        "explain": StartUpCommand(("explain", "a1b2c3d4e5f60718/4", *of)),
        "export": StartUpCommand(("export", "a1b2c3d4e5f60718", "--output", str(folder / "out.qlog"), *of)),
        "report": StartUpCommand(("report", "tail", *of)),
        "failed": StartUpCommand(("failed", *of)),
        "triage": StartUpCommand(("triage", *of)),
        "check": StartUpCommand(("check", str(_log()))),
        "diff": StartUpCommand(("diff", str(_log()), str(_log()))),
        "status": StartUpCommand(("status", *of)),
        "audit": StartUpCommand(("audit", *of)),
        "serve": StartUpCommand(("serve", "--listen", "127.0.0.1:0", *of), begun),
        "ingest": StartUpCommand(("ingest", "--brokers", _NOBODY, "--metrics", "127.0.0.1:0", *of), begun),
        "link": StartUpCommand(("link", *of)),
        "retention": StartUpCommand(("retention", "--keep-events", "9999d", "--keep-summaries", "9999d", *of)),
        "erase": StartUpCommand(("erase", "a1b2c3d4e5f60718", "--dry-run", *of)),
        "migrate": StartUpCommand(("migrate", *of)),
    }


def _lines(folder: Path, port: int) -> StartUpCommand:
    """It follows a topic into a store that another process holds, as it must."""
    mapping = folder / "lines.toml"
    mapping.write_text(_TOPIC)
    words = ("lines", str(mapping), "--follow", "--brokers", _NOBODY, "--store", f"http://127.0.0.1:{port}/default")
    return StartUpCommand(words, begun)


def listed(said: str) -> list[str]:
    """The commands that `quiclens --help` lists."""
    return re.findall(r"^  ([a-z]\S*)  ", said.partition("\nCommands:\n")[2], re.MULTILINE)


def _load(judgement: Judgement, folder: Path, engine_s: float, runs: int) -> float:
    """What a load of one log costs beside the engine's start and the work of that log."""

    def of(logs: int) -> float:
        return min(_loaded(folder / f"{run}-of-{logs}", folder / "store", logs) for run in range(runs))

    none_s, one_s, more_s = of(0), of(1), of(1 + MORE_LOGS)
    work_s = (more_s - one_s) / MORE_LOGS
    beside_s = round(one_s - engine_s - work_s, 3)
    figures = {"of_no_log": none_s - engine_s, "of_one_log": one_s - engine_s, "work_of_one_log": work_s}
    judgement.found["load_s"] = {name: round(took, 3) for name, took in figures.items()}
    say(f"start-up: load {beside_s:.3f} s, and {work_s:.3f} s a log; without a log {none_s - engine_s:.3f} s")
    return beside_s


def _loaded(scratch: Path, store: Path, logs: int) -> float:
    """Of one load of so many logs, which no store has seen, into a store of its own."""
    (scratch / "logs").mkdir(parents=True)
    shutil.copytree(store, scratch / "store", symlinks=True)
    text = _log().read_text()
    (old,) = set(re.findall(r'"ODCID": ?"([0-9a-f]+)"', text))
    for number in range(logs):
        new = hashlib.sha256(f"{scratch.name} {number}".encode()).hexdigest()[: len(old)]
        (scratch / "logs" / f"{number}{_log().suffix}").write_text(text.replace(old, new))
    words = ["load", str(scratch / "logs"), "--store", f"chdb:{scratch / 'store'}"]
    try:
        return ended([str(_QUICLENS), *words])
    finally:
        shutil.rmtree(scratch)


def _demo(folder: Path) -> dict[str, float]:
    """The whole of a small demo, and what each connection of a larger one costs."""

    def of(connections: int) -> float:
        words = ["demo", "--dir", str(folder / f"demo-{connections}"), "--connections", str(connections)]
        return ended([str(_QUICLENS), *words])

    one_s, more_s = of(1), of(11)
    return {"of_one_connection": round(one_s, 3), "work_of_one_connection": round((more_s - one_s) / 10, 3)}


def _log() -> Path:
    (log,) = (VECTORS / "aioquic_burst_loss_server").glob("input.*")
    return log
