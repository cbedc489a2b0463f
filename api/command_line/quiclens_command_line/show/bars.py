"""Bars of blocks that add up to their width. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from quiclens_questions.causes import FILLS, look


def cells(values: Sequence[int], width: int) -> list[int]:
    """How many of `width` cells each value gets: largest remainders, and one at least for what is not nothing."""
    total = sum(values)
    if total <= 0:
        return [0] * len(values)
    exact = [value * width / total for value in values]
    given = [max(int(share), 1 if value else 0) for share, value in zip(exact, values, strict=True)]
    by_need = sorted(range(len(values)), key=lambda i: (given[i] - exact[i], i))
    for i in by_need[: max(0, width - sum(given))]:
        given[i] += 1
    while sum(given) > width:
        given[max(range(len(values)), key=lambda i: (given[i] - exact[i] if given[i] > 1 else -math.inf, -i))] -= 1
    return given


@dataclass(frozen=True)
class StackedBar:
    """One bar of all parts, as long as it may be and the terminal is wide."""

    parts: Sequence[tuple[str, int]]
    longest: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield stacked(self.parts, min(self.longest, options.max_width))


def stacked(parts: Sequence[tuple[str, int]], width: int) -> Text:
    """One bar of all parts, each with its colour and, for terminals without, its own fill."""
    bar = Text()
    for index, ((cause, _), count) in enumerate(zip(parts, cells([us for _, us in parts], width), strict=True)):
        bar.append(fill(index) * count, style=look(cause).colour)
    return bar


def single(cause: str | None, part: float, whole: float, width: int) -> Text:
    """A small bar of one part of a whole."""
    if cause is None or whole <= 0:
        return Text(" " * width)
    count = min(width, max(1, round(width * part / whole)))
    return Text("█" * count, style=look(cause).colour) + Text("·" * (width - count), style="dim")


def fill(index: int) -> str:
    return FILLS[index % len(FILLS)]
