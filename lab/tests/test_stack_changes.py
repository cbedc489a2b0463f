"""The bar of `diff`: a change that is planted in quic-go is found with its cause; what is missed is said."""

import shutil
from pathlib import Path

import pytest

from quiclens_lab.errors import LabError
from quiclens_lab.judgement import Judgement
from quiclens_lab.stack_changes import stacks
from quiclens_lab.stack_changes.command import StackCompared, _judge_change, _judge_nothing, stack_changes
from quiclens_lab.stack_changes.stacks import PlantedChange, planted_changes

LATE = "each request begins 3 ms late"


@pytest.mark.skipif(shutil.which("go") is None, reason="needs go")
def test_a_planted_change_is_found_with_its_cause() -> None:
    found = stack_changes(1, 2, False, [LATE], 1, False, None)
    assert found["missed"] == []
    [row] = found["changes"]
    assert row["verdicts"] == {"slower": 1} and row["causes"] == {"server_think": 1} and row["p95"] > 0.02
    assert found["nothing, same seeds"] == found["nothing, other seeds"] == {"same": 1}


def compared(verdict: str, cause: str, cause_us: float = 1.0, p95: float = 110.0) -> StackCompared:
    return StackCompared("x", 0, verdict, 100.0, p95, True, 1.0, {cause: cause_us} if cause else {})


def test_what_is_not_found_or_has_another_cause_is_missed() -> None:
    change = PlantedChange("x", "file.go", "a", "b", ("clean",), ("pto",), "slower")
    judgement = Judgement("stack-changes")
    _judge_change(judgement, change, [compared("slower", "pto")] * 19 + [compared("same", "")])
    assert judgement.missed == []
    _judge_change(judgement, change, [compared("slower", "pto", -1.0)] * 2 + [compared("faster", "pto")] * 2)
    assert judgement.missed == [
        "x: its causes are 0% of the mean's change",
        "x: found in 50% of 4",
        "x: the cause right in 50% of 4",
    ]
    _judge_change(judgement, change, [compared("same", "", p95=101.0)])
    assert len(judgement.missed) == 3, "a change of 1 % need not be found"


def test_a_cause_that_is_hardly_anything_does_not_explain_a_change() -> None:
    change = PlantedChange("x", "file.go", "a", "b", ("clean",), ("pto",), "slower")
    judgement = Judgement("stack-changes")
    _judge_change(judgement, change, [compared("shifted", "pto", 0.1)] * 20)
    assert judgement.missed == ["x: its causes are 10% of the mean's change"], (
        "shifted, and slower at the p95, is found"
    )


def test_what_is_found_where_nothing_changed_is_missed() -> None:
    judgement = Judgement("stack-changes")
    _judge_nothing(judgement, [compared("same", "")] * 99 + [compared("shifted", "pto")])
    assert judgement.missed == []
    _judge_nothing(judgement, [compared("same", "")] * 98 + [compared("slower", "")] * 2)
    assert judgement.missed == ["nothing changed, and something was found in 2.0% of 100"]


def test_a_change_that_does_not_fit_the_source_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "some.go").write_text("twice twice")
    change = PlantedChange("x", "some.go", "twice", "once", ("clean",), ("pto",), "slower")
    with pytest.raises(LabError, match="plant 'x': its text stands 2 times in some"):
        stacks._build_one(change, tmp_path, tmp_path / "planted.mod", tmp_path / "built")


def test_changes_are_named_once() -> None:
    names = [change.name for change in planted_changes()]
    assert len(names) == len(set(names)) >= 12
