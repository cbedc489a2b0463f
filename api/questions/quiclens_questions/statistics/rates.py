"""How many a second, with a 95 % interval that takes buckets of time as the clusters. Pure."""

import math
from dataclasses import dataclass

from quiclens_questions.statistics.distributions import student95
from quiclens_questions.statistics.estimates import Estimate

BUCKETS_AT_LEAST = 10


@dataclass(frozen=True)
class Counts:
    """How many came in a stretch of so many seconds, cut into buckets of one length but for the last: in all, the sum
    of squares of the buckets' numbers, and that of the last bucket."""

    number: float
    squares: float
    last: float
    seconds: float
    bucket_s: float


def buckets(seconds: float, bucket_s: float) -> int:
    """Into how many buckets a stretch is cut; the last may be short."""
    return max(1, math.ceil(seconds / bucket_s))


def rate(counts: Counts) -> Estimate:
    """The mean rate, 1/s. Its error is that of a ratio of sums over buckets, of numbers to lengths (Särndal et al.,
    "Model Assisted Survey Sampling", 5.6); there is no interval with fewer than `BUCKETS_AT_LEAST` of them."""
    value, many = counts.number / counts.seconds, buckets(counts.seconds, counts.bucket_s)
    if many < BUCKETS_AT_LEAST:
        return Estimate(value)
    length, last_length = counts.bucket_s, counts.seconds - counts.bucket_s * (many - 1)
    products = length * (counts.number - counts.last) + last_length * counts.last
    lengths = length * length * (many - 1) + last_length * last_length
    squares = max(0.0, counts.squares - 2 * value * products + value * value * lengths)
    half = student95(many - 1) * math.sqrt(squares * many / (many - 1)) / counts.seconds
    return Estimate(value, max(0.0, value - half), value + half)
