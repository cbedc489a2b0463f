"""Table of three causes at once: are their savings in the right order?"""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from quiclens_lab.truth.quantiles import share_of
from quiclens_lab.truth.samples import Judged

LEAST_DIFFERENCE = 0.2  # of the larger of two savings


@dataclass(frozen=True)
class Ordering:
    """One request with three causes: what each saved in truth and by quiclens' word."""

    judged: Judged
    true_us: Mapping[str, int]
    predicted_us: Mapping[str, int]

    @property
    def is_right(self) -> bool:
        """Equal predictions put nothing in order."""
        ranked = sorted(self.true_us, key=self.true_us.__getitem__, reverse=True)
        return all(self.predicted_us[first] > self.predicted_us[second] for first, second in itertools.pairwise(ranked))


def orderings(judged: Iterable[Judged]) -> tuple[list[Ordering], int]:
    """The requests whose three savings differ clearly, and how many there were in all."""
    groups: dict[tuple[str, int], list[Judged]] = {}
    for each in judged:
        if each.sample.group == "three":
            groups.setdefault((each.sample.scenario, each.sample.seed), []).append(each)
    found = [_ordering(group) for group in groups.values()]
    return [each for each in found if each is not None and _is_clear(each.true_us)], len(found)


def _ordering(group: list[Judged]) -> Ordering | None:
    (whole,) = (each for each in group if each.sample.variant == "with")
    row = whole.row
    others = {each.sample.cause: each.row for each in group if each.sample.variant == "without"}
    if row is None or not row.is_complete:
        return None
    true_us = {}
    for cause, other in others.items():
        if other is None or not other.is_complete:
            return None
        true_us[cause] = row.duration_us - other.duration_us
    return Ordering(whole, true_us, {cause: row.saves.get(cause, 0) for cause in true_us})


def _is_clear(true_us: Mapping[str, int]) -> bool:
    return all(
        abs(first - second) >= LEAST_DIFFERENCE * max(first, second) and max(first, second) > 0
        for first, second in itertools.combinations(true_us.values(), 2)
    )


def order_table(judged: Iterable[Judged]) -> dict[str, Any]:
    """Share in the right order, per combination and overall."""
    found, simulated = orderings(judged)
    combinations = {}
    for name in dict.fromkeys(each.judged.sample.scenario for each in found):
        own = [each for each in found if each.judged.sample.scenario == name]
        combinations[name] = {"kept": len(own), "share_right": share_of(sum(each.is_right for each in own), len(own))}
    return {
        "simulated": simulated,
        "kept": len(found),
        "share_right": share_of(sum(each.is_right for each in found), len(found)),
        "combinations": combinations,
    }
