"""When a share became larger, and how far that is from chance. Pure.

A share of independent requests that has one value before a moment and a larger one after it is more likely than one
value all along by its gain, the logarithm of the ratio of likelihoods (Hinkley and Hinkley, Biometrika 57, 1970: a
change point of binomial variables). Requests are alike within clusters, so that gains are divided by the dispersion
(McCullagh, Annals of Statistics 11, 1983: quasi-likelihood). The interval of the moment has all moments whose gain is
within two of the largest: the 95 % likelihood interval (Edwards, "Likelihood", 1972).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from quiclens_questions.statistics.distributions import hypergeometric_tail

WITHIN = 2.0


@dataclass(frozen=True)
class Before:
    """Of requests before a moment and after it, how many there are and how many count."""

    hits: float
    of: float
    hits_after: float
    of_after: float

    @property
    def share(self) -> float:
        return self.hits / self.of if self.of else 0.0

    @property
    def share_after(self) -> float:
        return self.hits_after / self.of_after if self.of_after else 0.0

    @property
    def excess(self) -> float:
        """How many count after the moment beyond what the share before it leads one to expect."""
        return self.hits_after - self.of_after * self.share

    def gain(self, dispersion: float = 1.0) -> float:
        """0 where the share is not larger after the moment, or one side of it has no request."""
        if not self.of or not self.of_after or self.share_after <= self.share:
            return 0.0
        whole = (self.hits + self.hits_after) / (self.of + self.of_after)
        two = _likelihood(self.hits, self.of, self.share) + _likelihood(
            self.hits_after, self.of_after, self.share_after
        )
        one = _likelihood(self.hits + self.hits_after, self.of + self.of_after, whole)
        return max(0.0, two - one) / dispersion

    def chance_of_part(self, part: "Before", dispersion: float = 1.0) -> float:
        """That so many of those that count after the moment lie in this part by accident."""
        numbers = (part.hits_after, part.of_after, self.hits_after, self.of_after)
        return hypergeometric_tail(*(each / dispersion for each in numbers))

    def chance(self, dispersion: float = 1.0) -> float:
        """That so many count after the moment by accident: the tail of Fisher's exact test."""
        if not self.of_after:
            return 1.0
        hits, of = self.hits + self.hits_after, self.of + self.of_after
        return hypergeometric_tail(*(each / dispersion for each in (self.hits_after, self.of_after, hits, of)))


@dataclass(frozen=True)
class CountSeries:
    """Sums of stretches of time, one after another: of requests that count, of all of them, and of the squares of their
    weights. All are worth the effective sample size (Kish, "Survey Sampling", 11.7); with equal weights, their number.
    """

    hits: Sequence[float]
    of: Sequence[float]
    squares: Sequence[float]

    @classmethod
    def sum_of(cls, parts: "Sequence[CountSeries]", length: int) -> "CountSeries":
        """Of several series of the same stretches, so many."""

        def summed(lists: Sequence[Sequence[float]]) -> list[float]:
            return list(map(sum, zip(*lists, strict=True))) if lists else [0.0] * length

        return cls(
            *(
                summed(lists)
                for lists in (
                    [each.hits for each in parts],
                    [each.of for each in parts],
                    [each.squares for each in parts],
                )
            )
        )

    @property
    def worth(self) -> float:
        """Of how many independent requests one of weight 1 is worth."""
        squares = sum(self.squares)
        return sum(self.of) / squares if squares > 0 else 0.0

    def scaled(self) -> tuple[list[float], list[float]]:
        """How many count, and how many there are, as independent requests."""
        worth = self.worth
        return [each * worth for each in self.hits], [each * worth for each in self.of]

    def less(self, part: "CountSeries") -> "CountSeries":
        """The rest without a part of them."""
        both = ((self.hits, part.hits), (self.of, part.of), (self.squares, part.squares))
        return CountSeries(*([max(0.0, one - other) for one, other in zip(*each, strict=True)] for each in both))

    def at(self, place: int, worth: float | None = None) -> Before:
        """Those of the stretches before a place, and from there on."""
        worth = self.worth if worth is None else worth
        sums = (sum(self.hits[:place]), sum(self.of[:place]), sum(self.hits[place:]), sum(self.of[place:]))
        return Before(*(each * worth for each in sums))


def _likelihood(hits: float, of: float, share: float) -> float:
    """Logarithm of the likelihood of a share."""
    some = hits * math.log(share) if hits else 0.0
    return some + ((of - hits) * math.log1p(-share) if of > hits else 0.0)


@dataclass(frozen=True)
class ChangePoint:
    """The place in a series at which the share became larger, and the first and last that are about as likely."""

    place: int
    first: int
    last: int
    counts: Before


def change_point(hits: Sequence[float], of: Sequence[float], dispersion: float) -> ChangePoint | None:
    """Of a series by time, the change with the largest gain; None where there is none."""
    gains, every = [], []
    before_hits, before_of = sum(hits[:1]), sum(of[:1])
    all_hits, all_of = sum(hits), sum(of)
    for place in range(1, len(of)):
        each = Before(before_hits, before_of, all_hits - before_hits, all_of - before_of)
        gains.append(each.gain(dispersion))
        every.append(each)
        before_hits, before_of = before_hits + hits[place], before_of + of[place]
    if not gains or max(gains) <= 0:
        return None
    best = max(range(len(gains)), key=gains.__getitem__)
    likely = [place for place, gain in enumerate(gains) if gain >= gains[best] - WITHIN]
    return ChangePoint(best + 1, likely[0] + 1, likely[-1] + 1, every[best])


def dispersion_of(hits: Sequence[float], of: Sequence[float]) -> float:
    """Pearson's over stretches of time, never below 1: how much more a share varies than of independent requests."""
    share = sum(hits) / sum(of) if sum(of) else 0.0
    if not 0 < share < 1:
        return 1.0
    squares = [(k - n * share) ** 2 / (n * share * (1 - share)) for k, n in zip(hits, of, strict=True) if n]
    return max(1.0, sum(squares) / (len(squares) - 1)) if len(squares) > 1 else 1.0
