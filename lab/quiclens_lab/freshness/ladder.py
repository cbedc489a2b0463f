"""How much a pipeline sustains: the rate is raised until what waits grows, then between the last two rates."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

FIRST, FACTOR, STEPS = 25_000, 1.5, 9  # events a second: up to 640,000
HALVINGS = 3  # of the last step: what is sustained is known to a twentieth
WRITTEN_SHARE = 0.85
GROWS_S = 1.0  # what waits has grown when it has by what comes in so long
Series = Sequence[tuple[float, int]]  # since 1970, and how many events until then


@dataclass(frozen=True)
class Step:
    """One rate for a while: what was written and stored of it meanwhile, a second, and how what waited grew."""

    asked: int
    written: float
    stored: float
    grew_s: float
    cpu_s: Mapping[str, float] = field(default_factory=dict)  # of each process, meanwhile, a million events stored

    @property
    def is_kept_up(self) -> bool:
        return self.grew_s < GROWS_S

    @property
    def is_written(self) -> bool:
        """The writer came up with what was asked of it."""
        return self.written > WRITTEN_SHARE * self.asked

    @property
    def is_good(self) -> bool:
        return self.is_kept_up and self.is_written

    def as_json(self) -> dict[str, Any]:
        return {
            "asked": self.asked,
            "written": round(self.written),
            "stored": round(self.stored),
            "behind_grew_s": round(self.grew_s, 2),
            "cpu_s_per_million": dict(self.cpu_s),
        }


def step(
    asked: int, written: Series, stored: Series, begin: float, end: float, used_s: Mapping[str, float] | None = None
) -> Step:
    """What the series say of the time between, in which each process used so many processor seconds."""
    seconds = end - begin
    came, went = _between(written, begin, end), _between(stored, begin, end)
    cpu_s = {name: round(used / max(1.0, went) * 1e6, 2) for name, used in (used_s or {}).items()}
    return Step(asked, came / seconds, went / seconds, (came - went) / max(1, asked), cpu_s)


def _between(series: Series, begin: float, end: float) -> float:
    return _at(series, end) - _at(series, begin)


def _at(series: Series, at: float) -> float:
    """The count at a moment, straight between two that are known."""
    before = max((each for each in series if each[0] <= at), default=(at, 0))
    after = min((each for each in series if each[0] > at), default=before)
    if after[0] <= before[0]:
        return before[1]
    return before[1] + (after[1] - before[1]) * (at - before[0]) / (after[0] - before[0])


def climb(measure: Callable[[int, int], Step]) -> dict[str, Any]:
    """Measure ever higher rates until one is not kept up with, then rates between it and the last that was, each the
    geometric middle; `measure` gets the rate and the step's number.

    What a pipeline that falls behind stores a second is what it can do at most. On a machine with nothing to spare the
    writer, which shares it, may be the first that cannot go on.
    """
    steps: list[Step] = []
    rate = float(FIRST)
    for number in range(STEPS):
        steps.append(measure(round(rate), number))
        if not steps[-1].is_good:
            break
        rate *= FACTOR
    first_bad = steps[-1]
    if len(steps) > 1 and not first_bad.is_good:
        low, high = float(steps[-2].asked), float(first_bad.asked)
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            steps.append(measure(round(middle), len(steps)))
            low, high = (middle, high) if steps[-1].is_good else (low, middle)
    cheapest = min((sum(each.cpu_s.values()) for each in steps if each.cpu_s), default=None)
    kept = [each for each in steps if each.is_kept_up]
    return {
        "sustained_per_second": round(max((min(each.written, each.stored) for each in kept), default=0)),
        "at_most_per_second": round(max(each.stored for each in steps)),
        "cpu_s_per_million": cheapest and round(cheapest, 2),
        "ended_by": "pipeline" if not first_bad.is_kept_up else "writer" if not first_bad.is_written else "steps",
        "steps": [each.as_json() for each in steps],
    }
