"""A value with its 95 % interval, and what can be made of two. Pure.

Two intervals make one of the difference by recovering their variances (Zou and Donner, Statistics in Medicine 27,
2008); a ratio is a difference of logarithms.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from quiclens_questions.statistics.distributions import Z95


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; an end is None where there is too little data to bound it."""

    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def ends(self) -> tuple[float | None, float | None, float | None]:
        """The value and both ends."""
        return self.value, self.low, self.high

    def rounded(self, digits: int | None = None) -> list[float | int | None]:
        """The value and both ends as a row has them: whole numbers, or `digits` decimals."""
        return rounded(self.ends, digits)


def wilson(hits: float, total: float) -> Estimate:
    """A share of independent samples with Wilson's score interval (JASA 22, 1927), which stays right near 0 and 1."""
    if total == 0:
        return Estimate(None)
    share, z2 = hits / total, Z95 * Z95
    middle = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = Z95 / (1 + z2 / total) * math.sqrt(share * (1 - share) / total + z2 / (4 * total * total))
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half))


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
    return Estimate(*(None if each is None else math.expm1(each) for each in found.ends))


def _log(estimate: Estimate) -> Estimate:
    return Estimate(*(math.log(each) if each is not None and each > 0 else None for each in estimate.ends))


def rounded(values: Sequence[float | None], digits: int | None = None) -> list[float | int | None]:
    """Whole numbers, or `digits` decimals: an interval's last bits say nothing."""
    return [None if value is None else round(value, digits) for value in values]
