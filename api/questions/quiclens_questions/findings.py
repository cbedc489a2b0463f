"""Which conditions are more common among some requests than among all: counts in, ranked findings out. Pure.

A condition's requests are compared with all others of which the attribute is known: what only a trace tells is
compared among traced requests, else it would say no more than which are traced. Requests of one user (else connection)
are alike, so counts are taken as those of fewer independent requests: all are divided by the design effect (Rao and
Scott, Biometrics 48, 1992). The chance of so many by accident is that of Fisher's exact test, the tail of a
hypergeometric distribution. A pair must be above all others and above the rest of either of its conditions: its chance
is the largest of the three (Berger, Technometrics 24, 1982). Of all conditions that have requests enough, those are
found that Benjamini and Hochberg's procedure (JRSS B 57, 1995) leaves at a false discovery rate of 5 %, half of it
each for single conditions and for pairs; nothing is left out after it.

What is found is put in order by how many more are chosen than should be, at least, times the share of the chosen: a
description that is both wide and sharp comes first. One that stands out only through a narrower one, which holds for
some of its requests, follows all others and names it; edges of one measured attribute are one finding.
"""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from quiclens_questions.statistics.distributions import hypergeometric_tail

FALSE_DISCOVERIES = 0.05
FEWEST = 20  # requests that a condition must hold for
SURE = 3.0  # standard errors by which an effect must be above another to be ranked before it


@dataclass(frozen=True)
class Population:
    """How many requests there are, how many of them are asked about, and the design effect of their connections."""

    requests: int
    chosen: int
    effect: float

    @property
    def share(self) -> float:
        return self.chosen / self.requests


@dataclass(frozen=True)
class Group:
    """The requests for which one condition holds, or two: `names` are those of the conditions. `known`: of how many
    requests it can be said, and how many of those are chosen; of all, where it is None."""

    names: tuple[str, ...]
    requests: int
    chosen: int
    known: tuple[int, int] | None = None
    scales: tuple[str, ...] = ()
    """Of each condition, that of which it is an edge, such as `packets_lost>=`; empty for a value. Of two edges of one
    scale the one with fewer requests is within the other."""
    is_symptom: bool = False
    """It tells how requests are slow, not which they are: it explains nothing, and nothing explains it."""

    @property
    def subject(self) -> tuple[str, ...]:
        """What it is about: its conditions, but those that are edges by their scales."""
        scales = self.scales or ("",) * len(self.names)
        return tuple(sorted(scale or name for scale, name in zip(scales, self.names, strict=True)))

    def among(self, whole: Population) -> Population:
        """What it is compared with."""
        return whole if self.known is None else Population(*self.known, whole.effect)


@dataclass(frozen=True)
class Finding:
    """A group that has more of the chosen than it should: by `excess`, with bounds of three standard errors."""

    group: Group
    share: float
    share_elsewhere: float
    excess: float
    excess_low: float
    excess_high: float
    chance: float
    through: tuple[str, ...] = ()
    also: tuple[str, ...] = ()  # conditions that hold for the very same requests as those of `group`
    nested: tuple["Finding", ...] = ()  # the same about other edges of a measured attribute

    @property
    def weight(self) -> float:
        return self.excess_low * self.share


def design_effect(requests: float, chosen: float, sum_ss: float, sum_sn: float, sum_nn: float) -> float:
    """How much more chosen requests cluster on connections than independent ones would; never below 1."""
    share = chosen / requests if requests else 0.0
    if not 0 < share < 1:
        return 1.0
    squares = sum_ss - 2 * share * sum_sn + share * share * sum_nn
    return max(1.0, squares / (requests * share * (1 - share)))


def found(singles: Sequence[Group], pairs: Sequence[Group], tested_pairs: int, whole: Population) -> list[Finding]:
    """What stands out, the surest largest effect first. `tested_pairs` counts those too that were not worth counting.

    A pair is there only where both its conditions matter. What stands out only through a narrower finding is named
    after all others, with that in `through`. Of `pairs`, those of two conditions that hold together whenever one does
    say which is within which.
    """
    known = {group.names[0]: group for group in singles}
    ones = standing_out(singles, whole)
    together = [_pair(group, known, whole) for group in pairs if group.requests >= FEWEST]
    real = _passing(together, tested_pairs)
    rank = {name: place for place, name in enumerate(known)}
    order = _order(rank)
    ranked = sorted([*real, *ones], key=order)
    within = _within(pairs, known, {name for each in ranked for name in each.group.names})
    judged = sorted((_through(each, ranked, within, whole) for each in ranked), key=order)
    return _nested(_merged(judged, _same(pairs, known, rank)))


def standing_out(singles: Sequence[Group], whole: Population) -> list[Finding]:
    """Single conditions that are found, the least likely by accident first."""
    return _passing([_finding(group, whole) for group in singles if group.requests >= FEWEST], len(singles))


def _order(rank: Mapping[str, int]) -> Callable[[Finding], tuple[bool, float, list[int]]]:
    return lambda each: (bool(each.through), -each.weight, [rank[name] for name in each.group.names])


def _within(pairs: Sequence[Group], known: Mapping[str, Group], asked: Set[str]) -> set[tuple[str, str]]:
    """(narrower, wider): conditions of which the second holds whenever the first does, and not only then."""
    found = set()
    for pair in pairs:
        for narrow, wide in (pair.names, pair.names[::-1]):
            if known[narrow].requests == pair.requests < known[wide].requests:
                found.add((narrow, wide))
    edges = [known[name] for name in asked if known[name].scales]
    for one in edges:
        found |= {
            (one.names[0], other.names[0])
            for other in edges
            if one.scales == other.scales and one.requests < other.requests
        }
    return found


def _same(pairs: Sequence[Group], known: dict[str, Group], rank: dict[str, int]) -> dict[str, str]:
    """Conditions that hold for the very same requests, which have both whenever they have one: each other one's name,
    and that of the first in rank among them."""
    first: dict[str, str] = {}
    for pair in pairs:
        if all(known[name].requests == pair.requests for name in pair.names):
            names = {first.get(name, name) for name in pair.names}
            least = min(names, key=lambda name: rank[name])
            first |= {name: least for name, to in first.items() if to in names}
            first |= {name: least for name in {*names, *pair.names} if name != least}
    return first


def _merged(ranked: list[Finding], first: dict[str, str]) -> list[Finding]:
    """The same finding once: what else it could be called is in `also`."""
    kept: dict[tuple[str, ...], Finding] = {}
    for each in ranked:
        names = tuple(sorted({first.get(name, name) for name in each.group.names}))
        if names in kept:
            before = kept[names]
            more = [name for name in each.group.names if name not in (*before.group.names, *before.also)]
            kept[names] = replace(before, also=(*before.also, *more))
        else:
            kept[names] = each
    return list(kept.values())


def _finding(group: Group, of_all: Population) -> Finding:
    whole = group.among(of_all)
    share, elsewhere = (
        group.chosen / group.requests,
        _share(whole.chosen - group.chosen, whole.requests - group.requests),
    )
    excess, error = _excess(group, elsewhere, whole)
    chance = _chance(group, whole.requests, whole.chosen, whole.effect)
    return Finding(group, share, elsewhere, excess, excess - SURE * error, excess + SURE * error, chance)


def _pair(group: Group, known: Mapping[str, Group], whole: Population) -> Finding:
    """A pair, whose chance is the largest of those against all others and against the rest of either condition."""
    found = _finding(group, whole)
    against = [_chance(group, known[name].requests, known[name].chosen, whole.effect) for name in group.names]
    return replace(found, chance=max(found.chance, *against))


def _chance(group: Group, requests: int, chosen: int, effect: float) -> float:
    """That so many of a group are chosen by accident, of so many requests of which it is a part; 1 where it is all."""
    if group.requests >= requests:
        return 1.0
    return hypergeometric_tail(*(each / effect for each in (group.chosen, group.requests, chosen, requests)))


def _excess(group: Group, elsewhere: float, whole: Population) -> tuple[float, float]:
    share, others = group.chosen / group.requests, max(1, whole.requests - group.requests)
    variance = group.requests * share * (1 - share) + group.requests**2 * elsewhere * (1 - elsewhere) / others
    return group.chosen - group.requests * elsewhere, math.sqrt(whole.effect * variance)


def _passing(findings: list[Finding], tested: int) -> list[Finding]:
    """Benjamini and Hochberg: the longest beginning of the sorted chances that stays below the line."""
    ordered = sorted(findings, key=lambda each: each.chance)
    line = FALSE_DISCOVERIES / 2 / max(1, tested)
    kept = max((place for place, each in enumerate(ordered, 1) if each.chance <= place * line), default=0)
    return ordered[:kept]


def _through(wide: Finding, ranked: Sequence[Finding], within: Set[tuple[str, str]], whole: Population) -> Finding:
    """The finding, with the first narrower one without whose requests it would not stand out."""
    if wide.group.is_symptom:
        return wide
    for narrow in ranked:
        if (
            not narrow.group.is_symptom
            and narrow.group.requests < wide.group.requests
            and _is_within(narrow.group, wide.group, within)
        ):
            rest = replace(
                wide.group,
                requests=wide.group.requests - narrow.group.requests,
                chosen=wide.group.chosen - narrow.group.chosen,
            )
            if _finding(rest, whole).chance > FALSE_DISCOVERIES:
                return replace(wide, through=narrow.group.names)
    return wide


def _is_within(narrow: Group, wide: Group, within: Set[tuple[str, str]]) -> bool:
    """Whether each condition of the wide one follows from one of the narrow one's."""
    return all(any(one == other or (one, other) in within for one in narrow.names) for other in wide.names)


def _nested(findings: Sequence[Finding]) -> list[Finding]:
    """One finding about each scale, the first: others are within it."""
    kept: dict[tuple[str, ...], Finding] = {}
    for each in findings:
        subject = each.group.subject
        if subject in kept:
            kept[subject] = replace(kept[subject], nested=(*kept[subject].nested, each))
        else:
            kept[subject] = each
    return list(kept.values())


def _share(chosen: int, requests: int) -> float:
    return chosen / requests if requests > 0 else 0.0
