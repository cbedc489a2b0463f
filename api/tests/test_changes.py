"""When a share became larger: gains, change points, dispersion."""

import math
import random

import pytest

from quiclens_questions.statistics.changes import Before, change_point, dispersion_of


def test_a_gain_is_the_logarithm_of_the_ratio_of_likelihoods() -> None:
    change = Before(10, 100, 30, 60)

    def binomial(hits: int, of: int, share: float) -> float:
        return math.comb(of, hits) * share**hits * (1 - share) ** (of - hits)

    two = binomial(10, 100, 0.1) * binomial(30, 60, 0.5)
    one = binomial(10, 100, 0.25) * binomial(30, 60, 0.25)
    assert change.gain() == pytest.approx(math.log(two / one)) and change.gain(2.0) == pytest.approx(change.gain() / 2)
    assert change.excess == pytest.approx(30 - 6)


@pytest.mark.parametrize(
    "change", [Before(10, 100, 5, 60), Before(0, 0, 5, 60), Before(5, 60, 0, 0), Before(0, 9, 0, 9)]
)
def test_what_is_not_larger_or_has_one_side_alone_gains_nothing(change: Before) -> None:
    assert change.gain() == 0.0


def test_all_or_none_that_count_are_no_fault() -> None:
    assert Before(0, 50, 50, 50).gain() == pytest.approx(100 * math.log(2))
    assert Before(0, 50, 50, 50).chance() < 1e-20 < Before(1, 50, 1, 50).chance()


def test_the_interval_of_a_change_holds_it_nine_times_in_ten_and_more() -> None:
    chance, held, width = random.Random(3), 0, 0
    for _ in range(400):
        begins = chance.randrange(100, 180)
        of = [chance.randrange(2, 9) for _ in range(240)]
        hits = [
            sum(chance.random() < (0.5 if at >= begins else 0.1) for _ in range(many)) for at, many in enumerate(of)
        ]
        found = change_point(hits, of, 1.0)
        assert found is not None
        held += found.first <= begins <= found.last
        width += found.last - found.first + 1
    assert held >= 0.9 * 400 and width <= 8 * 400


def test_where_nothing_changes_there_is_no_change_point() -> None:
    found = change_point([0, 0, 5, 5, 5, 5], [5] * 6, 1.0)
    assert found is not None and found.place == 2
    assert change_point([1, 1, 1], [5, 5, 5], 1.0) is None and change_point([], [], 1.0) is None


def test_stretches_that_vary_more_than_independent_ones_show_dispersion() -> None:
    assert dispersion_of([10, 10, 10, 10], [100] * 4) == 1.0
    assert dispersion_of([0, 20, 0, 20], [100] * 4) == pytest.approx(4 * 100 / 9 / 3)
    assert dispersion_of([], []) == dispersion_of([5], [10]) == dispersion_of([0, 0], [3, 4]) == 1.0
