"""A bar that breaks is a bar that is missed: its document is there, with all that was found before."""

import argparse
import json
import os
from pathlib import Path
from typing import Any

import pytest

from quiclens_lab import against, command_line, incidents, limits, link_race, machine, many_files, planted, siblings
from quiclens_lab import watch as watch_bar
from quiclens_lab.ask_bench import command as ask_bench
from quiclens_lab.errors import CannotTryError, LabError
from quiclens_lab.judgement import BARS, Judgement
from quiclens_lab.link_bench import command as link_bench
from quiclens_lab.lockouts import command as lockouts
from quiclens_lab.start_up import command as start_up


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine, "LAB", tmp_path)
    return tmp_path


def of(kept: Path, kind: str, name: str) -> dict[str, Any]:
    (file,) = (kept / kind).rglob(f"{name}.json")
    return dict(json.loads(file.read_text()))


def test_a_stage_that_breaks_is_missed_and_the_others_count(kept: Path) -> None:
    judgement = Judgement("lockouts", {"rounds": 2})
    for error in (LabError("never flowed"), KeyError("a fault of ours"), None):
        with judgement.stage(f"round {error}"):
            if error is not None:
                raise error
            judgement.found["whole"] = 1
    assert judgement.document(keep=True)["passes"] is False
    document = of(kept, "bench-runs", "lockouts")
    assert document["missed"] == [
        "round never flowed: never flowed",
        "round 'a fault of ours': KeyError: 'a fault of ours'",
    ]
    assert (document["rounds"], document["whole"], document["passes"]) == (2, 1, False)


@pytest.mark.parametrize("keep", [False, True])
def test_what_a_run_leaves_out_is_missed_where_its_document_is_kept(kept: Path, keep: bool) -> None:
    judgement = Judgement("front", {"rows": 5})
    judgement.leave_out(True, "5 rows of 10")
    judgement.leave_out(False, "never")
    document = judgement.document(keep)
    assert document["left_out"] == ["5 rows of 10"]
    assert (document["passes"], document["missed"]) == (not keep, ["left out: 5 rows of 10"] * keep)
    assert not keep or of(kept, "bench-runs", "front") == document


def test_what_cannot_be_tried_is_no_miss() -> None:
    judgement = Judgement("lockouts")
    with pytest.raises(CannotTryError), judgement.stage("one"):
        raise CannotTryError("no podman")
    assert judgement.missed == [] and judgement.document(keep=False)["passes"]


@pytest.mark.parametrize("error", [LabError("no answer"), TimeoutError("no answer"), KeyError("no answer")])
def test_a_bar_that_breaks_keeps_its_document_and_exits_with_one(
    kept: Path, error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(_: argparse.Namespace) -> dict[str, Any]:
        raise error

    monkeypatch.setattr(command_line, "run", breaks)
    assert command_line.main(["planted", "--keep"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed == of(kept, "truth-runs", "planted")
    assert "no answer" in printed["broke"] and printed["passes"] is False
    assert printed["machine"]["cores"] == os.cpu_count()


def test_a_bar_that_cannot_be_tried_keeps_nothing_and_exits_with_three(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def cannot(_: argparse.Namespace) -> dict[str, Any]:
        raise CannotTryError("no valgrind here")

    monkeypatch.setattr(command_line, "run", cannot)
    assert command_line.main(["planted", "--keep"]) == 3
    assert capsys.readouterr().out == "" and list(kept.iterdir()) == []


def test_every_command_that_keeps_a_judgement_is_a_bar() -> None:
    (commands,) = (
        action for action in command_line.parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    keeping = {
        name
        for name, parser in commands.choices.items()
        if any("--keep" in action.option_strings for action in parser._actions)
    }
    assert set(BARS) == keeping


def test_what_is_asked_by_default_leaves_nothing_out() -> None:
    asked = command_line.parser().parse_args
    racing, many, linking = asked(["link-race"]), asked(["many-files"]), asked(["link-bench"])
    assert (racing.kills, many.files) == (link_race.KILLS, many_files.FILES)
    assert (linking.days, linking.a_day, linking.seconds, linking.rate) == link_bench.ASKED
    asking, watching, planting = asked(["ask-bench"]), asked(["watch"]), asked(["planted"])
    assert (asking.requests, asking.events, asking.days) == ask_bench.WANTED
    assert (watching.runs, watching.windows, watching.rows) == (watch_bar.RUNS, watch_bar.WINDOWS, watch_bar.ROWS)
    assert planting.samples == planted.SAMPLES
    comparing = asked(["against", "--collector", "x"])
    assert (comparing.events, comparing.runs) == (against.EVENTS, against.RUNS)
    assert (asked(["start-up"]).runs, asked(["lockouts"]).rounds) == (start_up.RUNS, lockouts.ROUNDS)
    limiting = asked(["limits"])
    assert (limiting.connections, limiting.demo) == (limits.CONNECTIONS, limits.DEMO)
    finding, asking_of = asked(["incidents"]), asked(["siblings"])
    assert (finding.runs, finding.nothing, finding.rate) == (incidents.INCIDENTS, incidents.NOTHING, incidents.RATE)
    assert (asking_of.runs, asking_of.rate) == (siblings.INCIDENTS, incidents.RATE)


def test_a_run_that_is_smaller_than_the_bar_says_so() -> None:
    judgement = Judgement("link_race")
    judgement.least("kills", 1000, 1000)
    assert judgement.left_out == []
    judgement.least("kills", 1000, 999)
    assert judgement.left_out == ["999 kills of 1,000"]
