"""Quantiles and shares of samples that have weights and come in clusters.

A quantile is asked in three steps: the values, how the samples up to them fall on clusters, and the values at the ends
of the intervals, which depend on that. A share takes one step.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from quiclens_schema.store import Store

from quiclens_questions.failure import CannotRun
from quiclens_questions.report import ReportQuestion
from quiclens_questions.statements import ask
from quiclens_questions.statistics.clusters import Clusters, levels, samples_needed, share
from quiclens_questions.statistics.estimates import Estimate

SHARES_AT_MOST = 1_000_000
QUANTILES_AT_MOST = 20_000
_PARAMETER_BYTES = 100_000
"""Of a statement's largest parameter, about: ClickHouse and `serve` take 128 KiB (http_max_field_value_size)."""
_NUMBER_BYTES = 22  # of a number with what parts it from the next
_MEDIAN = 0.5
_NO_LEVEL = -1.0

Row = dict[str, Any]
Key = tuple[str | None, ...]
Of = TypeVar("Of")


@dataclass(frozen=True)
class Sampled:
    """Of one group: its samples, for how many they stand, the clusters that they come from, and an estimate of each
    quantile; none where there are too few samples for it."""

    samples: int
    weight: float
    clusters: int
    quantiles: Sequence[Estimate]


@dataclass(frozen=True)
class Shared:
    """Of one group: what was counted and how much of it counts, for how many they stand, the clusters that they come
    from, and the weighted share."""

    samples: int
    hits: int
    weight: float
    clusters: int
    share: Estimate


@dataclass(frozen=True)
class Groups(Generic[Of]):
    """Groups by their key, most weight first, and how many there are, with those that are left out."""

    by_key: Mapping[Key, Of]
    all: int
    samples: int


def sampled(
    store: Store,
    samples: str,
    asked: ReportQuestion,
    by: Sequence[str],
    quantiles: Sequence[float],
    parameters: Row,
    most: int = QUANTILES_AT_MOST,
    only: Sequence[int] = (),
) -> Groups[Sampled]:
    """`samples` names a question whose rows are (key, sample_cluster, value, weight, number). Of all groups or `only`
    those of these hashes (`key_id`) the ones with most weight."""
    given = {**parameters, "limit": most}
    wanted = list(dict.fromkeys([_MEDIAN, *quantiles]))
    groups = _cuts(store, samples, asked, by, given, only, [wanted])
    found: dict[int, list[float | None]] = {}
    clusters: dict[int, int] = {}
    for some in _some(groups, max(2 * len(quantiles), len(wanted))):
        bound = {"keys": [group["key"] for group in some], "cuts": [group["cuts"] for group in some]}
        told = ask(store, "clustered_sums", {**given, **bound}, asked.where, by, samples, len(wanted)).dicts()
        sums = {row["key_id"]: row for row in told}
        ends = []
        for group in some:
            row = sums[group["key_id"]]
            clusters[group["key_id"]] = row["clusters"]
            ends.append([_NO_LEVEL if each is None else each for each in _ends(row, quantiles, wanted)])
        for row in _cuts(store, samples, asked, by, given, [group["key_id"] for group in some], ends):
            found[row["key_id"]] = row["cuts"]
    by_key = {
        tuple(group["key"]): Sampled(
            int(group["samples"]),
            float(group["weight"]),
            clusters[group["key_id"]],
            list(_estimates(group, found[group["key_id"]], quantiles, wanted)),
        )
        for group in groups
    }
    first = groups[0] if groups else {"groups": 0, "all_samples": 0}
    return Groups(by_key, int(first["groups"]), int(first["all_samples"]))


def shares(store: Store, samples: str, asked: ReportQuestion, by: Sequence[str], parameters: Row) -> Groups[Shared]:
    """`samples` names a question whose rows are (key, sample_cluster, weight, number, hits). More groups than can be
    held are an error, never a part of them."""
    given = {**parameters, "limit": SHARES_AT_MOST}
    rows = ask(store, "clustered_shares", given, asked.where, by, samples).dicts()
    if len(rows) >= SHARES_AT_MOST:
        raise CannotRun("too_many_groups", "too many groups at once", "fewer columns in --by, or less with --where")
    by_key = {
        tuple(row["key"]): Shared(
            int(row["samples"]), int(row["counted"]), row["weight"], row["clusters"], share(_clusters(row))
        )
        for row in rows
    }
    return Groups(by_key, len(by_key), sum(each.samples for each in by_key.values()))


def points(
    store: Store, samples: str, asked: ReportQuestion, by: Sequence[str], quantiles: Sequence[float], parameters: Row
) -> dict[Key, Sequence[float | None]]:
    """The values of quantiles alone, without intervals."""
    rows = _cuts(store, samples, asked, by, {**parameters, "limit": QUANTILES_AT_MOST}, [], [list(quantiles)])
    return {tuple(row["key"]): row["cuts"] for row in rows}


def _estimates(
    group: Row, ends: Sequence[float | None], quantiles: Sequence[float], wanted: Sequence[float]
) -> Iterator[Estimate]:
    for place, quantile in enumerate(quantiles):
        is_enough = group["samples"] >= samples_needed(quantile)
        value = group["cuts"][wanted.index(quantile)]
        yield Estimate(value, *ends[2 * place : 2 * place + 2]) if is_enough else Estimate(None)


def _cuts(
    store: Store,
    samples: str,
    asked: ReportQuestion,
    by: Sequence[str],
    given: Row,
    keys: Sequence[int],
    wanted: Sequence[Sequence[float]],
) -> list[Row]:
    bound = {**given, "keys": list(keys), "levels": [list(each) for each in wanted]}
    return ask(store, "clustered_cuts", bound, asked.where, by, samples).dicts()


def _ends(row: Mapping[str, Any], quantiles: Sequence[float], wanted: Sequence[float]) -> Iterator[float | None]:
    median = _clusters(row, wanted.index(_MEDIAN))
    for quantile in quantiles:
        yield from levels(quantile, _clusters(row, wanted.index(quantile)), median)


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


def _some(groups: Sequence[Row], numbers: int) -> Iterator[list[Row]]:
    """The groups in parts, of each of which the keys, and so many numbers a group, are small enough for parameters."""
    part: list[Row] = []
    size = 0
    for group in groups:
        own = max(numbers * _NUMBER_BYTES, len(str(group["key"]).encode()) + _NUMBER_BYTES)
        if part and size + own > _PARAMETER_BYTES:
            yield part
            part, size = [], 0
        part.append(group)
        size += own
    if part:
        yield part
