"""Weights and intervals of events of which chance kept some."""

import math

import pytest

from quiclens_questions.statistics.distributions import student95
from quiclens_questions.statistics.estimates import Estimate
from quiclens_questions.statistics.kept import Chances, Kept, ratio, total

# Ten of forty connections drawn with probability a quarter, and one that was certain: y is 1 to 10, x is 2.
DRAWN = [Kept(4.0, (float(y), 2.0)) for y in range(1, 11)]
CERTAIN = Kept(1.0, (100.0, 50.0))


def test_what_was_certain_has_no_error() -> None:
    assert total([CERTAIN], 0, Chances(0)) == Estimate(100, 100, 100)
    assert ratio([CERTAIN], 0, 1, Chances(0)) == Estimate(2, 2, 2)


def test_weights_are_scaled_to_the_number_of_connections_that_is_known() -> None:
    assert total([CERTAIN, *DRAWN], 0, Chances(40)).value == pytest.approx(100 + 4 * 55)
    assert total([CERTAIN, *DRAWN], 0, Chances(50)).value == pytest.approx(100 + 5 * 55)
    assert total([CERTAIN, *DRAWN], 0, Chances(50, is_all=False)).value == pytest.approx(100 + 4 * 55)
    assert ratio([CERTAIN, *DRAWN], 0, 1, Chances(40)).value == pytest.approx(320 / 130)


def test_an_interval_without_a_known_number_is_horvitz_and_thompsons() -> None:
    found = total([CERTAIN, *DRAWN], 0, Chances(40, is_all=False))
    terms = [4 * 3 * y * y for y in range(1, 11)]
    assert found.value is not None and found.low is not None and found.high is not None
    half = found.high - found.value
    assert half == pytest.approx(found.value - found.low)
    kurtosis = 10 * sum(term**2 for term in terms) / sum(terms) ** 2
    assert half == pytest.approx(student95(min(9, 20 / (kurtosis - 1))) * math.sqrt(sum(terms)))


def test_alike_connections_leave_nothing_open() -> None:
    found = total([Kept(4.0, (7.0, 1.0)) for _ in range(12)], 0, Chances(48))
    assert (found.value, found.low, found.high) == pytest.approx((336, 336, 336))
    proportional = [Kept(4.0, (3.0 * x, float(x))) for x in range(1, 13)]
    found = ratio(proportional, 0, 1, Chances(48))
    assert (found.value, found.low, found.high) == pytest.approx((3, 3, 3))


def test_too_few_draws_bound_nothing_and_none_says_nothing() -> None:
    few = total(DRAWN[:9], 0, Chances(36))
    assert few.value == pytest.approx(4 * 45)
    assert few.low is None and few.high is None
    assert total([CERTAIN], 0, Chances(5)) == Estimate(None)
    assert ratio([CERTAIN], 0, 1, Chances(5)) == Estimate(None)
    assert ratio([Kept(1.0, (1.0, 0.0))], 0, 1, Chances(0)) == Estimate(None)
