"""The bar of start-up asks every command, and counts the processor time of the cheapest run."""

import sys
from pathlib import Path

import pytest
from quiclens_api.app import COMMANDS

from quiclens_lab import start_up
from quiclens_lab.errors import LabError


def test_every_command_is_asked(tmp_path: Path) -> None:
    asked = start_up.asked("chdb:store", tmp_path / "no logs")
    assert set(asked) == set(COMMANDS)
    assert all(words[0] == name for name, words in asked.items())


def test_processor_time_is_counted_and_not_the_clock() -> None:
    waits = start_up.cheapest([sys.executable, "-c", "import time; time.sleep(1)"], 1)
    works = start_up.cheapest([sys.executable, "-c", "import time\nwhile time.process_time() < 1: pass"], 1)
    assert waits < 0.9 <= works


def test_a_command_that_cannot_run_is_no_figure() -> None:
    with pytest.raises(LabError, match="no such thing"):
        start_up.cheapest([sys.executable, "-c", "import sys; print('no such thing'); sys.exit(3)"], 1)
