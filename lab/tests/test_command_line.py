import json
from pathlib import Path

import pytest

from quiclens_lab.command_line import main


def test_one_scenario_prints_what_was_injected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["one", "--out", str(tmp_path), "--scenario", "think", "--seed", "2"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["scenario"], document["cause"], document["stream_id"]) == ("think", "server_think", 4)
    assert document["files"] == len([file for file in tmp_path.rglob("*") if file.is_file()]) == 3


def test_demo_prints_one_document_with_its_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(tmp_path), "--connections", "4", "--jobs", "1"]) == 0
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert set(document) == {"connections", "requests", "events", "files", "seconds", "operations_files"}
    assert document["operations_files"] == len([*(tmp_path / "operations").rglob("*.sqlog")]) > 100
    assert document["requests"] == len((tmp_path / "access.jsonl").read_text().splitlines())
    assert printed.err == ""


def test_bench_input_has_at_least_the_events_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench-input", "--out", str(tmp_path), "--events", "15000"]) == 0
    document = json.loads(capsys.readouterr().out)
    files = list((tmp_path / "server").iterdir())
    events = sum(len(json.loads(file.read_text())["traces"][0]["events"]) for file in files)
    assert document["events"] == events >= 15_000
    assert document["files"] == len(files)


def test_files_of_an_earlier_run_are_only_removed_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["one", "--out", str(tmp_path), "--scenario", "clean"]
    assert main(arguments) == 0
    assert main(arguments) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert main([*arguments, "--seed", "9", "--replace"]) == 0
    assert len(list((tmp_path / "server").iterdir())) == 1


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file" / "below"), "--connections", "1"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("quiclens-lab: cannot make ")


@pytest.mark.parametrize(
    "arguments",
    [[], ["demo"], ["demo", "--out", "x", "--connections", "0"], ["one", "--out", "x", "--scenario", "no such thing"]],
)
def test_wrong_usage_exits_with_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert capsys.readouterr().out == ""


def test_all_scenarios_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenarios"]) == 0
    listed = json.loads(capsys.readouterr().out)["scenarios"]
    assert {"clean", "think", "burst_loss", "tail_loss", "upload", "dribble"} <= {each["name"] for each in listed}
