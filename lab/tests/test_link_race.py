from pathlib import Path

import pytest

from quiclens_lab import link_race
from quiclens_lab.link_bench import command as bench


@pytest.mark.parametrize("kills", [1, pytest.param(3, marks=pytest.mark.long)])
def test_two_linkers_and_a_reader_for_a_moment(kills: int) -> None:
    document = link_race.link_race(kills=kills, seed=5, keep=False)
    assert document["passes"], document["missed"]
    assert document["struck"]["killed"] == kills and document["looks"] > 0


def test_a_reader_tells_what_is_missing_twice_or_older() -> None:
    class Told:
        def __init__(self) -> None:
            self.rows: list[tuple[object, ...]] = []

        def query(self, _: str) -> "Told":
            return self

    told = Told()
    reader = link_race._RequestReader(told)  # type: ignore[arg-type]
    told.rows = [("a/0", None, "t", "log", 1, 900), ("log:log/2", None, None, "log", 2, 0)]
    reader.look()
    assert reader.wrong == []
    told.rows = [("a/0", None, "t", "log", 1, 900), ("b/0", None, "t", "log", 2, 5)]
    reader.look()
    assert reader.wrong == []  # the line is there, in a request
    told.rows = [("a/0", None, "t", None, None, 800), ("a/0", None, "t", "log", 2, 900)]
    reader.look()
    assert sorted(reader.wrong) == ["a/0 stands twice", "b/0 is missing", "line ('log', 1) is missing"]


@pytest.mark.long
def test_a_small_bench_fills_measures_and_fills_no_second_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "MADE", tmp_path)
    monkeypatch.setattr(bench, "ROUNDS", 1)
    monkeypatch.setattr(bench, "ROUND_REQUESTS", 100)
    first = bench.link_bench(days=1, a_day=1_000, seconds=1, rate=100, keep=False)
    assert set(first["round_s"]) == {"empty", "full"} and first["steady"]["never_linked"] == 0
    monkeypatch.setattr(bench, "fill", None)  # that a second fill would need
    second = bench.link_bench(days=1, a_day=1_000, seconds=0, rate=100, keep=False)
    assert not [each for each in second["missed"] if "Error" in each]
