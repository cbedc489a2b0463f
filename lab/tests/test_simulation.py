"""The simulated collector: what is added up, which bars it has, that a run goes on; schedules are the Rust tests'."""

import json
import stat
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from quiclens_lab.errors import LabError
from quiclens_lab.simulation import command, plants
from quiclens_lab.simulation.machine import ROOT, FailedSchedule, SimulationReport, turn

# Says what the test program says of the schedules that it is asked for, and notes that it was asked.
FAKE = """#!/bin/sh
set -- $QUICLENS_SIMULATION
echo "$1" >> {asked}
echo 'running 1 test'
echo 'simulation: {report}'
exit {status}
"""


WHOLE = SimulationReport(
    schedules=500,
    records=500_000,
    struck=2000,
    calls=900_000,
    lives=1600,
    replays=5,
    seconds=4.0,
    least={"logs": 4, "records": 320, "faults": 3},
    made={"write log": 7},
    befell={"Io, write log": 5, "Kill, write log": 6},
    failures=[],
)


def report(**other: Any) -> SimulationReport:
    return replace(WHOLE, **other)


def fake(folder: Path, said: str, status: int = 0) -> Path:
    path = folder / "collector"
    path.write_text(FAKE.format(asked=folder / "asked", report=said, status=status))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_every_plant_fits_the_code_once_and_three_are_those_of_the_review() -> None:
    found = plants.read()
    assert len(found) >= 9
    assert {"b5", "b6", "b9"} <= {plant.name.split("_")[0] for plant in found}
    for plant in found:
        text = (ROOT / plant.file).read_text()
        assert text.count(plant.old) == 1, plant.name


def test_turns_are_added_up_and_the_least_is_the_least_of_all() -> None:
    other = report(least={"logs": 6, "records": 301, "faults": 9}, befell={"Io, write log": 0, "Kill, write log": 0})
    failed = report(failures=[FailedSchedule(9, ["event lost", "another"])])
    document = command.added([report(), other, failed])
    assert (document["schedules"], document["lives"], document["replays"]) == (1500, 4800, 15)
    assert document["least"] == {"logs": 4, "records": 301, "faults": 3}
    assert document["befell"] == {"Io, write log": 10, "Kill, write log": 12}
    (failure,) = document["failures"]
    assert failure["wrong"] == ["event lost", "another"] and '="9 1 1 1"' in failure["replay"]


def test_each_bar_is_missed_by_itself_and_all_together_pass() -> None:
    enough = command.added([report(schedules=100_000, replays=1000, befell={"Io, write log": 1000})])
    assert command.missed(enough) == []
    for change, says in (
        ({"schedules": 99_999}, "99,999 schedules"),
        ({"replays": 999}, "999 schedules run twice"),
        ({"least": {"logs": 2, "records": 300, "faults": 3}}, "a schedule with 2 logs"),
        ({"least": {"logs": 3, "records": 299, "faults": 3}}, "a schedule with 299 records"),
        ({"least": {"logs": 3, "records": 300, "faults": 2}}, "a schedule with 2 faults"),
        ({"befell": {"Io, write log": 1000, "Kill, read log": 0}}, "not 1,000 times: Kill, read log (0)"),
        ({"befell": {}}, "not 1,000 times"),
        ({"failed": 1}, "1 schedules failed"),
    ):
        (said,) = command.missed(enough | change)
        assert said.startswith(says)


def test_a_run_that_was_ended_goes_on_and_one_of_other_code_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "MADE", tmp_path)
    monkeypatch.setattr(command, "build", lambda: fake(tmp_path, json.dumps(asdict(WHOLE))))
    asked = tmp_path / "asked"
    monkeypatch.setattr(command, "code_of", lambda tree, places: "first")
    first = command.simulation(1000, 0, 2, False, lambda done, whole: None)
    assert first["schedules"] == 1000 and not first["passes"]
    assert sorted(asked.read_text().split()) == ["0", "500"]
    command.simulation(1500, 0, 2, False, lambda done, whole: None)
    assert sorted(asked.read_text().split()) == ["0", "1000", "500"]
    monkeypatch.setattr(command, "code_of", lambda tree, places: "second")
    assert command.simulation(500, 0, 2, False, lambda done, whole: None)["schedules"] == 500
    assert sorted(asked.read_text().split()) == ["0", "0", "1000", "500"]


def test_a_turn_with_failures_is_a_report_and_one_without_a_report_is_an_error(tmp_path: Path) -> None:
    failed = report(failures=[FailedSchedule(9, ["event lost"])])
    assert turn(fake(tmp_path, json.dumps(asdict(failed)), 101), 0, 500) == failed
    with pytest.raises(LabError, match="seeds 500 to 999: no report"):
        turn(fake(tmp_path, "{}", 101), 500, 500)
