"""What the demo may remove, and what it picks."""

import json
import subprocess
import sys
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


def test_the_demo_shows_its_incident_first(tmp_path: Path) -> None:
    """As `make demo` makes it: who, since when and what of are what the lab planted; one of them is explained."""
    folder = tmp_path / "demo"
    if not (Path(__file__).parents[2] / "target" / "release" / "quiclens-collector").is_file():
        pytest.skip("no quiclens-collector: cargo build --release")
    done = subprocess.run(
        [Path(sys.executable).with_name("quiclens"), "demo", "--dir", folder, "--json"], capture_output=True, check=True
    )
    steps = json.loads(done.stdout)["steps"]
    (first, *_) = steps["triage"]["findings"]
    who = {each["attribute"]: each["value"] for each in first["conditions"]}
    assert (who["carrier"], who["server"]) == ("Halden Mobile", "edge-fra-02")
    assert who.keys() <= {"carrier", "server", "protocol"}
    assert first["since_low"] <= "2026-11-20T10:41" <= first["since_high"] and first["cause"] in (
        "loss_recovery",
        "pto",
    )
    assert steps["explain"]["request_id"] == first["examples"][0]["request_id"]
    assert steps["explain"]["top_cause"] in ("loss_recovery", "pto")
