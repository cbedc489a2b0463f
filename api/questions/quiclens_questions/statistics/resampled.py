"""Differences of two groups of requests, by resampling the connections that they come from. Pure and deterministic.

Requests of one connection are alike, so connections are drawn again, with replacement (Davison and Hinkley, "Bootstrap
Methods and their Application", 3.8: the cluster bootstrap). Where each connection of one group has its counterpart in
the other, the two are drawn together. The standard error of a difference is that of its resamples, times
sqrt(n / (n - 1)) for n connections; a difference divided by it is judged as Student's t with n - 1 degrees of freedom.
A quantile of which too few connections lie beyond is told, and not judged: resamples know too little of a tail.
Of all figures that are tried those are sure which Holm's procedure (Scandinavian Journal of Statistics 6, 1979) leaves:
with nothing changed, one comparison in a hundred has any that is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from quiclens_questions.statistics.clusters import needed
from quiclens_questions.statistics.distributions import student95, student_tails

RESAMPLES = 1_000
FEWEST = 8  # connections of each group
LEVEL = 0.01
_SEED = 9000
_AT_ONCE = 50  # resamples whose draws are held

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ClusteredSums:
    """Requests of so many connections: of each request its connection's number, its duration in us, and what else is
    told of it in us, a column each."""

    clusters: int
    cluster: NDArray[np.int64]
    duration_us: Floats
    columns: Floats

    @classmethod
    def of(cls, rows: Sequence[tuple[int, float, Sequence[float]]], clusters: int, width: int) -> "ClusteredSums":
        return cls(
            clusters,
            np.array([cluster for cluster, _, _ in rows], dtype=np.int64),
            np.array([duration for _, duration, _ in rows], dtype=np.float64),
            np.array([columns for _, _, columns in rows], dtype=np.float64).reshape(len(rows), width),
        )

    @cached_property
    def _totals(self) -> tuple[Floats, Floats]:
        """Of each connection its sums, and how many requests it has."""
        sums = np.zeros((self.clusters, self.columns.shape[1] + 1))
        np.add.at(sums, self.cluster, np.column_stack([self.duration_us, self.columns]))
        return sums, np.bincount(self.cluster, minlength=self.clusters).astype(np.float64)

    @cached_property
    def _ordered(self) -> tuple[Floats, NDArray[np.int64]]:
        """Durations from the shortest on, and their connections."""
        order = np.argsort(self.duration_us, kind="stable")
        return self.duration_us[order], self.cluster[order]

    def figures(self, weights: Floats, levels: Sequence[float]) -> Floats:
        """A row for each row of weights of the connections: means of duration and columns, then quantiles."""
        sums, counts = self._totals
        means = (weights @ sums) / np.maximum(weights @ counts, 1e-12)[:, None]
        ordered, of_cluster = self._ordered
        quantiles = np.empty((len(weights), len(levels)))
        for at, each in enumerate(weights):
            reached = np.cumsum(each[of_cluster])
            places = np.searchsorted(reached, np.array(levels) * reached[-1], side="left")
            quantiles[at] = ordered[np.minimum(places, len(ordered) - 1)]
        return np.hstack([means, quantiles])


@dataclass(frozen=True)
class Changed:
    """One figure of both groups in us, the difference with its 95 % interval (none of too few connections), the chance
    of so large a difference by accident, and whether it is sure among all that were tried."""

    old_us: float
    new_us: float
    low_us: float | None
    high_us: float | None
    chance: float | None
    is_sure: bool

    @property
    def us(self) -> float:
        return self.new_us - self.old_us


def changes(old: ClusteredSums, new: ClusteredSums, is_paired: bool, levels: Sequence[float]) -> list[Changed]:
    """Of the mean duration, the mean of each column, and each quantile of the duration."""
    before, after = (each.figures(np.ones((1, each.clusters)), levels)[0] for each in (old, new))
    fewest = min(old.clusters, new.clusters)
    wanted = [*[FEWEST] * (len(before) - len(levels)), *[max(FEWEST, needed(level)) for level in levels]]
    judged = [at for at, least in enumerate(wanted) if fewest >= least]
    found = [
        Changed(float(one), float(other), None, None, None, False) for one, other in zip(before, after, strict=True)
    ]
    if not judged:
        return found
    errors = _errors(old, new, is_paired, levels) * (fewest / (fewest - 1)) ** 0.5
    reach = student95(fewest - 1) * errors
    chances = {at: _chance(found[at].us, float(errors[at]), fewest - 1) for at in judged}
    sure = _holm(chances)
    for at, chance in chances.items():
        ends = float(found[at].us - reach[at]), float(found[at].us + reach[at])
        found[at] = replace(found[at], low_us=ends[0], high_us=ends[1], chance=chance, is_sure=at in sure)
    return found


def _errors(old: ClusteredSums, new: ClusteredSums, is_paired: bool, levels: Sequence[float]) -> Floats:
    """Standard deviations of the differences of resamples."""
    random = np.random.default_rng(_SEED)
    found = []
    for _ in range(RESAMPLES // _AT_ONCE):
        weights = _drawn(random, old.clusters)
        others = weights if is_paired else _drawn(random, new.clusters)
        found.append(new.figures(others, levels) - old.figures(weights, levels))
    deviations: Floats = np.vstack(found).std(axis=0, ddof=1)
    return deviations


def _drawn(random: np.random.Generator, clusters: int) -> Floats:
    """How often each connection is drawn, a row for each of some resamples."""
    return random.multinomial(clusters, np.full(clusters, 1 / clusters), size=_AT_ONCE).astype(np.float64)


def _chance(difference: float, error: float, freedom: int) -> float:
    if error <= 0:
        return 1.0 if difference == 0 else 0.0
    return student_tails(abs(difference) / error, freedom)


def _holm(chances: Mapping[int, float]) -> frozenset[int]:
    """Those that are sure."""
    sure: set[int] = set()
    for rank, place in enumerate(sorted(chances, key=chances.__getitem__)):
        if chances[place] > LEVEL / (len(chances) - rank):
            break
        sure.add(place)
    return frozenset(sure)
