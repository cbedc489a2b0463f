"""What the demo may remove, and what it picks."""

from pathlib import Path

import pytest

from quiclens_command_line.demo import DemoPlaces, clear
from quiclens_questions.failure import CannotRun


def test_a_folder_that_no_demo_made_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    with pytest.raises(CannotRun):
        clear(DemoPlaces(tmp_path))
    assert (tmp_path / "store").is_dir()


def test_an_earlier_demo_is_forgotten(tmp_path: Path) -> None:
    places = DemoPlaces(tmp_path / "demo")
    clear(places)
    places.store.mkdir()
    (places.folder / "slow.sqlog").touch()
    clear(places)
    assert not places.store.exists() and (places.folder / "slow.sqlog").exists()
