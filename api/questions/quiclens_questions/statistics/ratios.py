"""A share of a sum, such as of time, that comes in clusters, with its 95 % interval. Pure.

The share is a ratio of two sums over clusters; its variance is that of the residuals a - share · n, each divided by
what its cluster leaves to others, as in `clusters.py` (Cochran, "Sampling Techniques", 6.3; Bell and McCaffrey, Survey
Methodology 28, 2002), with Student's t of as many degrees of freedom as clusters of one size they are worth, less one.
"""

import math
from collections.abc import Sequence

from quiclens_questions.statistics.clusters import CLUSTERS_AT_LEAST
from quiclens_questions.statistics.distributions import student95
from quiclens_questions.statistics.estimates import Estimate


def share_of_sum(clusters: Sequence[tuple[float, float]]) -> Estimate:
    """Of each cluster the part that counts, and the whole; no interval with fewer than ten clusters."""
    whole = sum(n for _, n in clusters)
    if whole <= 0:
        return Estimate(None)
    share = sum(a for a, _ in clusters) / whole
    if len(clusters) < CLUSTERS_AT_LEAST:
        return Estimate(share)
    squares = sum((a - share * n) ** 2 / (1 - n / whole) for a, n in clusters if n < whole)
    worth = whole * whole / sum(n * n for _, n in clusters)
    half = student95(max(1.0, worth - 1)) * math.sqrt(squares) / whole
    return Estimate(share, max(0.0, share - half), min(1.0, share + half))
