"""Confidence intervals, all deterministic: the same rows give the same bytes. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

Z95 = 1.959963984540054
TAIL = 0.025
BUCKET_RATIO = 1.02  # schema/catalogue/summaries.toml, connections.rtt_histogram


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; an end is None where there is too little data to bound it."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Spread:
    """How unevenly samples at or below a bound fall on connections: sums over connections of a², a·n and n²."""

    sum_aa: float
    sum_an: float
    sum_nn: float


def wilson(hits: float, total: float) -> Estimate:
    """A share with Wilson's score interval (JASA 22, 1927), which stays right near 0 and 1."""
    if total == 0:
        return Estimate(None)
    share, z2 = hits / total, Z95 * Z95
    middle = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = Z95 / (1 + z2 / total) * math.sqrt(share * (1 - share) / total + z2 / (4 * total * total))
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half))


@dataclass(frozen=True)
class Ranks:
    """Places in the sorted samples, from 1: of a quantile, and of the two that bound it with 95 % confidence."""

    at: int
    low: int | None
    high: int | None


def needed(quantile: float) -> int:
    """How many samples a quantile takes at least: one of them must be expected beyond it, on either side."""
    return math.ceil(round(1 / min(quantile, 1 - quantile), 6))


@cache
def ranks(samples: int, quantile: float) -> Ranks | None:
    """The exact, distribution-free interval (David and Nagaraja, "Order Statistics", 7.1), None below `needed` samples.

    How many of n independent samples lie below a quantile is binomial; an end is None where even the least or the
    largest sample does not bound it.
    """
    if samples < needed(quantile):
        return None
    spread = 10 * math.sqrt(samples * quantile * (1 - quantile)) + 10
    first, last = (round(samples * quantile + side * spread) for side in (-1, 1))
    first, last = max(0, first), min(samples, last)
    chance, below = _binomial(samples, first, quantile), 0.0  # of exactly `count`, and of at most as many
    low: int | None = None
    high: int | None = None
    for count in range(first, last + 1):
        below += chance
        if below <= TAIL and count < samples:
            low = count + 1
        if below >= 1 - TAIL and high is None and count < samples:
            high = count + 1
        chance *= (samples - count) / (count + 1) * quantile / (1 - quantile)
    return Ranks(min(max(math.ceil(round(quantile * samples, 6)), 1), samples), low, high)


def _binomial(samples: int, count: int, share: float) -> float:
    ways = math.lgamma(samples + 1) - math.lgamma(count + 1) - math.lgamma(samples - count + 1)
    return math.exp(ways + count * math.log(share) + (samples - count) * math.log1p(-share))


def bucket_middle_us(bucket: int) -> float:
    """The geometric middle of bucket b, which covers [1.02^b, 1.02^(b+1)) us."""
    return float(BUCKET_RATIO ** (bucket + 0.5))


def quantile_bucket(histogram: Mapping[int, int], quantile: float) -> int | None:
    """The bucket in which a quantile lies, None for an empty histogram."""
    total = sum(histogram.values())
    if total == 0:
        return None
    wanted = min(max(math.ceil(quantile * total), 1), total)
    seen = 0
    for bucket in sorted(histogram):
        seen += histogram[bucket]
        if seen >= wanted:
            return bucket
    raise AssertionError("a histogram ends at its total")


def clustered_quantile(
    histogram: Mapping[int, int], quantile: float, connections: int, spread: Spread | None
) -> Estimate:
    """A quantile of samples that come in clusters, with Woodruff's interval (JASA 47, 1952).

    The share of samples at or below the quantile is a ratio of sums over connections; its error, with connections as
    the draws, gives two other quantiles, which are the interval. With one connection there is none.
    """
    bucket = quantile_bucket(histogram, quantile)
    if bucket is None:
        return Estimate(None)
    value, total = bucket_middle_us(bucket), sum(histogram.values())
    if connections < 2 or spread is None:
        return Estimate(value)
    share = sum(count for at, count in histogram.items() if at <= bucket) / total
    squares = max(0.0, spread.sum_aa - 2 * share * spread.sum_an + share * share * spread.sum_nn)
    error = Z95 * math.sqrt(squares * connections / (connections - 1)) / total
    # The share jumps within one bucket, so never less than what independent samples would give.
    error = max(error, Z95 * math.sqrt(quantile * (1 - quantile) / total))
    low, high = (quantile_bucket(histogram, at) if 0 < at < 1 else None for at in (quantile - error, quantile + error))
    return Estimate(
        value,
        None if low is None else bucket_middle_us(low),
        None if high is None else bucket_middle_us(high),
    )


def rounded(values: Sequence[float | None], digits: int | None = None) -> list[float | int | None]:
    """Whole numbers, or `digits` decimals: an interval's last bits say nothing."""
    return [None if value is None else round(value, digits) for value in values]


def binomial_tail(hits: float, draws: float, share: float) -> float:
    """The chance of at least so many hits, which need not be whole: the regularized incomplete beta function
    I_share(hits, draws - hits + 1), DLMF 8.17.5."""
    if hits <= 0:
        return 1.0
    if hits > draws or share <= 0:
        return 0.0
    return incomplete_beta(hits, draws - hits + 1, share) if share < 1 else 1.0


def incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b) by Lentz's method on the continued fraction of DLMF 8.17.22."""
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    log_front = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    tiny, c, d = 1e-300, 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    fraction = d
    for m in range(1, 10_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 + term * d, 1 + term / c
            d, c = 1 / (d if abs(d) > tiny else tiny), c if abs(c) > tiny else tiny
            fraction *= d * c
        if abs(d * c - 1) < 1e-12:
            break
    return math.exp(log_front) * fraction / a
