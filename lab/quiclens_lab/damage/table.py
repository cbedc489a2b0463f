"""The figures of each damage, as values and as a table to read."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quiclens_lab.damage.tally import Tally, mean_of, quantile_of

ALL = "all"
"""The name of all stacks together."""
GRADES = ("whole", "repaired", "damaged")
HEAD = (
    "damage", "logs", "requests", "found", "top same", "moved", "unattr.", "time ok", "whole", "repaired",
    "trusted: top", "trusted: time", "whole, wrong", "bounds hold", "width p50", "noticed",
)  # fmt: skip


def share(part: float, whole: float) -> float | None:
    """A part as a share, None of nothing."""
    return round(part / whole, 5) if whole else None


def figures(tally: Tally) -> dict[str, Any]:
    """What one damage came to. A request that is not found has no right answer."""
    trusted = ("whole", "repaired")
    of_trusted = sum(tally.graded[grade] for grade in trusted)
    graded = tally.is_graded
    return {
        "logs": tally.logs,
        "requests": tally.requests,
        "found": share(tally.found, tally.requests),
        "top_right": share(tally.top_right.total(), tally.requests),
        "duration_right": share(tally.duration_right.total(), tally.requests),
        "moved": mean_of(tally.moved),
        "moved_most": max(tally.moved) / 1000 if tally.moved else None,
        "unattributed": mean_of(tally.unattributed),
        "grades": {grade: share(tally.graded[grade], tally.requests) for grade in GRADES} if graded else None,
        "trusted": share(of_trusted, tally.requests) if graded else None,
        "trusted_top_right": share(sum(tally.top_right[grade] for grade in trusted), of_trusted),
        "trusted_duration_right": share(sum(tally.duration_right[grade] for grade in trusted), of_trusted),
        "whole_top_wrong": (
            share(tally.graded["whole"] - tally.top_right["whole"], tally.requests) if graded else None
        ),
        "by_grade": {
            grade: {
                "requests": count,
                "top_right": share(tally.top_right[grade], count),
                "duration_right": share(tally.duration_right[grade], count),
            }
            for grade, count in sorted(tally.graded.items())
        },
        "all_not_whole": (
            share(tally.all_graded.total() - tally.all_graded["whole"], tally.all_graded.total()) if graded else None
        ),
        "bounded": tally.bounded,
        "contained": share(tally.contained, tally.bounded),
        "width": quantile_of(tally.widths, 0.5),
        "exact": tally.exact,
        "exact_wrong": share(tally.exact_wrong, tally.exact),
        "noticed": (
            {kind: share(count, tally.logs) for kind, count in sorted(tally.noticed.items())}
            if tally.logs_noticing
            else None
        ),
    }


def lines(tables: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[str]:
    """A table for each stack, and one for all where there are several. Trusted: graded whole or repaired."""
    said = []
    for stack, of_stack in tables.items():
        if stack == ALL and len(tables) == 2:
            continue
        said += ["", f"{stack}:", *aligned([HEAD, *(_line(name, found) for name, found in of_stack.items())])]
    return said


def _line(name: str, found: Mapping[str, Any]) -> Sequence[str]:
    grades = found["grades"] or {}
    return (
        name, str(found["logs"]), str(found["requests"]), percent(found["found"]), percent(found["top_right"]),
        percent(found["moved"]), percent(found["unattributed"]), percent(found["duration_right"]),
        percent(grades.get("whole")), percent(grades.get("repaired")), percent(found["trusted_top_right"]),
        percent(found["trusted_duration_right"]), percent(found["whole_top_wrong"]), percent(found["contained"]),
        percent(found["width"]), percent((found["noticed"] or {}).get("any")),
    )  # fmt: skip


def grade_lines(of_all: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What answers of each grade are worth, over all stacks; nothing where this collector does not grade."""
    rows = [("damage", *(f"{grade}: {what}" for grade in GRADES for what in ("requests", "top", "time")))]
    for name, found in of_all.items():
        if found["grades"] is not None:
            cells = []
            for grade in GRADES:
                of_grade = found["by_grade"].get(grade, {"requests": 0, "top_right": None, "duration_right": None})
                cells += [
                    str(of_grade["requests"]), percent(of_grade["top_right"]), percent(of_grade["duration_right"])
                ]  # fmt: skip
            rows.append((name, *cells))
    return ["", *aligned(rows)] if len(rows) > 1 else []


def percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Columns of one width, the first to the left."""
    all_rows = list(rows)
    widths = [max(len(row[at]) for row in all_rows) for at in range(len(all_rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in all_rows
    ]
