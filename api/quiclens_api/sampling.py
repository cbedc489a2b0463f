"""Figures of events of which not all were kept: weighted by 1 / probability, with 95 % intervals. Pure.

Each connection's events were kept on their own with a known probability p (collectors/README.md, "Retention"), so
with weight w = 1 / p the sum of w·y over the kept ones is unbiased for the sum of y over all of them, and the sum of
w·(w - 1)·y² for its variance (Horvitz and Thompson, JASA 47, 1952; Särndal et al., "Model Assisted Survey Sampling",
3.2). What was certain to be kept has w = 1 and adds nothing to the error. A ratio of two sums has the error of its
residuals y - ratio·x (ibid., 5.6).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from quiclens_api.intervals import Z95, Estimate

DRAWS_AT_LEAST = 10  # connections that chance alone kept; with fewer an interval means nothing


@dataclass(frozen=True)
class Kept:
    """What events sum up to: those of one connection that chance kept, or of all that were certain to be kept."""

    weight: float
    sums: Sequence[float]


def total(kept: Sequence[Kept], figure: int, chances: int) -> Estimate:
    """A sum over all connections; `chances` is how many of them were kept or not by chance alone."""
    value = math.fsum(each.weight * each.sums[figure] for each in kept)
    return _bounded(value, [(each.weight, each.sums[figure]) for each in kept], chances, 1.0)


def ratio(kept: Sequence[Kept], over: int, under: int, chances: int) -> Estimate:
    """A sum over all connections divided by another; there is none where the other is nothing."""
    whole = math.fsum(each.weight * each.sums[under] for each in kept)
    if whole <= 0:
        return Estimate(None)
    value = math.fsum(each.weight * each.sums[over] for each in kept) / whole
    rest = [(each.weight, each.sums[over] - value * each.sums[under]) for each in kept]
    return _bounded(value, rest, chances, whole)


def _bounded(value: float, rest: Sequence[tuple[float, float]], chances: int, scale: float) -> Estimate:
    drawn = sum(weight > 1 for weight, _ in rest)
    if chances == 0:
        return Estimate(value, value, value)
    if drawn < DRAWS_AT_LEAST:
        return Estimate(value)
    variance = math.fsum(weight * (weight - 1) * each * each for weight, each in rest)
    half = student95(drawn - 1) * math.sqrt(variance) / scale
    return Estimate(value, value - half, value + half)


def student95(freedom: int) -> float:
    """The 97.5 % quantile of Student's t, to four digits from 9 degrees on (Abramowitz and Stegun, 26.7.5)."""
    z = Z95
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / freedom ** (power + 1) for power, term in enumerate(terms))
