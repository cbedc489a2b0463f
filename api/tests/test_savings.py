"""What the absence of a cause would save, in words."""

from typing import Any

from quiclens_questions.savings import savings_note


def part(us: int, saves_us: int | None) -> dict[str, Any]:
    return {"cause": "loss_recovery", "us": us, "saves_us": saves_us}


def test_a_saving_larger_than_its_part_is_explained() -> None:
    assert "more than its own part" in savings_note([part(777_000, 2_220_000), part(100, None)])
    assert savings_note([part(777_000, 777_500), part(100, None)]) == savings_note([]) == ""
