"""Two groups of requests as they would be with the same mix: direct standardisation.

Groups differ in what they ask for: more of a slow carrier, longer responses. Requests are cut into strata by carrier,
path and size of response. Each request is weighed so that a stratum has the same share of both groups, the mean of its
own two; strata that one of them lacks are left out and counted (Rothman, Greenland and Lash, "Modern Epidemiology",
chapter 4). Where too few requests have a counterpart, strata are wider: without the path, then without the carrier.
What the groups were chosen by is no stratum. The weights are taken as known: intervals do not say what their own
chance adds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.clustered import Sampled, sampled
from quiclens_questions.report import ReportQuestion
from quiclens_questions.statements import ask, together

ATTRIBUTES = ("carrier", "path", "response_bytes")
CUTS = (ATTRIBUTES, ("carrier", "response_bytes"), ("response_bytes",))
"""As in queries/mix.sql."""
STRATA_AT_MOST = 1_500
FEWEST = 5  # requests of each group in a stratum
ENOUGH = 0.8  # of each group's requests have a counterpart
LEAST = 0.2

Row = dict[str, Any]


@dataclass(frozen=True)
class Mix:
    """Of one group, the weight of its requests in each stratum, and in all."""

    weights: Mapping[int, float]
    all_weight: float

    def covered(self, strata: Sequence[int]) -> float:
        """The share of the group that lies in these strata."""
        return sum(self.weights[each] for each in strata) / self.all_weight if self.all_weight else 0.0


@dataclass(frozen=True)
class SameMix:
    """What both groups are cut by, their strata in common, and the share of each group that lies in them."""

    by: tuple[str, ...]
    strata: tuple[int, ...]
    mixes: tuple[Mix, Mix]

    @property
    def covered(self) -> tuple[float, float]:
        first, second = (mix.covered(self.strata) for mix in self.mixes)
        return first, second

    def factors(self, mix: Mix) -> list[float]:
        """By which the weights of one group's requests are multiplied, by stratum."""
        sums = [sum(each.weights[stratum] for stratum in self.strata) for each in self.mixes]
        shares = [
            sum(each.weights[stratum] / whole for each, whole in zip(self.mixes, sums, strict=True)) / len(sums)
            for stratum in self.strata
        ]
        return [share / mix.weights[stratum] for share, stratum in zip(shares, self.strata, strict=True)]


def same_mix(store: Store, first: ReportQuestion, second: ReportQuestion) -> SameMix | None:
    """The finest cut of which both groups have enough in common; None where even the widest has not."""
    chosen_by = {
        name
        for condition in (*first.where.conditions, *second.where.conditions)
        if condition not in first.where.conditions or condition not in second.where.conditions
        for name in condition.columns
    }
    by = tuple(name for name in ATTRIBUTES if name not in chosen_by)
    mixes_of_cuts = zip(*together(lambda: _mixes(store, first, by), lambda: _mixes(store, second, by)), strict=True)
    found = None
    for cut, (one, other) in zip(CUTS, mixes_of_cuts, strict=True):
        names = tuple(name for name in cut if name in by)
        if names:
            found = SameMix(names, tuple(each for each in one.weights if each in other.weights), (one, other))
            if min(found.covered) >= ENOUGH:
                break
    return found if found and min(found.covered) >= LEAST else None


def standardised(
    store: Store, asked: ReportQuestion, mix: Mix, same: SameMix, quantiles: Sequence[float]
) -> Sampled | None:
    """Quantiles of one group with the mix of both; None without a request."""
    given = {**asked.window, **_cut(same.by), "strata": list(same.strata), "factors": same.factors(mix)}
    groups = sampled(store, "standardised_requests", asked, (), quantiles, given)
    return next(iter(groups.by_key.values()), None)


def _mixes(store: Store, asked: ReportQuestion, by: Sequence[str]) -> list[Mix]:
    """Of each cut, as far as it is by these."""
    given = {**asked.window, **_cut(by), "limit": STRATA_AT_MOST}
    weights: list[dict[int, float]] = [{} for _ in CUTS]
    wholes = [0.0] * len(CUTS)
    for row in ask(store, "mix", given, asked.where).dicts():
        wholes[row["cut"] - 1] = row["all_weight"]
        if row["requests"] >= FEWEST and row["weight"] > 0:
            weights[row["cut"] - 1][row["stratum"]] = row["weight"]
    return [Mix(*each) for each in zip(weights, wholes, strict=True)]


def _cut(names: Sequence[str]) -> Row:
    return {f"by_{name}": name in names for name in ATTRIBUTES}
