"""The bar of siblings counts what was right, wrong and not claimed, and misses what the bar misses."""

from typing import Any

import pytest

from quiclens_lab import siblings as lab
from quiclens_lab.siblings import SiblingsTried, siblings_bar


def judged(monkeypatch: pytest.MonkeyPatch, **counts: int) -> dict[str, Any]:
    monkeypatch.setattr(
        lab, "_try", lambda store, number, traced, rate, seed: SiblingsTried(number, "city", traced, counts)
    )
    return siblings_bar(1, 15.0, 1, False, None)


def test_wrong_claims_and_too_few_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = judged(monkeypatch, right=4, wrong=1, mixed=5)
    assert found["traced_1_percent"] == {"right": 4, "wrong": 1, "too_few": 0, "mixed": 5}
    assert found["missed"] == [] and found["left_out"] == ["1 incidents of 60", "15.0 requests a second of 300"]
    assert "10 % traced: 75.0% of what was claimed is right" in judged(monkeypatch, right=3, wrong=1)["missed"]
    assert "100 % traced: too few for 30.0% of the requests" in judged(monkeypatch, right=7, too_few=3)["missed"]


def test_a_planted_cause_is_told_from_what_was_usual_before() -> None:
    found = siblings_bar(1, 30.0, 7, False, None)
    assert found["missed"] == [] and found["traced_100_percent"] == {"right": 5, "wrong": 0, "too_few": 0, "mixed": 0}
