"""Incidents that are planted are found, and what is judged of them is missed where it is wrong."""

from pathlib import Path

import pytest

from quiclens_lab.incidents import Tried, incidents, judged
from quiclens_lab.judgement import Judgement


def test_a_few_incidents_are_found_and_the_run_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quiclens_lab.incidents.CELLS", (900,))
    first = incidents(3, 1, 2.0, 1, keep=False, folder=tmp_path)
    assert first["who_and_cause"] == 1.0 and first["false_in_nothing"] == 0 and first["counted_wrongly"] == 0
    assert first["by_kind"] == {"carrier": "1 of 1", "city": "1 of 1", "point of presence": "1 of 1"}
    assert len(first["left_out"]) == 4
    (lines,) = tmp_path.iterdir()
    before = lines.read_bytes()
    assert incidents(3, 1, 2.0, 1, keep=False, folder=tmp_path) == first and lines.read_bytes() == before


def test_what_is_wrong_is_missed() -> None:
    right = Tried(0, "city", 200, 1, True, True, True, True, True)
    for wrong, what in (
        (Tried(1, "city", 200, 1, False, True, True, True, True), "who and cause"),
        (Tried(1, "city", 200, 1, True, False, True, True, True), "who and cause"),
        (Tried(1, "city", 200, 1, True, True, False, True, True), "holds in"),
        (Tried(1, "city", 200, 1, True, True, True, False, True), "wider"),
        (Tried(1, "city", 200, 1, True, True, True, True, False), "counts"),
    ):
        judgement = Judgement("incidents")
        judged([right, wrong], judgement)
        assert any(what in each for each in judgement.missed), what
    judgement = Judgement("incidents")
    judged([right, Tried(-1, "nothing", 0, 2, False, False, False, False, False)], judgement)
    assert judgement.missed == ["2 findings in hours of nothing"]
