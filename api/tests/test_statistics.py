"""Figures and how sure they are: against published tables, against each other, and against known populations."""

import math
import random
from collections.abc import Callable

import pytest

from quiclens_questions.statistics.clusters import (
    Clusters,
    Places,
    effective,
    needed,
    places,
    quantile_ends,
    samples_needed,
    share,
)
from quiclens_questions.statistics.distributions import (
    binomial_tail,
    chi_square_tail,
    hypergeometric_tail,
    likeness_at,
    student95,
)
from quiclens_questions.statistics.estimates import Estimate, difference, relative, wilson
from quiclens_questions.statistics.rates import Counts, rate
from quiclens_questions.statistics.splits import chance, gain

Sample = tuple[int, float, float]  # cluster, value, weight


def summed(samples: list[Sample], cut: float) -> Clusters:
    """What `clustered_quantiles.sql` tells of samples up to a cut."""
    n: dict[int, float] = {}
    a: dict[int, float] = {}
    for cluster, value, weight in samples:
        n[cluster] = n.get(cluster, 0.0) + weight
        a[cluster] = a.get(cluster, 0.0) + (weight if value <= cut else 0.0)
    whole = sum(n.values())
    left = {cluster: 1 / max(1e-9, 1 - each / whole) for cluster, each in n.items()}
    return Clusters(
        len(n),
        whole,
        sum(each[2] ** 2 for each in samples),
        sum(each**2 for each in n.values()),
        sum(a.values()),
        sum(weight**2 for _, value, weight in samples if value <= cut),
        sum(a[cluster] ** 2 * left[cluster] for cluster in n),
        sum(a[cluster] * n[cluster] * left[cluster] for cluster in n),
        sum(n[cluster] ** 2 * left[cluster] for cluster in n),
    )


def value_at(samples: list[Sample], level: float) -> float:
    """What `clustered_quantiles.sql` tells: the least value up to which so much of the weight lies."""
    wanted, seen = level * sum(weight for *_, weight in samples), 0.0
    for _, value, weight in sorted(samples, key=lambda each: each[1]):
        seen += weight
        if seen >= wanted * (1 - 1e-12):
            return value
    raise AssertionError("a level is at most 1")


def interval(samples: list[Sample], quantile: float) -> tuple[float, float]:
    there = summed(samples, value_at(samples, quantile))
    low, high = quantile_ends(quantile, there, summed(samples, value_at(samples, 0.5)))
    return (
        -math.inf if low is None else value_at(samples, low),
        math.inf if high is None else value_at(samples, high),
    )


def alike(clusters: int, each: int, likeness: float, weights: tuple[float, ...]) -> Callable[[], list[Sample]]:
    """Standard normal samples, of which those of one cluster correlate; a cluster has one of the weights."""

    def draw() -> list[Sample]:
        found = []
        for cluster in range(clusters):
            own, weight = random.gauss(0, math.sqrt(likeness)), random.choice(weights)
            for _ in range(random.randint(1, 2 * each - 1)):
                found.append((cluster, own + random.gauss(0, math.sqrt(1 - likeness)), weight))
        return found

    return draw


def test_a_value_lies_between_two_of_them_in_proportion_and_equal_ones_in_their_middle() -> None:
    places = Places.of([0.1, 0.3, 0.5, 0.9], [10.0, 20.0, 20.0, 40.0])
    assert places == Places([0.1, 0.4, 0.9], [10.0, 20.0, 40.0])
    told = [places.value(level) for level in (0.0, 0.1, 0.25, 0.4, 0.65, 0.9, 1.0)]
    assert told == pytest.approx([10, 10, 15, 20, 30, 40, 40])
    assert Places.of([0.5], [7.0]).value(0.01) == 7.0


def test_wilson_is_the_published_interval() -> None:
    found = wilson(10, 100)  # 10 of 100: 0.0552 to 0.1744 in any table of it
    assert found.low == pytest.approx(0.0552, abs=1e-4) and found.high == pytest.approx(0.1744, abs=1e-4)
    assert wilson(0, 0).value is None and wilson(0, 5).low == 0


@pytest.mark.parametrize(("freedom", "quantile"), [(1, 12.706), (4, 2.776), (9, 2.262), (60, 2.000), (1e9, 1.960)])
def test_students_quantile_is_the_tables(freedom: float, quantile: float) -> None:
    assert student95(freedom) == pytest.approx(quantile, abs=1e-3)


@pytest.mark.parametrize(
    ("hits", "draws", "marked", "whole"), [(3, 10, 12, 40), (9, 9, 30, 31), (0, 5, 5, 9), (80, 100, 90, 120)]
)
def test_a_hypergeometric_tail_is_the_sum_of_its_terms(hits: int, draws: int, marked: int, whole: int) -> None:
    terms = (
        math.comb(marked, each) * math.comb(whole - marked, draws - each)
        for each in range(hits, min(draws, marked) + 1)
    )
    exact = sum(terms) / math.comb(whole, draws)
    assert math.isclose(hypergeometric_tail(hits, draws, marked, whole), exact, rel_tol=1e-9)
    assert hypergeometric_tail(draws + 1, draws, marked, whole) == 0


def test_a_group_that_is_nearly_everything_can_stand_out() -> None:
    """80 % of all requests have nearly all of the slow ones; a binomial of their own share would see nothing in it."""
    assert hypergeometric_tail(498, 8_000, 500, 10_000) < 1e-20
    assert hypergeometric_tail(402, 8_000, 500, 10_000) > 0.3
    assert hypergeometric_tail(40.5, 800.2, 50.1, 1_000.7) == pytest.approx(
        hypergeometric_tail(40, 800, 50, 1_000), abs=0.2
    )


def test_likeness_in_the_tail_is_that_of_a_normal_pair() -> None:
    random.seed(11)
    rho, draws = 0.6, 40_000
    pairs = []
    for _ in range(draws):
        own = random.gauss(0, math.sqrt(rho))
        pairs.append(tuple(own + random.gauss(0, math.sqrt(1 - rho)) for _ in range(2)))
    at_median = 2 / math.pi * math.asin(rho)
    for quantile, cut in ((0.5, 0.0), (0.95, 1.644854)):
        both = sum(x > cut and y > cut for x, y in pairs) / draws
        assert likeness_at(quantile, at_median) == pytest.approx(
            (both - (1 - quantile) ** 2) / (quantile * (1 - quantile)), abs=0.03
        )
    assert likeness_at(0.5, at_median) == pytest.approx(at_median)
    assert likeness_at(0.95, 0.0) == pytest.approx(0, abs=1e-9)


def test_samples_that_are_wholly_alike_are_worth_their_clusters() -> None:
    samples = [(cluster, float(cluster % 10), 1.0) for cluster in range(100) for _ in range(10)]
    found = summed(samples, 2.0)
    assert found.share == 0.3 and found.independent == 1000 and found.even == 100
    assert effective(found) == pytest.approx(97, abs=4)
    alone = summed([(place, float(place % 10), 1.0) for place in range(1000)], 2.0)
    assert effective(alone) == pytest.approx(1000, rel=0.01)
    wide, narrow = share(found), share(alone)
    assert wide.value == narrow.value == 0.3
    assert wide.low is not None and narrow.low is not None and wide.low < narrow.low


def test_a_sample_that_stands_for_others_counts_as_much() -> None:
    """900 requests of a server that traces all, 100 of one that traces one of a hundred."""
    samples = [(place, 10.0, 1.0) for place in range(900)] + [(900 + place, 500.0, 100.0) for place in range(100)]
    assert value_at(samples, 0.5) == 500.0
    found = share(summed(samples, 10.0))
    assert found.value == pytest.approx(900 / 10_900)
    low, high = interval(samples, 0.5)
    assert (low, high) == (500.0, 500.0)


def test_equal_weights_change_nothing() -> None:
    random.seed(4)
    samples = alike(40, 5, 0.3, (1.0,))()
    seven = [(cluster, value, 7.0) for cluster, value, _ in samples]
    assert interval(samples, 0.75) == interval(seven, 0.75)
    assert effective(summed(samples, 0.1)) == pytest.approx(effective(summed(seven, 0.1)))


def test_few_clusters_bound_nothing() -> None:
    samples = [(place % 9, float(place), 1.0) for place in range(200)]
    assert share(summed(samples, 50)) == Estimate(51 / 200)
    assert quantile_ends(0.5, summed(samples, 100), summed(samples, 100)) == (None, None)
    assert [needed(each) for each in (0.5, 0.75, 0.95, 0.99)] == [10, 10, 20, 100]
    assert [samples_needed(each) for each in (0.5, 0.75, 0.95, 0.99)] == [2, 4, 20, 100]


@pytest.mark.parametrize(("clusters", "quantile"), [(20, 0.5), (60, 0.95), (200, 0.99)])
def test_as_many_clusters_as_a_quantile_takes_are_never_too_few(clusters: int, quantile: float) -> None:
    random.seed(clusters)
    for likeness in (0.0, 0.4, 0.8):
        low, high = interval(alike(clusters, 5, likeness, (1.0,))(), quantile)
        assert low > -math.inf and low <= high


@pytest.mark.parametrize(
    ("clusters", "likeness", "weights", "quantile", "normal"),
    [
        (20, 0.1, (1.0,), 0.5, 0.0),
        (20, 0.4, (1.0, 10.0), 0.5, 0.0),
        (60, 0.3, (1.0,), 0.95, 1.644854),
        (60, 0.3, (1.0, 10.0), 0.95, 1.644854),
        (100, 0.3, (1.0,), 0.99, 2.326348),
    ],
)
def test_intervals_hold_as_often_as_they_say(
    clusters: int, likeness: float, weights: tuple[float, ...], quantile: float, normal: float
) -> None:
    random.seed(clusters)
    draw, times = alike(clusters, 3, likeness, weights), 200
    held = sum(low <= normal <= high for low, high in (interval(draw(), quantile) for _ in range(times)))
    assert held / times >= 0.90


def test_places_are_the_exact_binomial_interval() -> None:
    for samples, quantile in ((400, 0.99), (1_000, 0.99), (300, 0.5), (37, 0.75)):
        low, high = places(samples, quantile)
        assert low is not None and high is not None
        assert binomial_tail(low, samples, quantile) == pytest.approx(0.975, abs=1e-6)
        assert binomial_tail(high, samples, quantile) == pytest.approx(0.025, abs=1e-6)
    low, high = places(100, 0.5)
    assert (
        low is not None and high is not None and (int(low), math.ceil(high)) == (40, 61)
    )  # any table of the sign test
    assert places(300, 0.99)[1] is None and places(0.5, 0.5) == (None, None)


def test_a_difference_is_as_sure_as_both_sides() -> None:
    assert difference(Estimate(5, 4, 7), Estimate(3, 3, 3)) == Estimate(2, 1, 4)
    open_below = difference(Estimate(5, None, 7), Estimate(3, 2, 4))
    assert open_below.low is None and open_below.high == pytest.approx(4.236, abs=1e-3)
    found = relative(Estimate(90, 81, 100), Estimate(100, 100, 100))
    assert found.value == pytest.approx(-0.1) and found.low == pytest.approx(-0.19) and found.high == pytest.approx(0)
    assert relative(Estimate(0, 0, 1), Estimate(3, 2, 4)).value is None


def test_a_rate_is_over_the_exact_stretch() -> None:
    found = rate(Counts(3_639, 3_639.0**2, 3_639, 15.0, 60.0))
    assert found.value == pytest.approx(242.6) and found.low is found.high is None


def test_a_rates_interval_allows_for_a_short_last_bucket() -> None:
    """20 minutes and 30 seconds of one a second: nothing varies, though the last bucket has half as many."""
    found = rate(Counts(1_230, 20 * 60.0**2 + 30.0**2, 30, 1_230.0, 60.0))
    assert (found.value, found.low, found.high) == pytest.approx((1, 1, 1))
    uneven = rate(Counts(1_200, 10 * 100.0**2 + 10 * 20.0**2, 20, 1_200.0, 60.0))
    assert uneven.value == 1 and uneven.low is not None and 0.6 < uneven.low < 0.75


def test_two_parts_of_one_mixture_differ_by_no_more_than_accident() -> None:
    assert gain({1: 30, 2: 70}, {1: 15, 2: 35}) == pytest.approx(0.0, abs=1e-9)
    assert gain({1: 3}, {}) == 0.0 and chance({1: 5}, {1: 9}) == 1.0
    # Twice the gain of 12 and 5 of 17 against 5 and 12 is 5.94, the likelihood ratio of that table.
    assert 2 * gain({1: 12, 2: 5}, {1: 5, 2: 12}) == pytest.approx(5.9398, abs=1e-3)
    assert chance({1: 12, 2: 5}, {1: 5, 2: 12}) == pytest.approx(0.0148, abs=1e-4)


@pytest.mark.parametrize(("value", "freedom", "chance"), [(3.841, 1, 0.05), (5.991, 2, 0.05), (15.086, 5, 0.01)])
def test_the_tail_of_chi_square_is_the_tables(value: float, freedom: int, chance: float) -> None:
    assert chi_square_tail(value, freedom) == pytest.approx(chance, rel=1e-3)
