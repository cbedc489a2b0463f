"""How the users of an experiment fell on its arms, and whether chance explains that (a sample ratio mismatch).

Where more users came to one arm than were meant to, something chose them, and the arms differ by that too: Fabijan et
al., "Diagnosing Sample Ratio Mismatch in Online Controlled Experiments", KDD 2019.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from quiclens_questions.documents import ReportWarning
from quiclens_questions.failure import usage
from quiclens_questions.statistics.distributions import chi_square_tail
from quiclens_questions.statistics.estimates import Estimate, wilson

MISMATCH_BELOW = 0.001
"""The chance below which a split is told as none of chance; by so many groups as there are (Bonferroni)."""
EXPECTED_AT_LEAST = 5
"""With fewer users expected in an arm, the distribution of the test is not that of chi-square."""
_CROSSED_AT_LEAST = 0.01
_LEAST = 1e-9
"""Of what a plan may name as a share, and its inverse the most."""
TOLD_AT_MOST = 20

Key = tuple[str | None, ...]


@dataclass(frozen=True)
class ArmUsers:
    """Of one arm of a group: its known users. `parts` and `crossed` count a user of several arms as a part of one in
    each: their sums over arms are how many users there are, and how many have requests of several arms."""

    users: int
    parts: float = 0.0
    crossed: float = 0.0


@dataclass(frozen=True)
class Planned:
    """Which share of the users each arm was meant to have; where nothing is said, all have the same."""

    shares: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> "Planned":
        """`quic=50,tcp=50`, in any numbers; their sum is the whole."""
        found: dict[str, float] = {}
        for part in text.split(",") if text else ():
            arm, sign, number = (each.strip() for each in part.rpartition("="))
            try:
                share = float(number)
            except ValueError:
                share = math.nan
            if not sign or not arm or not _LEAST <= share <= 1 / _LEAST or arm in found:
                raise usage(f"--split: {part!r} is no arm with its share", "for instance --split quic=50,tcp=50")
            found[arm] = share
        return cls(found)

    def weight(self, arm: str) -> float:
        """What the arm was meant to have, in the numbers that were said."""
        if not self.shares:
            return 1.0
        if arm not in self.shares:
            raise usage(f"--split says nothing of the arm {arm!r}", f"it names {', '.join(sorted(self.shares))}")
        return self.shares[arm]

    def chance(self, arms: Mapping[str, ArmUsers]) -> float | None:
        """That users fall so far from what was planned: Pearson's test; None of one arm, or of too few users."""
        whole = math.fsum(self.weight(arm) for arm in arms)
        users = sum(each.users for each in arms.values())
        expected = {arm: users * self.weight(arm) / whole for arm in arms}
        if len(arms) < 2 or min(expected.values()) < EXPECTED_AT_LEAST:
            return None
        distance = math.fsum((arms[arm].users - each) ** 2 / each for arm, each in expected.items())
        return chi_square_tail(distance, len(arms) - 1)

    def excess(self, arm: str, base: str, arms: Mapping[str, ArmUsers]) -> Estimate:
        """By what share the users of an arm, against those of the base, are more than planned."""
        of, to = arms[arm].users, arms[base].users
        if not of or not to:
            return Estimate(None)
        planned = self.weight(arm) / self.weight(base)
        return Estimate(*(None if each is None or each >= 1 else each / (1 - each) / planned - 1
                          for each in wilson(of, of + to).ends))  # fmt: skip


def warnings(groups: Mapping[Key, Mapping[str, ArmUsers]], planned: Planned) -> Sequence[ReportWarning]:
    """What is wrong with how users came to their arms, a sentence for each group."""
    found: list[ReportWarning] = []
    every = {*planned.shares, *(arm for met in groups.values() for arm in met)}
    for group, met in groups.items():
        arms = {arm: met.get(arm, ArmUsers(0)) for arm in every}  # one that nobody came to is missing most
        where = f"{', '.join('unknown' if each is None else each for each in group)}: " if group else ""
        sizes = ", ".join(f"{arm} has {each.users:,}" for arm, each in sorted(arms.items()))
        chance = planned.chance(arms)
        if chance is not None and chance < MISMATCH_BELOW / len(groups):
            plan = "the plan" if planned.shares else "arms that were meant to have the same"
            text = (
                f"{where}Of the users {sizes}. With {plan}, chance gives that {_told(chance)}. Something chose who "
                "came to which arm, and the arms differ by that too: find it before any figure is believed."
            )
            found.append({"kind": "sample_ratio_mismatch", "text": text})
        users = math.fsum(each.parts for each in arms.values())
        crossed = math.fsum(each.crossed for each in arms.values())
        if crossed and crossed >= _CROSSED_AT_LEAST * users:
            share = f"{100 * crossed / users:.1f} %"
            text = f"{where}{share} of the users have requests of more than one arm, and count in each."
            found.append({"kind": "users_in_several_arms", "text": text})
    more = len(found) - TOLD_AT_MOST
    if more > 0:
        found[TOLD_AT_MOST:] = [{"kind": "more", "text": f"There are {more} more such warnings, of other groups."}]
    return found


def _told(chance: float) -> str:
    return f"once in {1 / chance:,.0f}" if chance > 1e-9 else "less than once in 1,000,000,000"
