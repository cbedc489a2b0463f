"""Every stack on every kind of path: what is run, what is kept when a run is ended, and a slice of it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from quiclens_schema.catalogue import CAUSES

from quiclens_lab.command_line import main
from quiclens_lab.errors import LabError
from quiclens_lab.machine import collector_binary
from quiclens_lab.path import SCRIPTS, PathFacts
from quiclens_lab.scenarios import CLEAN_SIZES, SCENARIOS
from quiclens_lab.truth import cells as cells_module
from quiclens_lab.truth import runs as runs_module
from quiclens_lab.truth.cells import PROGRAMS, Cell, cells, judged_cells
from quiclens_lab.truth.job_lists import Way, scenario_jobs
from quiclens_lab.truth.kept_runs import KeptRuns
from quiclens_lab.truth.runs import judged_runs
from quiclens_lab.truth.samples import Job, Judged, Row, Sample
from quiclens_lab.truth.split import split

CLEAN = tuple(each.name for each in CLEAN_SIZES)
SAMPLE = Sample("scenario", "noq", "think", "server_think", "server", 1, "with", 4, "cubic", "jitter")
ROW = Row("c", "server", 4, 10, 110, 100, True, 1_000, dict.fromkeys(CAUSES, 0) | {"pto": 100}, {"pto": 7}, ("pto",))
NOTHING = KeptRuns(None, "judge")


def silent(_done: int, _all: int) -> None:
    """Nobody watches."""


def test_what_is_kept_for_the_final_check_is_run_by_it_alone_and_with_other_seeds() -> None:
    development, final = (list(cells(is_final=is_final, seeds=10)) for is_final in (False, True))
    assert {cell.stack for cell in development} == {"aioquic", "quic-go", "noq"}
    assert {cell.script for cell in development} & split().final_scripts == set()
    assert {cell.script for cell in final if cell.stack != "tquic"} == split().final_scripts
    assert {seed for cell in development for seed in cell.seed_range}.isdisjoint(
        seed for cell in final for seed in cell.seed_range
    )


def test_both_run_every_pair_on_every_kind_of_path_once() -> None:
    chosen = [cell for is_final in (False, True) for cell in cells(is_final=is_final, seeds=10)]
    causes = [cell for cell in chosen if not cell.scenarios]
    pairs = {(cell.stack, cell.controller) for cell in causes}
    assert len(pairs) >= 10 and set(split().scripts) == set(SCRIPTS)
    ways = {(cell.stack, cell.controller, cell.script) for cell in causes}
    assert len(ways) == len(pairs) * len(SCRIPTS) == len(causes)
    assert min(cell.seeds for cell in chosen) == 10


def test_clean_sizes_are_run_under_every_condition_that_a_stack_can_have() -> None:
    clean = [cell for is_final in (False, True) for cell in cells(is_final, 10) if cell.scenarios]
    assert {cell.scenarios for cell in clean} == {CLEAN}
    by_stack = {stack: {cell.condition for cell in clean if cell.stack == stack} for stack in split().controllers}
    assert by_stack == {
        "aioquic": {"", "late-timers", "without-tag"},
        "quic-go": {"", "without-tag"},
        "noq": {"", "late-timers", "without-tag"},
        "tquic": {"", "late-timers", "without-tag"},
    }


def test_programs_are_asked_for_a_cell() -> None:
    cell = Cell("noq", "bbr3", "constant", 3, CLEAN, "late-timers")
    assert cell.command(Path("noq-traces"), Path("out")) == [
        "noq-traces", "--out", "out", "--seeds", "1-3", "--scripts", "constant", "--controllers", "bbr3",
        "--scenarios", "clean_10k,clean_200k,clean_2m", "--late-timers",
    ]  # fmt: skip
    cell = Cell("quic-go", "reno", "deep", 3, condition="without-tag")
    says = ["-seeds", "1-3", "-scripts", "deep", "-scenarios", "", "-without-tag"]
    assert cell.command(Path("lab"), Path("out"))[-len(says) :] == says


def test_a_program_that_is_not_built_or_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROGRAMS, "noq", tmp_path / "noq-traces")
    cell = Cell("noq", "cubic", "deep", 1)
    with pytest.raises(LabError, match="noq-traces: not built"):
        judged_cells([cell], tmp_path, 1, silent, NOTHING)
    PROGRAMS["noq"].write_text("#!/bin/sh\necho no such path >&2\nexit 1\n")
    PROGRAMS["noq"].chmod(0o755)
    with pytest.raises(LabError, match=r"ended with 1 for .*: no such path"):
        judged_cells([cell], tmp_path, 1, silent, NOTHING)


def test_kept_runs_come_back_as_they_were_and_only_for_their_judge(tmp_path: Path) -> None:
    judged = [Judged(replace(SAMPLE, path=PathFacts(1, 2, 3)), (ROW,), 5), Judged(SAMPLE, ())]
    kept = KeptRuns(tmp_path, "1" * 64)
    assert kept.get("cell") is None
    kept.put("cell", judged)
    assert KeptRuns(tmp_path, "1" * 64).get("cell") == judged
    assert KeptRuns(tmp_path, "1" * 64).get("another cell") is None
    assert KeptRuns(tmp_path, "2" * 64).get("cell") is None
    assert [each.name for each in tmp_path.iterdir()] == ["2" * 16], "what another collector judged is gone"


def test_a_damaged_kept_run_says_so(tmp_path: Path) -> None:
    kept = KeptRuns(tmp_path, "1" * 64)
    kept.put("cell", [])
    (file,) = tmp_path.glob("*/*.json")
    file.write_text('[{"sample": 1}]')
    with pytest.raises(LabError, match="is damaged"):
        kept.get("cell")


def test_a_run_that_was_ended_goes_on_with_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def judged_batch(jobs: list[Job], collector: Path) -> list[Judged]:
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(len(jobs))
        return [Judged(job.sample, (ROW,)) for job in jobs]

    monkeypatch.setattr(runs_module, "judged_batch", judged_batch)
    jobs = list(scenario_jobs(SCENARIOS[1:2], range(1, 51), True, Way("cubic", "deep")))
    with pytest.raises(KeyboardInterrupt):
        judged_runs(jobs, tmp_path, 1, silent, KeptRuns(tmp_path, "1" * 64))
    assert made == [40, 40]
    made.clear()
    found = judged_runs(jobs, tmp_path, 1, silent, KeptRuns(tmp_path, "1" * 64))
    assert (made, [each.sample for each in found]) == ([20], [job.sample for job in jobs])


def test_cells_that_are_kept_are_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Cell] = []

    def make(cell: Cell, _program: Path, _collector: Path) -> list[Judged]:
        made.append(cell)
        return [Judged(replace(SAMPLE, script=cell.script), (ROW,))]

    program = tmp_path / "noq-traces"
    program.write_text("one build")
    monkeypatch.setitem(PROGRAMS, "noq", program)
    monkeypatch.setattr(cells_module, "_made", make)
    chosen = [Cell("noq", "cubic", script, 1) for script in ("deep", "jitter")]
    kept = KeptRuns(tmp_path / "kept", "1" * 64)
    first = judged_cells(chosen[:1], tmp_path, 1, silent, kept)
    both = judged_cells(chosen, tmp_path, 1, silent, kept)
    assert made == chosen and both[:1] == first
    program.write_text("another build")
    judged_cells(chosen[:1], tmp_path, 1, silent, kept)
    assert made == [*chosen, chosen[0]]


needs_collector = pytest.mark.skipif(not collector_binary().is_file(), reason="the collector is not built")
IS_BUILT = [
    pytest.param(stack, marks=pytest.mark.skipif(not program.is_file(), reason=f"{program.name} is not built"))
    for stack, program in PROGRAMS.items()
    if stack not in split().final_stacks
]


@needs_collector
@pytest.mark.parametrize("stack", ["aioquic", *IS_BUILT])
def test_a_slice_of_a_stack_is_whole(stack: str, tmp_path: Path) -> None:
    """One seed of it on one kind of path beside the constant one, and the clean sizes: that all is made and adds up."""
    main(["truth", "--logs-only", "--stacks", "development", "--stack", stack, "--script", "constant", "--script",
          "drop-and-back", "--stack-seeds", "1", "--jobs", "2", "--out", str(tmp_path)])  # fmt: skip
    found: dict[str, Any] = json.loads((tmp_path / "truth.json").read_text())
    tables = found["tables"]
    assert tables["injection"]["causes"] >= 8
    assert set(tables["decisive"]["scripts"]) == {"constant", "drop-and-back"}
    assert {row["scenario"] for row in tables["nothing"]["rows"]} == {"clean", *CLEAN}
    assert all(row["runs"] for row in tables["nothing"]["rows"])
    consistency = tables["consistency"]
    assert [consistency[name] for name in ("runs_without_target_row", "targets_incomplete", "parts_do_not_sum")] == [
        0
    ] * 3
