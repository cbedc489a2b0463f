"""The bars: what answers must be worth when the log is damaged."""

from collections.abc import Mapping
from typing import Any

from quiclens_lab.bar import Bar
from quiclens_lab.damage.tally import Tally, added
from quiclens_lab.damage.whole_logs import WHOLE

LEAST_PARTS = 10_000
"""So many parts with bounds are needed to tell whether bounds hold."""
TRUTH_CHANGES = ("frozen-300ms",)
"""Damages after which another answer is the right one."""


_BARS = (
    ("missing-1%", "trusted", 0.85, True, "1 % missing: graded whole or repaired"),
    ("missing-1%", "trusted_top_right", 0.98, True, "1 % missing, whole or repaired: top cause as in the whole log"),
    ("missing-1%", "trusted_duration_right", 0.98, True, "1 % missing, whole or repaired: duration within 5 %"),
    ("missing-1%", "top_right", 0.95, True, "1 % missing: top cause as in the whole log"),
    ("missing-1%", "whole_top_wrong", 0.01, False, "1 % missing: graded whole with another top cause"),
    ("missing-1%", "width", 0.15, False, "1 % missing: median width of bounds, of the duration"),
    ("missing-5%", "whole_top_wrong", 0.03, False, "5 % missing: graded whole with another top cause"),
    ("missing-5%", "top_right", 0.80, True, "5 % missing: top cause as in the whole log"),
    ("equal-times-shuffled", "top_right", 1.0, True, "equal times shuffled: top cause as in the whole log"),
    ("equal-times-shuffled", "moved_most", 0.01, False, "equal times shuffled: most that moves, of the duration"),
    ("out-of-order-10ms", "top_right", 0.995, True, "10 ms out of order: top cause as in the whole log"),
    ("noise-1ms", "top_right", 0.98, True, "1 ms of noise: top cause as in the whole log"),
    ("clock-forward", "top_right", 0.97, True, "clock steps forward: top cause as in the whole log"),
    ("clock-backward", "top_right", 0.97, True, "clock steps backward: top cause as in the whole log"),
    (WHOLE, "all_not_whole", 0.005, False, "whole logs: requests graded other than whole"),
)


def bars_of(tallies: Mapping[str, Tally], found: Mapping[str, Mapping[str, Any]]) -> list[Bar]:
    """The bars of the damages that were done, over all stacks."""
    bars = [
        Bar(says, found[damage][figure], bound, is_at_least)
        for damage, figure, bound, is_at_least, says in _BARS
        if damage in found
    ]
    steps = [tallies[name] for name in ("clock-forward", "clock-backward") if name in tallies]
    if steps:
        bars.append(Bar("clock steps with data in flight: noticed", _noticed(added(steps), "clock_step"), 0.98, True))
    if "clock-backward" in tallies:
        # Within a silence that is hardly shorter, the log's time goes back by less than records out of order do.
        noticed = _noticed(tallies["clock-backward"], "clock")
        bars.append(Bar("clock steps backward: noticed, or time that goes back", noticed, 1.0, True))
    bounds = added(tally for name, tally in tallies.items() if name not in TRUTH_CHANGES)
    bars.append(Bar("parts with bounds", bounds.bounded, LEAST_PARTS, True))
    contained = bounds.contained / bounds.bounded if bounds.bounded else None
    bars.append(Bar("parts with bounds: the bounds contain the whole log's part", contained, 0.95, True))
    return bars


def _noticed(tally: Tally, kind: str) -> float | None:
    return tally.noticed[kind] / tally.logs if tally.logs_noticing else None
