"""Quantiles of samples that come in clusters.

Asked in two steps, since the ranks of an interval depend on how the samples fall on their draws.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from quiclens_schema.store import Store

from quiclens_api.asking import ask
from quiclens_api.differences import Clusters, clustered_ranks
from quiclens_api.intervals import Estimate, Ranks, Spread
from quiclens_api.questions.asked import Asked

SAMPLES_GROUPS_AT_MOST = 20_000
_KEYS_AT_ONCE = 1_000  # their ranks travel as parameters

Row = dict[str, Any]
Key = tuple[str | None, ...]


@dataclass(frozen=True)
class Sampled:
    """Of one group: its samples, the draws that they come from, and a quantile of them each."""

    samples: int
    draws: int
    quantiles: Sequence[Estimate]


def sampled(
    store: Store, samples: str, asked: Asked, by: Sequence[str], quantiles: Sequence[float], parameters: Row
) -> dict[Key, Sampled]:
    """`samples` names a question whose rows are (key, draw, value)."""
    given = {**parameters, "limit": SAMPLES_GROUPS_AT_MOST}
    groups = ask(store, "clustered_spreads", {**given, "quantiles": list(quantiles)}, asked.where, by, samples).dicts()
    found = {group["key_text"]: _ranks(group, quantiles) for group in groups}
    cuts: dict[str, list[int | None]] = {}
    for keys in _some(list(found)):
        ranks = [[rank or 0 for each in found[key] for rank in _ends(each)] for key in keys]
        answer = ask(store, "clustered_cuts", {**given, "keys": keys, "ranks": ranks}, asked.where, by, samples)
        cuts |= {row["key_text"]: row["cuts"] for row in answer.dicts()}
    return {tuple(group["key"]): _sampled(group, cuts[group["key_text"]]) for group in groups}


def _ranks(group: Row, quantiles: Sequence[float]) -> list[Ranks | None]:
    return [
        clustered_ranks(group["samples"], quantile, _clusters(group, index)) for index, quantile in enumerate(quantiles)
    ]


def _clusters(group: Row, index: int) -> Clusters:
    spread = Spread(group["sum_aa"][index], group["sum_an"][index], group["sum_nn"])
    return Clusters(group["draws"], group["sum_a"][index], spread)


def _ends(ranks: Ranks | None) -> tuple[int | None, int | None, int | None]:
    return (ranks.at, ranks.low, ranks.high) if ranks else (None, None, None)


def _sampled(group: Row, cuts: Sequence[int | None]) -> Sampled:
    each = [Estimate(*cuts[at : at + 3]) for at in range(0, len(cuts), 3)]
    return Sampled(group["samples"], group["draws"], each)


def _some(keys: list[str]) -> Iterator[list[str]]:
    for at in range(0, len(keys), _KEYS_AT_ONCE):
        yield keys[at : at + _KEYS_AT_ONCE]
