"""Table of savings: what quiclens says a request would have saved without its cause, against the run without it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from quiclens_questions.savings import interval_us

from quiclens_lab.truth.quantiles import quantile, rounded, share_of
from quiclens_lab.truth.samples import Judged
from quiclens_lab.truth.split import is_final

LEAST_SHARE = 0.2  # of the duration: smaller savings are not compared
BAND = (0.025, 0.5, 0.975)

Key = TypeVar("Key")


@dataclass(frozen=True)
class Saving:
    """One comparison. A cause that quiclens does not list saves nothing by its word."""

    judged: Judged
    true_us: int
    predicted_us: int

    @property
    def error(self) -> float:
        return abs(self.predicted_us - self.true_us) / self.true_us

    @property
    def error_of_part(self) -> float:
        """How wrong it would be to take the exclusive part for the saving."""
        row = self.judged.row
        assert row is not None
        return abs(row.parts[self.judged.sample.cause] - self.true_us) / self.true_us

    @property
    def ratio(self) -> float:
        """Predicted over true."""
        return self.predicted_us / self.true_us

    @property
    def interval_us(self) -> tuple[int, int] | None:
        """What the product prints as 95 %, where it predicts a saving."""
        row = self.judged.row
        if row is None or self.predicted_us <= 0:
            return None
        found = interval_us(self.judged.sample.cause, self.predicted_us, row.duration_us)
        return (found[0], found[1]) if found else None

    @property
    def is_alone_in_the_dark(self) -> bool:
        """The script makes the path dark in the run with the cause, and the one without is over before: they differ by
        what the dark costs too, and what the cause costs alone is not known."""
        dark = self.judged.sample.dark
        row = self.judged.row
        return dark is not None and row is not None and row.duration_us - self.true_us < dark.start_us < row.duration_us


def savings(judged: Iterable[Judged], least_share: float = LEAST_SHARE) -> list[Saving]:
    """What each cause cost alone, where that is known and enough of the duration."""
    return [each for each in differences(judged, least_share) if not each.is_alone_in_the_dark]


def differences(judged: Iterable[Judged], least_share: float = LEAST_SHARE) -> list[Saving]:
    """Pair each scenario run with the same seed without its cause; only where that saves enough of the duration."""
    runs = [each for each in judged if each.sample.group == "scenario"]
    without = {_pair(each): each for each in runs if each.sample.variant == "without"}
    found = []
    for each in runs:
        other = without.get(_pair(each)) if each.sample.variant == "with" else None
        row, other_row = each.row, other.row if other else None
        if row is None or other_row is None or not (row.is_complete and other_row.is_complete):
            continue
        true_us = row.duration_us - other_row.duration_us
        if true_us > 0 and true_us >= least_share * row.duration_us:
            found.append(Saving(each, true_us, row.saves.get(each.sample.cause, 0)))
    return found


def _pair(each: Judged) -> tuple[str, str, str, str, str, int]:
    of = each.sample
    return (of.stack, of.scenario, of.vantage, of.controller, of.script, of.seed)


def counterfactual_table(judged: Iterable[Judged]) -> dict[str, Any]:
    """Errors and ratios per stack, scenario and vantage, per cause and overall."""
    found = savings(judged)
    places = dict.fromkeys((_pair(each.judged)[:3], each.judged.sample.cause) for each in found)
    scenarios = _figures_by(found, lambda each: _pair(each.judged)[:3])
    return {
        **_figures(found),
        "causes": _figures_by(found, lambda each: each.judged.sample.cause),
        "stacks_and_causes": _figures_by(found, lambda each: f"{each.judged.sample.stack} {each.judged.sample.cause}"),
        "scenarios": [
            {"stack": place[0], "scenario": place[1], "vantage": place[2], "cause": cause, **scenarios[place]}
            for place, cause in places
        ],
    }


def _figures_by(found: Sequence[Saving], key_of: Callable[[Saving], Key]) -> dict[Key, dict[str, Any]]:
    groups: dict[Key, list[Saving]] = {}
    for each in found:
        groups.setdefault(key_of(each), []).append(each)
    return {key: _figures(own) for key, own in groups.items()}


def _figures(found: Sequence[Saving]) -> dict[str, Any]:
    errors, ratios = [each.error for each in found], [each.ratio for each in found]
    low, middle, high = (rounded(quantile(ratios, share)) for share in BAND)
    bounded = [(each, interval) for each in found if (interval := each.interval_us) is not None]
    held = sum(interval[0] <= each.true_us <= interval[1] for each, interval in bounded)
    widths = [(interval[1] - interval[0]) / 2 / each.predicted_us for each, interval in bounded]
    return {
        "samples": len(found),
        "intervals": len(bounded),
        "share_in_interval": share_of(held, len(bounded)),
        "median_half_width": rounded(quantile(widths, 0.5)),
        "median_error": rounded(quantile(errors, 0.5)),
        "p90_error": rounded(quantile(errors, 0.9)),
        "median_error_of_part": rounded(quantile([each.error_of_part for each in found], 0.5)),
        "ratio_low": low,
        "ratio_mid": middle,
        "ratio_high": high,
        "share_not_predicted": share_of(sum(each.predicted_us == 0 for each in found), len(found)),
    }


def write_errors(judged: Iterable[Judged], target: Path) -> None:
    """Per cause, between which multiples of what is predicted the true saving lies: the product's intervals.

    They are as wide as the stack needs that is told worst, so that they hold for each. They hold the prediction itself,
    though where it is always a little too high the quantiles do not. What is kept for the final check makes none.
    """
    by_cause: dict[str, dict[str, list[float]]] = {}
    for each in savings(each for each in judged if not is_final(each.sample)):
        if each.predicted_us > 0:
            by_stack = by_cause.setdefault(each.judged.sample.cause, {})
            by_stack.setdefault(each.judged.sample.stack, []).append(each.true_us / each.predicted_us)
    lines = [
        "# True over predicted saving: the median, and the outermost of the stacks' 2.5 and 97.5 % quantiles, "
        "at most and at least 1.",
        "# Made by `make truth`.",
    ]
    for cause, by_stack in sorted(by_cause.items()):
        ratios = [ratio for of_stack in by_stack.values() for ratio in of_stack]
        low = min(quantile(of_stack, BAND[0]) or 1.0 for of_stack in by_stack.values())
        high = max(quantile(of_stack, BAND[-1]) or 1.0 for of_stack in by_stack.values())
        lines += ["", f"[{cause}]", f"samples = {len(ratios)}", f"ratio_low = {min(low, 1):.4f}"]
        lines += [f"ratio_mid = {quantile(ratios, 0.5) or 1.0:.4f}", f"ratio_high = {max(high, 1):.4f}"]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(lines) + "\n")
