"""Pictures that need no script: the parts of a request as a bar, and its life as a timeline. Pure: rows in, SVG out.

Colours are classes of /causes.css; sizes are in a view box, so that a picture fits its place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from markupsafe import Markup

from quiclens_questions.causes import look
from quiclens_questions.units import duration, share

_WIDTH = 1000
_BAR = 38
_HAIR = 0.1  # % of the bar
_LETTER = 0.8  # % of the bar that a letter of a label needs
_LANE = 16
_LEFT = 150  # of a lane's name
_TICKS = (1, 2, 5)
_STOPS = 40  # bars that the Tab key stops at

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Span:
    """A stretch of a lane in us, with the cause whose colour it has, grey where it has none, and where it leads."""

    lane: str
    cause: str
    start_us: int
    end_us: int
    title: str
    address: str = ""


def parts_bar(parts: Sequence[Row], total_us: int) -> Markup:
    """One bar as wide as its place, whose parts lead to their rows of the table; a part narrower than a hair is drawn
    as a hair."""
    widths = [
        (part["cause"], part["us"] / max(1, total_us), f"{duration(part['us'])}, {share(part['us'], total_us)}")
        for part in parts
    ]
    return _stacked_bar(widths, "parts of the duration, the same as in the table")


def shares_bar(causes: Sequence[Row]) -> Markup:
    """The same of shares that causes have of the time of several requests."""
    widths = [(each["cause"], each["share"] or 0.0, share(each["share"] or 0.0, 1)) for each in causes]
    return _stacked_bar(widths, "shares of their time, the same as in the table")


def _stacked_bar(widths: Sequence[tuple[str, float, str]], label: str) -> Markup:
    """Of each part its cause, its share of the whole, and what is said of it."""
    shapes, at = [], 0.0
    for cause, of_whole, said in widths:
        width, name = of_whole * 100, look(cause).name
        title = escape(f"{name}: {said}")
        text = (
            f'<text x="50%" y="{_BAR / 2 + 5}" text-anchor="middle">{name}</text>'
            if width > _LETTER * len(name)
            else ""
        )
        shapes.append(
            f'<a href="#part-{escape(cause)}" aria-label="{title}"><svg class="part" x="{at:.2f}%" '
            f'width="{max(width, _HAIR):.2f}%" height="{_BAR}"><title>{title}</title>'
            f'<rect class="cause-{escape(cause)}" width="100%" height="{_BAR}"/>{text}</svg></a>'
        )
        at += width
    return Markup(f'<svg class="bar" role="group" aria-label="{label}">{"".join(shapes)}</svg>')


def timeline(spans: Sequence[Span], marks: Sequence[tuple[str, int]], start_us: int, end_us: int) -> Markup:
    """Lanes of spans between two moments of a trace, times told since `start_us`; marks are lines over all lanes."""
    stops = sorted((each for each in spans if each.address), key=lambda each: each.start_us - each.end_us)[:_STOPS]
    lanes = list(dict.fromkeys(span.lane for span in spans))
    width, height = _WIDTH - _LEFT, len(lanes) * _LANE
    length = max(1, end_us - start_us)

    def x(us: int) -> float:
        return _LEFT + min(1.0, max(0.0, (us - start_us) / length)) * width

    shapes = [
        f'<line class="grid" x1="{x(start_us + at):.2f}" x2="{x(start_us + at):.2f}" y1="18" y2="{height + 22}"/>'
        f'<text class="tick" x="{x(start_us + at):.2f}" y="12" text-anchor="middle">{duration(at)}</text>'
        for at in ticks(length)
    ]
    for number, lane in enumerate(lanes):
        y = 22 + number * _LANE
        shapes.append(f'<text class="lane" x="{_LEFT - 8}" y="{y + 11}" text-anchor="end">{escape(lane)}</text>')
        for span in (each for each in spans if each.lane == lane):
            left = x(span.start_us)
            width_ = max(1.5, x(span.end_us) - left)
            kind = f"cause-{escape(span.cause)}" if span.cause else "whole"
            bar = (
                f'<rect class="{kind}" x="{left:.2f}" y="{y + 2}" width="{width_:.2f}" '
                f'height="{_LANE - 4}"><title>{escape(span.title)}</title></rect>'
            )
            shapes.append(_link(span, bar, span in stops) if span.address else bar)
    lines = _together(marks, length)
    for number, (at, names) in enumerate(lines):
        left, low = x(at), height + 26 + 13 * number
        label = f"{', '.join(names)}, {duration(at - start_us)}"
        anchor, shift = ("end", -4) if left > _WIDTH - 7 * len(label) else ("start", 4)
        shapes.append(
            f'<line class="mark" x1="{left:.2f}" x2="{left:.2f}" y1="18" y2="{low + 11}"/>'
            f'<text class="tick" x="{left:.2f}" y="{low + 11}" dx="{shift}" text-anchor="{anchor}">'
            f"{escape(label)}</text>"
        )
    return Markup(
        f'<svg class="timeline" viewBox="0 0 {_WIDTH} {height + 30 + 13 * len(lines)}" role="group" '
        'aria-label="timeline; its bars lead to packets">' + "".join(shapes) + "</svg>"
    )


def _link(span: Span, bar: str, is_stop: bool) -> str:
    stop = "" if is_stop else ' tabindex="-1"'
    return f'<a href="{escape(span.address)}" aria-label="{escape(span.title)}"{stop}>{bar}</a>'


def _together(marks: Sequence[tuple[str, int]], length_us: int) -> list[tuple[int, list[str]]]:
    """Marks in order of time; those that are as good as at one moment share a line."""
    found: list[tuple[int, list[str]]] = []
    for name, at in sorted(marks, key=lambda mark: mark[1]):
        if found and at - found[-1][0] <= length_us / _WIDTH:
            found[-1][1].append(name)
        else:
            found.append((at, [name]))
    return found


def ticks(length_us: int) -> list[int]:
    """Five to ten round moments from 0 on."""
    step = 1
    while length_us / step > 10:
        power = 10 ** (len(str(step)) - 1)
        step = next((each * power for each in (*_TICKS, 10) if each * power > step), step * 10)
    return list(range(0, length_us + 1, step))
