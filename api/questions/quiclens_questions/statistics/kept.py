"""Figures of events of which not all were kept: weighted by 1 / probability, with 95 % intervals. Pure.

Each connection's events were kept on their own with a known probability p (collectors/README.md, "Retention"), so
with weight w = 1 / p the sum of w·y over the kept ones is unbiased for the sum of y over all of them, and the sum of
w·(w - 1)·y² for its variance (Horvitz and Thompson, JASA 47, 1952; Särndal et al., "Model Assisted Survey Sampling",
3.2). What was certain to be kept has w = 1 and adds nothing to the error.

How many connections were left to chance is known, for summaries are kept of all: the weights are scaled to that number
and residuals are taken from the mean (Hájek 1971; ibid., 5.7). Where the server itself traced only some connections
that number is not known, and weights stay as they are. A ratio of two sums has the error of its residuals (ibid.,
5.6). A residual is divided by what its connection leaves to the others, as a jackknife does: few connections with
much weight would make intervals too narrow otherwise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from quiclens_questions.statistics.distributions import student95
from quiclens_questions.statistics.estimates import Estimate

DRAWS_AT_LEAST = 10  # connections that chance alone kept; with fewer an interval means nothing


@dataclass(frozen=True)
class Kept:
    """What events sum up to: those of one connection that chance kept, or of all that were certain to be kept."""

    weight: float
    sums: Sequence[float]


@dataclass(frozen=True)
class Chances:
    """How many connections were kept or not by chance alone, and whether those are all there were."""

    connections: int
    is_all: bool = True


def total(kept: Sequence[Kept], figure: int, chances: Chances) -> Estimate:
    """A sum over all connections."""
    drawn = _Drawn.of(kept, chances)
    if drawn is None:
        return Estimate(None)
    return drawn.bounded(drawn.sum(figure), [each.sums[figure] for each in drawn.kept], [], 1.0)


def ratio(kept: Sequence[Kept], over: int, under: int, chances: Chances) -> Estimate:
    """A sum over all connections divided by another; there is none where the other is nothing."""
    drawn = _Drawn.of(kept, chances)
    whole = drawn.sum(under) if drawn else 0.0
    if drawn is None or whole <= 0:
        return Estimate(None)
    value = drawn.sum(over) / whole
    rest = [each.sums[over] - value * each.sums[under] for each in drawn.kept]
    return drawn.bounded(value, rest, [each.weight * each.sums[under] / whole for each in drawn.kept], whole)


@dataclass(frozen=True)
class _Drawn:
    """What chance kept, and what was certain."""

    kept: Sequence[Kept]
    certain: Sequence[Kept]
    chances: Chances
    scale: float

    @classmethod
    def of(cls, kept: Sequence[Kept], chances: Chances) -> "_Drawn | None":
        """None where chance kept nothing of what was left to it: then nothing is known of those."""
        drawn = [each for each in kept if each.weight > 1]
        if chances.connections and not drawn:
            return None
        weight = math.fsum(each.weight for each in drawn)
        scale = chances.connections / weight if drawn and chances.is_all else 1.0
        return cls(drawn, [each for each in kept if each.weight <= 1], chances, scale)

    def sum(self, figure: int) -> float:
        chance = math.fsum(each.weight * each.sums[figure] for each in self.kept)
        return math.fsum(each.weight * each.sums[figure] for each in self.certain) + self.scale * chance

    def bounded(self, value: float, rest: Sequence[float], shares: Sequence[float], whole: float) -> Estimate:
        """`rest` are the residuals of what chance kept, `shares` what each is of the whole."""
        if not self.chances.connections:
            return Estimate(value, value, value)
        if len(self.kept) < DRAWS_AT_LEAST:
            return Estimate(value)
        weights = [each.weight for each in self.kept]
        if self.chances.is_all:
            of_all = math.fsum(weights)
            mean = math.fsum(weight * each for weight, each in zip(weights, rest, strict=True)) / of_all
            rest, shares = [each - mean for each in rest], [weight / of_all for weight in weights]
        left = [1 - share if share < 1 else 1.0 for share in shares] or [1.0] * len(rest)
        terms = [w * (w - 1) * (each / of) ** 2 for w, each, of in zip(weights, rest, left, strict=True)]
        half = student95(_freedom(terms)) * self.scale * math.sqrt(math.fsum(terms)) / whole
        return Estimate(value, value - half, value + half)


def _freedom(terms: Sequence[float]) -> float:
    """Degrees of freedom of a variance, by the kurtosis of its terms (Satterthwaite, Biometrics 2, 1946).

    Traffic is heavy-tailed: a variance of few connections is itself uncertain.
    """
    count, squares = len(terms), math.fsum(term * term for term in terms)
    kurtosis = count * squares / math.fsum(terms) ** 2 if squares > 0 else 3.0
    return min(count - 1, max(4.0, 2 * count / (kurtosis - 1) if kurtosis > 1 else count - 1))
