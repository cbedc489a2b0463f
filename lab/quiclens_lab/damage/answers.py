"""What the collector answers about the requests of a log."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quiclens_schema.catalogue import CAUSES

from quiclens_lab.truth.collector import CONNECTION, STREAM, summaries

DURATION = "duration"
LONGEST_SECONDS = 600
"""A reading of a batch that takes longer hangs."""

Request = int
"""A request of a log of one trace: its stream's number. A damaged log may not say any more whose log it is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said of one request. A grade of None: this collector does not grade."""

    duration_us: int | None
    is_complete: bool
    parts: Mapping[str, int]
    grade: str | None = None
    imputed_us: int = 0
    low: Mapping[str, int] = field(default_factory=dict)
    high: Mapping[str, int] = field(default_factory=dict)

    @property
    def top(self) -> str | None:
        """The largest part, of equal ones the first of the vocabulary; None where there is none."""
        cause = max(self.parts, key=lambda name: self.parts[name])
        return cause if self.parts[cause] > 0 else None

    def moved_from(self, whole: "Answer") -> float:
        """Half the sum of the differences of the shares: 0 the same, 1 everything elsewhere."""
        own, other = sum(self.parts.values()), sum(whole.parts.values())
        if not own or not other:
            return 0.0 if own == other else 1.0
        names = {*self.parts, *whole.parts}
        return sum(abs(self.parts.get(name, 0) / own - whole.parts.get(name, 0) / other) for name in names) / 2


@dataclass(slots=True)
class LogAnswers:
    """What is said of one log. `damage` of None: this collector does not count what it noticed."""

    requests: dict[Request, Answer] = field(default_factory=dict)
    damage: dict[str, int] | None = None


def answers_of(collector: Path, logs: Sequence[Path]) -> dict[Path, LogAnswers]:
    """The answers for these files, each of one trace; a file that gives none is not there."""
    if not logs:
        return {}
    with summaries(collector, logs, LONGEST_SECONDS) as lines:
        return answers_in(lines)


def answers_in(lines: Iterable[str]) -> dict[Path, LogAnswers]:
    """The answers in a dump, which prints a file's connection, with the file's name, before its streams."""
    found: dict[Path, LogAnswers] = {}
    current = LogAnswers()
    for line in lines:
        if line.startswith(CONNECTION):
            row = json.loads(line)["row"]
            current = found.setdefault(Path(row["source_file"]), LogAnswers())
            if (damage := row.get("damage")) is not None:
                current.damage = {**(current.damage or {}), **damage}
        elif line.startswith(STREAM):
            row = json.loads(line)["row"]
            current.requests[row["stream_id"]] = answer(row)
    return found


def answer(row: Mapping[str, Any]) -> Answer:
    """One row of `streams`; causes that a newer collector adds are parts too."""
    names = dict.fromkeys([*CAUSES, *(name for name in row.get("overlapping") or {} if f"{name}_us" in row)])
    has_end = row["duration_us"] is not None and row["end_us"] is not None
    return Answer(
        duration_us=row["duration_us"] if has_end else None,
        is_complete=row["complete"] and has_end,
        parts={name: row.get(f"{name}_us") or 0 for name in names},
        grade=row.get("grade"),
        imputed_us=row.get("imputed_us") or 0,
        low=row.get("bounds_low") or {},
        high=row.get("bounds_high") or {},
    )
