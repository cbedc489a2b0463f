"""The bar of start-up asks every command, and counts the processor time of the cheapest run."""

import os
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from quiclens_command_line.app import COMMANDS

from quiclens_lab.errors import LabError
from quiclens_lab.judgement import Judgement
from quiclens_lab.outside import said_by
from quiclens_lab.start_up import command
from quiclens_lab.start_up.measured import begun, cheapest, ended, spoken

WORK = "import os, time\nwhile time.process_time() < {seconds}: pass\n"
TELL = """import socket
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
    told.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
"""


def python(*text: str) -> list[str]:
    return [sys.executable, "-c", "".join(text)]


def test_every_command_of_the_help_is_asked(tmp_path: Path) -> None:
    asked = command.asked("chdb:store", tmp_path)
    assert {*asked, "load", "lines"} == set(COMMANDS) and command._lines(tmp_path, 1).words[0] == "lines"
    assert all(one.words[0] == name and "--help" not in one.words for name, one in asked.items())
    assert command.listed(said_by([str(command._QUICLENS), "--help"])) == list(COMMANDS)


def test_processor_time_is_counted_and_not_the_clock() -> None:
    waits = cheapest(python("import time; time.sleep(1)"), 1)
    works = cheapest(python(WORK.format(seconds=1)), 1)
    assert waits < 0.9 <= works


def test_a_command_that_cannot_run_is_no_figure() -> None:
    with pytest.raises(LabError, match="no such thing"):
        ended(python("import sys; print('no such thing'); sys.exit(3)"))


def test_one_that_goes_on_counts_until_it_says_that_it_has_begun() -> None:
    began = time.monotonic()
    took = begun(python(WORK.format(seconds=0.5), TELL, WORK.format(seconds=60)))
    assert 0.4 < took < 2 and time.monotonic() - began < 20
    with pytest.raises(LabError, match="has not begun: no broker"):
        begun(python("import sys; sys.exit('no broker')"))


def test_what_its_children_use_counts_too() -> None:
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WORK.format(seconds=0.5)!r}])\n"
    assert begun(python("import os\n", child, TELL, "import time; time.sleep(60)")) > 0.4


def test_one_that_speaks_counts_until_its_words_and_is_ended_then() -> None:
    words = python("import os, sys, time; print('simulating', os.getpid(), file=sys.stderr); time.sleep(60)")
    assert spoken(words, "simulating") < 1
    with pytest.raises(LabError, match="has not begun"):
        spoken(python("print('nothing')"), "simulating")


def test_what_a_log_costs_is_no_part_of_the_start_of_load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def cost(scratch: Path, store: Path, logs: int) -> float:
        return 0.5 + 0.2 + bool(logs) * 0.25 + logs * 0.125

    monkeypatch.setattr(command, "_loaded", cost)
    judgement = Judgement("start_up")
    assert command._load(judgement, tmp_path, engine_s=0.5, runs=2) == pytest.approx(0.45)
    assert judgement.found["load_s"] == {"of_no_log": 0.2, "of_one_log": 0.575, "work_of_one_log": 0.125}


def test_a_command_over_its_bar_or_not_asked_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {"slow": 0.9, "explain": 1.1}

    def asked(store: str, folder: Path) -> dict[str, Any]:
        def one(name: str) -> command.StartUpCommand:
            return command.StartUpCommand((name, "--store", store), lambda words: costs[words[1]])

        return {name: one(name) for name in costs}

    monkeypatch.setattr(command, "asked", asked)
    monkeypatch.setattr(command, "ended", lambda words: 0.0)
    monkeypatch.setattr(command, "cheapest", lambda words, runs: 0.5 if "-c" in words else 0.1)
    monkeypatch.setattr(command, "_load", lambda *_: 0.4)
    monkeypatch.setattr(command, "_lines", lambda *_: command.StartUpCommand(("lines",), lambda words: 0.3))
    monkeypatch.setattr(command, "served", lambda *_, **__: nullcontext(SimpleNamespace(port=1)))
    monkeypatch.setattr(command, "_demo", lambda folder: {})
    monkeypatch.setattr(command, "listed", lambda said: ["slow", "explain", "load", "new"])
    document = command.start_up(runs=1, keep=False)
    assert document["cpu_s"] == {
        "--help": 0.1,
        "--version": 0.1,
        "slow": 0.4,
        "explain": 0.6,
        "lines": 0.3,
        "load": 0.4,
    }
    assert document["missed"] == [
        "explain takes 0.6 s beside the engine's start, 0.5 is allowed",
        "new was not asked",
    ]
    assert os.path.exists(command._log())
