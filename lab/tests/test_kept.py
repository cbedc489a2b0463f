"""Lines of long runs: cut ones, and those of two machines."""

from pathlib import Path

from quiclens_lab.kept import RunLines


def test_a_run_goes_on_on_another_machine_and_older_code_is_no_part_of_it(tmp_path: Path) -> None:
    here, also, another = tmp_path / "here", tmp_path / "repository", tmp_path / "another machine"
    RunLines(here, "old.jsonl", int, also).add(1)
    run = RunLines(here, "new.jsonl", int, also)
    for each in (2, 3):
        run.add(each)
    assert [path.name for path in also.iterdir()] == ["new.jsonl"]
    again = RunLines(another, "new.jsonl", int, also)
    assert list(again.read()) == [2, 3] and list(RunLines(another, "new.jsonl", int).read()) == [2, 3]
    again.add(4)
    assert sorted(run.read()) == [2, 3, 4] and (here / "new.jsonl").read_text() == "2\n3\n4\n"


def test_a_line_that_was_cut_is_none_and_takes_no_other_with_it(tmp_path: Path) -> None:
    run = RunLines(tmp_path, "a.jsonl", list[int])
    run.add([1, 2])
    with (tmp_path / "a.jsonl").open("ab") as file:
        file.write(b"[3, ")
    assert list(run.read()) == [[1, 2]]
    run.add([4, 5])
    assert list(run.read()) == [[1, 2], [4, 5]]


def test_without_a_folder_nothing_is_kept(tmp_path: Path) -> None:
    run = RunLines(None, "a.jsonl", int)
    run.add(1)
    assert list(run.read()) == [] and list(tmp_path.iterdir()) == []
