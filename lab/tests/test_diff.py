"""Two folders of the lab's logs: a planted change is told with its cause, and what did not change is not."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from quiclens_command_line.commands import diff as diff_command
from quiclens_command_line.main import main
from quiclens_questions.diff import diff
from quiclens_questions.diff_words import markdown, sentence

from quiclens_lab.demo import make_folder
from quiclens_lab.plan import ConnectionPlan
from quiclens_lab.population import population

CONNECTIONS = 40


def without_loss(plan: ConnectionPlan) -> ConnectionPlan:
    """What chance loses hides what a change does."""
    down = replace(plan.path.down, loss_rate=0.0, burst=None)
    return replace(plan, path=replace(plan.path, down=down, up=replace(plan.path.up, loss_rate=0.0)), strike=None)


def thinks_longer(plan: ConnectionPlan) -> ConnectionPlan:
    """By 30 ms for each request."""
    turns = (
        replace(turn, requests=tuple(replace(each, think_us=each.think_us + 30_000) for each in turn.requests))
        for turn in plan.turns
    )
    return replace(plan, turns=tuple(turns))


def begins_small(plan: ConnectionPlan) -> ConnectionPlan:
    """With two packets in place of ten."""
    return replace(plan, transport=replace(plan.transport, initial_window_bytes=2_400))


CHANGES: dict[str, tuple[Callable[[ConnectionPlan], ConnectionPlan], str]] = {
    "think": (thinks_longer, "server_think"),
    "window": (begins_small, "cwnd_blocked"),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("diff")
    plans = [without_loss(plan) for plan in population(CONNECTIONS, seed=5)]
    make_folder(plans, folder / "old", with_client_traces=False, jobs=2)
    for name, (change, _) in CHANGES.items():
        make_folder([change(plan) for plan in plans], folder / name, with_client_traces=False, jobs=2)
    others = [without_loss(plan) for plan in population(CONNECTIONS, seed=6)]
    make_folder(others, folder / "others", with_client_traces=False, jobs=2)
    make_folder(plans[:4], folder / "few", with_client_traces=False)
    yield folder


@pytest.mark.parametrize("name", CHANGES)
def test_a_planted_change_is_slower_and_its_cause_grew_most(folders: Path, name: str) -> None:
    document = diff(folders / "old" / "server", folders / name / "server")
    assert document["paired"] and document["verdict"] == "slower", document
    assert document["causes"][0]["name"] == CHANGES[name][1] and document["causes"][0]["is_sure"]
    if name == "think":
        assert document["causes"][0]["us"] == pytest.approx(30_000, rel=0.02)
    assert sentence(document).startswith("Slower: ")
    back = diff(folders / name / "server", folders / "old" / "server")
    assert back["verdict"] == "faster" and back["causes"][0]["us"] == pytest.approx(-document["causes"][0]["us"])


def test_parts_add_up_to_the_change_of_the_mean(folders: Path) -> None:
    document = diff(folders / "old", folders / "window")
    mean = document["durations"][0]
    assert sum(each["us"] for each in document["causes"]) == pytest.approx(mean["us"], abs=1)
    assert sum(each["old_us"] for each in document["causes"]) == pytest.approx(mean["old_us"], abs=1)


def test_the_same_logs_do_not_differ(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = diff(folders / "old", folders / "old")
    figures = [*document["durations"], *document["causes"]]
    assert document["verdict"] == "same" and all(each["us"] == 0 and not each["is_sure"] for each in figures)
    assert main(["diff", str(folders / "old"), str(folders / "old")]) == 0
    assert "Not different: no duration changed beyond chance" in capsys.readouterr().out
    assert main(["diff", str(folders / "old"), str(folders / "window"), "--markdown"]) == 1
    assert capsys.readouterr().out == "\n".join(markdown(diff(folders / "old", folders / "window"))) + "\n"


def test_other_runs_are_two_samples(folders: Path) -> None:
    document = diff(folders / "old", folders / "others")
    assert not document["paired"] and document["verdict"] == "same"
    assert document["old"]["requests"] > 100 and document["old"]["connections"] <= CONNECTIONS
    low, high = document["durations"][0]["low_us"], document["durations"][0]["high_us"]
    assert low is not None and high is not None and low < high


def test_of_few_connections_nothing_is_said(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(folders / "few"), str(folders / "few")]) == 1
    assert re.match(
        r"Too few to say: ([2-4]) connections before, \1 after; 8 of each are needed\.", capsys.readouterr().out
    )
    assert main(["diff", str(folders / "none"), str(folders / "few")]) == 3
    assert "there is nothing at" in capsys.readouterr().err


def test_a_figure_that_is_slower_ends_with_1_though_others_are_faster(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = diff(folders / "old", folders / "window")
    slower = [{**each, "us": -each["us"]} if each["name"] == "p50" else each for each in found["durations"]]
    only_causes = [{**each, "is_sure": False} for each in found["durations"]]
    asked = ["diff", str(folders / "old"), str(folders / "window")]
    for durations, ends_with in ((slower, 1), (only_causes, 0)):
        document = {**found, "verdict": "shifted", "durations": durations}
        monkeypatch.setattr(diff_command, "ask_diff", lambda *_, document=document: document)
        assert main(asked) == ends_with
