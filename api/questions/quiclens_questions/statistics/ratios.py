"""A mean, or a share of a sum such as of time, of what comes in clusters, with its 95 % interval. Pure.

Both are a ratio of two sums over clusters; its variance is that of the residuals a - ratio · n, each divided by what
its cluster leaves to others, as in `clusters.py` (Cochran, "Sampling Techniques", 6.3; Bell and McCaffrey, Survey
Methodology 28, 2002), with Student's t of as many degrees of freedom as clusters of one size they are worth, less one.
"""

import math
from collections.abc import Sequence

from quiclens_questions.statistics.clusters import CLUSTERS_AT_LEAST, Clusters
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
    half = _half(whole, squares, sum(n * n for _, n in clusters))
    return Estimate(share, max(0.0, share - half), min(1.0, share + half))


def mean(clusters: Clusters) -> Estimate:
    """The weighted mean of values that are not below 0, whose sums stand in place of what counts; no interval with
    fewer than ten clusters."""
    if clusters.weight <= 0:
        return Estimate(None)
    found = clusters.hits / clusters.weight
    if clusters.clusters < CLUSTERS_AT_LEAST:
        return Estimate(found)
    squares = max(0.0, clusters.aa - 2 * found * clusters.an + found * found * clusters.nn)
    half = _half(clusters.weight, squares, clusters.cluster_squares)
    return Estimate(found, max(0.0, found - half), found + half)


def _half(whole: float, squares: float, cluster_squares: float) -> float:
    """Half the width of an interval, from the sum of n over clusters, of squared residuals, and of n²."""
    worth = whole * whole / cluster_squares
    return student95(max(1.0, worth - 1)) * math.sqrt(squares) / whole
