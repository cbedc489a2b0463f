"""Shares and quantiles of samples that have weights and come in clusters, with 95 % intervals. Pure.

Requests of one user are alike, so what is drawn is the user: the cluster is the user where known, else the connection.
A sample that stands for others, since only some were traced, has their number as its weight.

How many independent samples they are worth, the effective sample size, is what the clusters themselves show: the
variance of a weighted share over clusters against that of independent samples. A cluster's residual is divided by what
it leaves to others, since it pulled the share towards itself (Bell and McCaffrey, Survey Methodology 28, 2002). With
that number, the exact intervals for independent samples hold near 0 and 1 too (Korn and Graubard, Survey Methodology
24, 1998, who put the fractional number into the incomplete beta function as is done here). The variance of few clusters
is itself uncertain: Student's t has about as many degrees of freedom as clusters, allowing for how they differ in
weight (Kish, "Survey Sampling", 11.7), and for how few have samples on one side of the quantile.

The interval of a quantile is that of the share of samples up to it, read off in the samples (Woodruff, JASA 47, 1952).
Few clusters reach far into the tail, and those few show badly how alike samples are there. So the effective sample size
at a quantile is a geometric mean of what shows there, for a quarter, and of what the likeness at the median foretells,
by a Gaussian copula, for the rest; the degrees of freedom likewise. Simulations of populations that are alike by 0 to
0.8 chose the quarter: with a third, p99 of those most alike held too seldom. Equal values lie in their middle
(Ma, Genton and Parzen, Annals of the Institute of Statistical Mathematics 63, 2011), so that buckets of a histogram do
no harm.
`quiclens-lab planted` measures how often the intervals hold.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from quiclens_questions.statistics.distributions import (
    BEYOND,
    Z95,
    binomial_place,
    binomial_tail,
    likeness_at,
    student95,
)
from quiclens_questions.statistics.estimates import Estimate, wilson

CLUSTERS_AT_LEAST = 10
"""With fewer, nothing is known of how they differ."""
_ROUNDING = 1e-9
_EXPECTED_OUTSIDE = 1.0
"""Independent samples' worth of samples that a quantile must have beyond it, on either side."""


@dataclass(frozen=True)
class Clusters:
    """Sums over clusters of a share: n is the weight of all samples of a cluster, a of those that count.

    `aa`, `an` and `nn` are sums of a², a·n and n², each divided by 1 - n / weight: what a cluster leaves to others.
    """

    clusters: int
    weight: float
    squares: float  # of the samples' weights
    cluster_squares: float  # of n
    hits: float
    hit_squares: float  # of the weights of samples that count
    aa: float
    an: float
    nn: float

    @property
    def share(self) -> float:
        """Of sums that may differ in their last bits: all or nothing where they are as good as that."""
        part = self.hits / self.weight
        return 0.0 if part < _ROUNDING else 1.0 if part > 1 - _ROUNDING else part

    @property
    def independent(self) -> float:
        """How many samples of one weight they would be worth, for this share, if those of a cluster were not alike."""
        return self._worth(self.squares, self.hit_squares)

    @property
    def whole(self) -> float:
        """How many clusters of one weight they would be worth, for this share, if samples of each were the same."""
        return self._worth(self.nn, self.an)

    @property
    def even(self) -> float:
        """How many clusters of one weight they are worth, whatever is asked of them (Kish, "Survey Sampling", 11.7)."""
        return self.weight * self.weight / self.cluster_squares

    def _worth(self, squares: float, of_hits: float) -> float:
        """Of things that count or do not, with these sums of squared weights of all and of those that count."""
        part = self.share
        if not 0 < part < 1:
            return self.weight * self.weight / squares
        return part * (1 - part) * self.weight**2 / (of_hits * (1 - 2 * part) + part * part * squares)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of a variance over these clusters, at least 1."""
        beyond = max(0.0, self.nn - 2 * self.an + self.aa)
        one_side = min(
            self.hits**2 / self.aa if self.aa else self.even,
            (self.weight - self.hits) ** 2 / beyond if beyond else self.even,
        )
        return max(1.0, math.sqrt(self.even * min(self.even, 2 * one_side)) - 1)

    @property
    def size(self) -> float:
        """How many samples a cluster has, on average over samples, at least 1."""
        return max(1.0, self.independent / self.whole)


def effective(clusters: Clusters) -> float:
    """How many independent samples these are worth: never more than there are, 0 with too few clusters."""
    if clusters.clusters < CLUSTERS_AT_LEAST or clusters.weight <= 0:
        return 0.0
    return _shown(clusters) * _surely(clusters.freedom)


def share(clusters: Clusters) -> Estimate:
    """The weighted share of samples that count; its interval is Wilson's on the effective sample size."""
    if clusters.weight <= 0:
        return Estimate(None)
    worth = effective(clusters)
    if worth == 0:
        return Estimate(clusters.share)
    around = wilson(clusters.share * worth, worth)
    return Estimate(clusters.share, around.low, around.high)


def needed(quantile: float) -> int:
    """How many clusters a quantile takes at least: one of them must be expected beyond it, on either side."""
    return max(CLUSTERS_AT_LEAST, samples_needed(quantile))


def samples_needed(quantile: float) -> int:
    """How many samples a quantile takes at least to be worth telling."""
    return math.ceil(round(_EXPECTED_OUTSIDE / min(quantile, 1 - quantile), 6))


def quantile_ends(quantile: float, there: Clusters, median: Clusters) -> tuple[float | None, float | None]:
    """Which shares of the samples' weight lie up to the two ends of a quantile's interval; an end is None where no
    sample bounds it, both where there are too few clusters.

    `there` are sums of samples up to the quantile, `median` of samples up to the median.
    """
    if there.clusters < needed(quantile) or there.weight <= 0:
        return None, None
    worth = _meant(_shown(there), _foretold(quantile, there, median))
    worth *= _surely(_meant(there.freedom, median.freedom))
    least, most = places(worth, quantile)
    # Place r of `worth` sorted ones lies where r / (worth + 1) of all do.
    samples = there.weight**2 / there.squares
    return (
        None if least is None else _level(least, worth, samples),
        None if most is None else _level(most, worth, samples),
    )


def _level(place: float, worth: float, samples: float) -> float:
    return min(1.0, max(0.0, (place / (worth + 1) * (samples + 1) - 0.5) / samples))


@dataclass(frozen=True)
class Places:
    """Values, least first, each once, and where they lie: which share of the samples' weight is below their middle."""

    at: Sequence[float]
    values: Sequence[float]

    @classmethod
    def of(cls, at: Sequence[float], values: Sequence[float]) -> "Places":
        """Of samples in order of their values."""
        ends: dict[float, tuple[float, float]] = {}
        for place, value in zip(at, values, strict=True):
            ends[value] = (ends[value][0] if value in ends else place, place)
        return cls([(first + last) / 2 for first, last in ends.values()], list(ends))

    def value(self, level: float) -> float:
        """The value at a share of the weight: between two of them in proportion, beyond them all the last one."""
        after = bisect_left(self.at, level)
        if after == 0:
            return self.values[0]
        if after == len(self.at):
            return self.values[-1]
        part = (level - self.at[after - 1]) / (self.at[after] - self.at[after - 1])
        return self.values[after - 1] + part * (self.values[after] - self.values[after - 1])


def _shown(clusters: Clusters) -> float:
    """The effective sample size that the clusters show, before few clusters are allowed for."""
    part = clusters.share
    if not 0 < part < 1:
        return clusters.whole  # nothing shows how alike they are: as if wholly
    squares = max(0.0, clusters.aa - 2 * part * clusters.an + part * part * clusters.nn)
    variance = squares / clusters.weight**2
    return min(clusters.independent, part * (1 - part) / variance) if variance else clusters.independent


def _foretold(quantile: float, there: Clusters, median: Clusters) -> float:
    """The effective sample size at a quantile, from how alike samples of a cluster are at the median."""
    if median.size <= 1:
        return there.independent
    alike = (median.independent / _shown(median) - 1) / (median.size - 1)
    return there.independent / (1 + (there.size - 1) * likeness_at(quantile, min(0.999, max(0.0, alike))))


def _meant(there: float, median: float) -> float:
    return float(there**0.25 * median**0.75)


def _surely(freedom: float) -> float:
    return (Z95 / student95(freedom)) ** 2


def places(worth: float, quantile: float) -> tuple[float | None, float | None]:
    """Where among so many sorted independent samples, from 1, the two lie that bound a quantile with 95 % confidence.

    Between two samples the chance is interpolated by the incomplete beta function: whole ranks alone would hold the
    quantile more often than said, the more so the fewer lie beyond it. An end is None where no sample bounds it.
    """
    if worth < 1:
        return None, None
    has_low = binomial_tail(1, worth, quantile) >= 1 - BEYOND
    has_high = binomial_tail(worth, worth, quantile) <= BEYOND
    return (
        binomial_place(BEYOND, worth, quantile) if has_low else None,
        binomial_place(1 - BEYOND, worth, quantile) if has_high else None,
    )
