"""A report as a picture: each value a dot, its 95 % interval a line. Pure: rows in, SVG out.

The file stands alone: colours and letters are written into it.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from quiclens_schema.plain_text import all_printable

from quiclens_questions.report import Report
from quiclens_questions.report_words import OF_COLUMNS
from quiclens_questions.units import duration

LINES_AT_MOST = 200
_LETTERS_AT_MOST = 60
_WIDTH, _RIGHT, _TOP, _LINE, _LETTER = 1000, 30, 74, 22, 6.6
_COLOURS = ("#2e6fd8", "#e07b1a", "#2fa84f", "#c23bb1", "#1f9aa0", "#b99b1c")  # the first ones of the pages' groups
_UNITS = {"us": "duration", "share": "share", "rtt": "round trips", "1/s": "per second", "bit/s": "bits a second"}

Row = dict[str, Any]


@dataclass(frozen=True)
class Dot:
    """A value with its interval; ends are None where nothing bounds it."""

    series: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class DrawnLine:
    label: str
    dots: Sequence[Dot]


def picture(answer: Report) -> str | None:
    """SVG, black on white; a page that holds it gives `ground`, `grid`, `zero`, `tick` and text its own colours.

    None where no row has a number to draw. All lines share the unit of the first one.
    """
    report = all_printable(answer)  # XML has no control characters either
    unit, lines = _lines(report)
    drawable = [line for line in lines if line.dots]
    lines = drawable[:LINES_AT_MOST]
    if not lines:
        return None
    of_all = f"; the first {len(lines)} of {len(drawable):,} lines" if len(drawable) > len(lines) else ""
    left = 24 + _LETTER * min(_LETTERS_AT_MOST, max(len(line.label) for line in lines))
    axis = _Axis.over([dot for line in lines for dot in line.dots], unit, left)
    height = _TOP + _LINE * len(lines) + 16
    series = list(dict.fromkeys(dot.series for line in lines for dot in line.dots))
    shapes = [*_head(report, unit, series, of_all), *axis.grid(height)]
    for number, line in enumerate(lines):
        y = _TOP + _LINE * number + _LINE / 2
        shapes.append(
            f'<text x="{left - 12:.1f}" y="{y + 4:.1f}" text-anchor="end">{escape(_short(line.label))}</text>'
        )
        for dot in line.dots:
            shapes += _drawn(dot, axis, y, _COLOURS[series.index(dot.series) % len(_COLOURS)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">'
        f'<rect class="ground" width="{_WIDTH}" height="{height}" fill="#fff"/>{"".join(shapes)}</svg>\n'
    )


def _lines(report: Report) -> tuple[str, list[DrawnLine]]:
    """What is drawn: differences where there are some, else a column of figures, else the columns with an interval."""
    units, rows = dict(report.columns), report.dicts()
    labels = [name for name, unit in report.columns if not unit and _is_label(name, rows)]
    if "difference" in units:
        rows = [row for row in rows if row["unit"] == "us"]
        return "share", [DrawnLine(_label(row, labels), _dots(row, ["difference"])) for row in rows]
    if "value" in units:
        unit = next((row["unit"] for row in rows if row["value"] is not None), "")
        return unit, [DrawnLine(_label(row, labels), _dots(row, ["value"])) for row in rows if row["unit"] == unit]
    names = [name for name in units if any(name + end in units for end in ("_low", "_sampling_low"))]
    # Those of one unit share an axis: that of most, durations in a tail, where one column is a share.
    of_unit = Counter(units[name] for name in names)
    unit = max(of_unit, key=of_unit.__getitem__, default="")
    return unit, [
        DrawnLine(_label(row, labels), _dots(row, [each for each in names if units[each] == unit])) for row in rows
    ]


def _is_label(name: str, rows: Sequence[Row]) -> bool:
    return name not in ("unit", "note", "base") and any(isinstance(row[name], str) for row in rows)


def _label(row: Row, names: Sequence[str]) -> str:
    told = (OF_COLUMNS.get(name, str)(str(row[name] or "unknown")).strip() for name in names)
    return " · ".join(told) or "all"


def _dots(row: Row, names: Sequence[str]) -> list[Dot]:
    ends = ("low", "high")
    return [Dot(name, row[name], *(_end(row, name, end) for end in ends)) for name in names if row[name] is not None]


def _end(row: Row, name: str, end: str) -> float | None:
    return row.get(f"{name}_{end}", row.get(f"{name}_sampling_{end}", row.get(end)))


@dataclass(frozen=True)
class _Axis:
    """Durations on a logarithmic axis, all else on a linear one that holds 0."""

    unit: str
    low: float
    high: float
    left: float
    is_signed: bool  # of differences

    @classmethod
    def over(cls, dots: Sequence[Dot], unit: str, left: float) -> "_Axis":
        values = [each for dot in dots for each in (dot.value, dot.low, dot.high) if each is not None]
        is_signed = any(dot.series == "difference" for dot in dots)
        if unit == "us":
            return cls(unit, max(1.0, min(values)) / 1.1, max(2.0, max(values)) * 1.1, left, is_signed)
        low, high = min(0.0, *values), max(0.0, *values)
        return cls(unit, low - (high - low) * 0.03, high + (high - low) * 0.03 or 1.0, left, is_signed)

    def x(self, value: float) -> float:
        at, low, high = (
            math.log(max(each, 1.0)) if self.unit == "us" else each for each in (value, self.low, self.high)
        )
        return self.left + (at - low) / (high - low) * (_WIDTH - _RIGHT - self.left)

    def grid(self, height: int) -> list[str]:
        shapes = []
        for tick in self._ticks():
            x, name, colour = self.x(tick), *(("zero", "#999") if tick == 0 else ("grid", "#e4e4e4"))
            ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 4}" y2="{height - 14}"'
            shapes.append(f'<line class="{name}" {ends} stroke="{colour}"/>')
            shapes.append(
                f'<text class="tick" x="{x:.1f}" y="{_TOP - 10}" text-anchor="middle" fill="#666">'
                f"{self._says(tick)}</text>"
            )
        return shapes

    def _ticks(self) -> list[float]:
        if self.unit == "us":
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            found = [float(each * 10**power) for power in powers for each in (1, 2, 5)]
            return [each for each in found if self.low <= each <= self.high]
        step = 10 ** math.floor(math.log10(self.high - self.low))
        step = next(
            each for each in (step / 10, step / 5, step / 2, step, 2 * step) if (self.high - self.low) / each <= 8
        )
        return [number * step for number in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]

    def _says(self, tick: float) -> str:
        if self.unit == "us":
            return duration(tick)
        if self.unit == "share":
            sign = "+" if self.is_signed and tick > 0 else ""
            return f"{sign}{100 * tick:.3g} %"
        return f"{tick:,.0f}" if abs(tick) >= 1_000 else f"{tick:.4g}"


def _short(label: str) -> str:
    return label if len(label) <= _LETTERS_AT_MOST else label[: _LETTERS_AT_MOST - 1] + "…"


def _head(report: Report, unit: str, series: Sequence[str], of_all: str) -> list[str]:
    what = "difference" if series == ["difference"] else _UNITS.get(unit, unit or "numbers")
    words = f"{report.name}: {what}, with 95 % intervals ({report.samples:,} samples){of_all}"
    shapes = [f'<text x="16" y="24" font-size="15" font-weight="bold">{escape(words)}</text>']
    if len(series) > 1:
        for number, name in enumerate(series):
            x, colour = 16 + 110 * number, _COLOURS[number % len(_COLOURS)]
            shapes.append(f'<circle cx="{x + 5}" cy="40" r="4" fill="{colour}"/>')
            shapes.append(f'<text x="{x + 14}" y="44">{escape(name)}</text>')
    return shapes


def _drawn(dot: Dot, axis: _Axis, y: float, colour: str) -> list[str]:
    ends = [axis.x(dot.value if each is None else each) for each in (dot.low, dot.high)]
    return [
        f'<line x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}" stroke-width="2"/>',
        f'<circle cx="{axis.x(dot.value):.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>',
    ]
