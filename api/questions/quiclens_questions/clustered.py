"""Quantiles and shares of samples that have weights and come in clusters.

One statement each. That of quantiles tells the values, how the samples up to them fall on clusters, which says where
the ends of an interval lie, and enough of the other values to read those ends off; where its samples say what a share
is of, it tells that too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from quiclens_schema.store import Store

from quiclens_questions.failure import CannotRun
from quiclens_questions.report import ReportQuestion
from quiclens_questions.statements import ask
from quiclens_questions.statistics.clusters import Clusters, Places, quantile_ends, samples_needed, share
from quiclens_questions.statistics.estimates import Estimate
from quiclens_questions.statistics.ratios import mean

GROUPS_HELD_AT_MOST = 1_000_000
QUANTILES_AT_MOST = 20_000
_MEDIAN = 0.5

Row = dict[str, Any]
Key = tuple[str | None, ...]
Of = TypeVar("Of")


@dataclass(frozen=True)
class Shared:
    """Of one group: what was counted and how much of it counts, for how many they stand, the clusters that they come
    from, and the weighted share."""

    samples: int
    hits: int
    weight: float
    clusters: int
    share: Estimate


NOTHING_SHARED = Shared(0, 0, 0.0, 0, Estimate(None))


@dataclass(frozen=True)
class Mean:
    """Of one group: how many values there are, the clusters that they come from, and their weighted mean."""

    samples: int
    clusters: int
    mean: Estimate


@dataclass(frozen=True)
class Sampled:
    """Of one group: its samples, for how many they stand, the clusters that they come from, and an estimate of each
    quantile, none where there are too few samples for it; sums of whatever else the samples count, and the share that
    they say something of."""

    samples: int
    weight: float
    clusters: int
    quantiles: Sequence[Estimate]
    counts: Sequence[float] = ()
    shared: Shared | None = None


@dataclass(frozen=True)
class Groups(Generic[Of]):
    """Groups by their key, most weight (or most of what is counted first) first, and how many there are, their samples,
    and sums of whatever else those count, with the groups that are left out."""

    by_key: Mapping[Key, Of]
    all: int
    samples: int
    counts: Sequence[float] = ()


def too_many_groups() -> CannotRun:
    """Of more groups than can be held, none is told."""
    return CannotRun("too_many_groups", "too many groups at once", "fewer columns in --by, or less with --where")


def sampled(
    store: Store,
    samples: str,
    asked: ReportQuestion,
    by: Sequence[str],
    quantiles: Sequence[float],
    parameters: Row,
    most: int | None = None,
) -> Groups[Sampled]:
    """`samples` names a question whose rows are (key, sample_cluster, value, weight, number), and may have `counts`,
    and (counted_weight, counted, hits) for a share. The first groups, `most` of them; without that all, and more than
    `QUANTILES_AT_MOST` are an error."""
    wanted = list(dict.fromkeys([_MEDIAN, *quantiles]))
    given = {**parameters, "limit": most or QUANTILES_AT_MOST, "levels": wanted}
    groups = ask(store, "clustered_quantiles", given, asked.where, by, samples, len(wanted)).dicts()
    by_key = {
        tuple(group["key"]): Sampled(
            int(group["samples"]),
            float(group["weight"]),
            int(group["clusters"]),
            list(_estimates(group, quantiles, wanted)),
            group.get("counts", ()),
            _shared(group["share_sums"], group["share_clusters"]) if "share_sums" in group else None,
        )
        for group in groups
    }
    first: Row = groups[0] if groups else {"groups": 0, "all_samples": 0}
    if most is None and first["groups"] > QUANTILES_AT_MOST:
        raise too_many_groups()
    return Groups(by_key, int(first["groups"]), int(first["all_samples"]), first.get("all_counts", ()))


def shares(store: Store, samples: str, asked: ReportQuestion, by: Sequence[str], parameters: Row) -> Groups[Shared]:
    """`samples` names a question whose rows are (key, sample_cluster, weight, number, hits). More groups than can be
    held are an error, never a part of them."""
    rows = _sums(store, samples, asked, by, parameters)
    by_key = {
        tuple(row["key"]): Shared(
            int(row["samples"]),
            int(row["counted"]),
            row["weight"],
            row["clusters"],
            share(_clusters(row)),
        )
        for row in rows
    }
    return Groups(by_key, len(by_key), sum(each.samples for each in by_key.values()))


def means(store: Store, samples: str, asked: ReportQuestion, by: Sequence[str], parameters: Row) -> Groups[Mean]:
    """`samples` names a question as that of `shares` does, whose `hits` are values to take the mean of."""
    rows = _sums(store, samples, asked, by, parameters)
    by_key = {tuple(row["key"]): Mean(int(row["samples"]), row["clusters"], mean(_clusters(row))) for row in rows}
    return Groups(by_key, len(by_key), sum(each.samples for each in by_key.values()))


def _sums(store: Store, samples: str, asked: ReportQuestion, by: Sequence[str], parameters: Row) -> list[Row]:
    given = {**parameters, "limit": GROUPS_HELD_AT_MOST}
    rows = ask(store, "clustered_shares", given, asked.where, by, samples).dicts()
    if len(rows) >= GROUPS_HELD_AT_MOST:
        raise too_many_groups()
    return rows


def _estimates(group: Row, quantiles: Sequence[float], wanted: Sequence[float]) -> Iterator[Estimate]:
    if not group["clusters"]:
        yield from [Estimate(None)] * len(quantiles)
        return
    median = _clusters(group, wanted.index(_MEDIAN))
    known = Places.of(group["known_places"], group["known_values"])
    for quantile in quantiles:
        if group["samples"] < samples_needed(quantile):
            yield Estimate(None)
            continue
        cut = wanted.index(quantile)
        ends = quantile_ends(quantile, _clusters(group, cut), median)
        value = group["cuts"][cut]
        low, high = (None if each is None else known.value(each) for each in ends)
        # Among equal values the ends lie between them, and the value is one of them.
        yield Estimate(value, None if low is None else min(low, value), None if high is None else max(high, value))


def _shared(sums: Sequence[float], clusters: Sequence[float]) -> Shared:
    """Of `share_sums` and `share_clusters`, in the order in which the statement has them."""
    if not sums:  # of a group that has only counts
        return NOTHING_SHARED
    counted, counted_hits, weight, squares, hits, hit_squares = sums
    many, cluster_squares, aa, an, nn = clusters
    of = Clusters(int(many), weight, squares, cluster_squares, hits, hit_squares, aa, an, nn)
    return Shared(int(counted), int(counted_hits), weight, int(many), share(of))


def _clusters(row: Mapping[str, Any], cut: int | None = None) -> Clusters:
    names = ("hits", "hit_squares", "aa", "an")
    hits, hit_squares, aa, an = (row[name] if cut is None else row[name][cut] for name in names)
    return Clusters(
        row["clusters"],
        row["weight"],
        row["squares"],
        row["cluster_squares"],
        hits,
        hit_squares,
        aa,
        an,
        row["nn"],
    )
