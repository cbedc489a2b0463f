"""Is what happens to some of a group different from what happens to the rest? Pure.

Of two parts of a group and the kinds that their members are of, the likelihood ratio tells how much better two
mixtures of kinds explain them than one (Wilks, Annals of Mathematical Statistics 9, 1938; it is what a classification
tree splits by: Breiman, Friedman, Olshen and Stone, "Classification and Regression Trees", 1984).
"""

import math
from collections.abc import Mapping

from quiclens_questions.statistics.distributions import chi_square_tail

Kinds = Mapping[int, int]
"""Members of each kind."""


def gain(inside: Kinds, outside: Kinds) -> float:
    """Logarithm of the likelihood ratio, 0 where one part is empty or both are alike."""
    one = {kind: inside.get(kind, 0) + outside.get(kind, 0) for kind in {*inside, *outside}}
    return max(0.0, _likelihood(inside) + _likelihood(outside) - _likelihood(one))


def chance(inside: Kinds, outside: Kinds) -> float:
    """That two parts of one mixture differ so much by accident."""
    freedom = len({*inside, *outside}) - 1
    return chi_square_tail(2 * gain(inside, outside), freedom) if freedom else 1.0


def _likelihood(kinds: Kinds) -> float:
    whole = sum(kinds.values())
    return sum(count * math.log(count / whole) for count in kinds.values() if count)
