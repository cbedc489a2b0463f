"""What the absence of a cause would save, in words."""

from typing import Any

from quiclens_questions.savings import savings_note


def part(us: int, saves_us: int | None, cause: str = "loss_recovery") -> dict[str, Any]:
    return {"cause": cause, "us": us, "saves_us": saves_us}


def test_a_saving_larger_than_its_part_is_explained() -> None:
    assert "more than its own part" in savings_note([part(777_000, 2_220_000), part(0, None)])
    assert savings_note([part(777_000, 777_500), part(0, None), part(9, None, "network")]) == savings_note([]) == ""


def test_a_saving_that_is_not_told_has_its_reason() -> None:
    assert "of loss_recovery: the log does not show the sender's window" in savings_note([part(100, None)])
    path = part(1_000, None, "bandwidth")
    assert "follows the path's rate" in savings_note([path, part(400, 400, "cwnd_blocked"), part(9, 9, "pacing")])
    assert "of bandwidth: the log does not" in savings_note([path, part(200, 200, "cwnd_blocked")])
