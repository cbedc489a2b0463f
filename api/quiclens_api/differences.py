"""Samples that come in clusters, and differences of two groups, with 95 % intervals. Pure.

Requests of one user are alike, so a user is one draw. How many independent samples they are worth, the effective
number, is their number over the design effect (Kish, "Survey Sampling", 8.2), which the draws themselves show; with it
the exact intervals for independent samples hold near 0 and 1 too (Korn and Graubard, Survey Methodology 24, 1998, who
put the fractional number into the incomplete beta function as is done here).
Two intervals make one of the difference by recovering their variances (Zou and Donner, Statistics in Medicine 27,
2008); a ratio is a difference of logarithms.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from quiclens_api.intervals import TAIL, Z95, Estimate, Ranks, Spread, binomial_tail, needed, wilson
from quiclens_api.sampling import student95

DRAWS_AT_LEAST = 10  # with fewer users nothing is known of how they differ


@dataclass(frozen=True)
class Clusters:
    """How many draws the samples come from, and how those that count (a of each draw's n) fall on them."""

    draws: int
    hits: float
    spread: Spread


def effective(samples: int, clusters: Clusters) -> float:
    """How many independent samples these are worth: never more than there are, 0 with too few draws."""
    if clusters.draws < DRAWS_AT_LEAST or samples == 0:
        return 0.0
    share, spread, draws = clusters.hits / samples, clusters.spread, clusters.draws
    if 0 < share < 1:
        squares = max(0.0, spread.sum_aa - 2 * share * spread.sum_an + share * share * spread.sum_nn)
        independent = share * (1 - share) * samples
        worth = samples * min(1.0, independent / (squares * draws / (draws - 1))) if squares else float(samples)
    else:
        worth = samples * samples / spread.sum_nn  # nothing shows how alike they are: as if wholly
    return worth * (Z95 / student95(draws - 1)) ** 2


def clustered_share(samples: int, clusters: Clusters) -> Estimate:
    """The share of samples that count; its interval is Wilson's on the effective number."""
    if samples == 0:
        return Estimate(None)
    share, worth = clusters.hits / samples, effective(samples, clusters)
    if worth == 0:
        return Estimate(share)
    around = wilson(share * worth, worth)
    return Estimate(share, around.low, around.high)


def clustered_ranks(samples: int, quantile: float, clusters: Clusters) -> Ranks | None:
    """Places in the sorted samples of a quantile and of its interval; `clusters.hits` are those up to the quantile.

    The nearest samples are taken, now within the interval and now beyond it, so it holds as often as said on average
    over many groups; `quiclens-lab planted` measures how often.
    """
    if samples < needed(quantile):
        return None
    at = min(max(math.ceil(round(quantile * samples, 6)), 1), samples)
    worth = effective(samples, clusters)
    low, high = places(worth, quantile)
    of_all = (samples + 1) / (worth + 1)
    return Ranks(
        at,
        None if low is None else max(1, round(low * of_all)),
        None if high is None else min(samples, round(high * of_all)),
    )


def places(worth: float, quantile: float) -> tuple[float | None, float | None]:
    """Where among so many sorted independent samples, from 1, the two lie that bound a quantile with 95 % confidence.

    Between two samples the chance is interpolated by the incomplete beta function: whole ranks alone would hold the
    quantile more often than said, the more so the fewer lie beyond it. An end is None where no sample bounds it.
    """
    if worth < 1:
        return None, None
    at = quantile * worth
    has_low = binomial_tail(1, worth, quantile) >= 1 - TAIL
    has_high = binomial_tail(worth, worth, quantile) <= TAIL
    low = _bisect(lambda place: binomial_tail(place, worth, quantile) >= 1 - TAIL, 1, at) if has_low else None
    high = _bisect(lambda place: binomial_tail(place, worth, quantile) > TAIL, at, worth) if has_high else None
    return low, high


def _bisect(is_before: Callable[[float], bool], first: float, last: float) -> float:
    for _ in range(40):
        middle = (first + last) / 2
        first, last = (middle, last) if is_before(middle) else (first, middle)
    return first


def difference(of: Estimate, base: Estimate) -> Estimate:
    """`of` less `base`, of two groups that were drawn apart."""
    if of.value is None or base.value is None:
        return Estimate(None)
    value = of.value - base.value
    return Estimate(
        value,
        None if of.low is None or base.high is None else value - math.hypot(of.value - of.low, base.high - base.value),
        None if of.high is None or base.low is None else value + math.hypot(of.high - of.value, base.value - base.low),
    )


def relative(of: Estimate, base: Estimate) -> Estimate:
    """By what share of `base` `of` is more (or less, below 0); there is none of what is not above 0."""
    found = difference(_log(of), _log(base))
    return Estimate(*(None if each is None else math.expm1(each) for each in (found.value, found.low, found.high)))


def _log(estimate: Estimate) -> Estimate:
    ends = (estimate.value, estimate.low, estimate.high)
    return Estimate(*(math.log(each) if each is not None and each > 0 else None for each in ends))
