"""Quantiles, as every table of the truth run takes them."""

from collections.abc import Sequence


def quantile(values: Sequence[float], share: float) -> float | None:
    """The value below which this share lies, between neighbours in proportion; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def rounded(value: float | None, digits: int = 4) -> float | None:
    """A figure for a table."""
    return None if value is None else round(value, digits)


def share_of(part: float, whole: float) -> float | None:
    """A part as a share, None of nothing."""
    return round(part / whole, 4) if whole else None
