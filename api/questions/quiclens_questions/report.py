"""What a report was asked, and the table that it answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from quiclens_questions.documents import ReportCoverage, ReportDocument, ReportWarning
from quiclens_questions.moment import bound
from quiclens_questions.split import Planned
from quiclens_questions.where import EVERYTHING, Where

GROUPS_AT_MOST = 1_000
FEW_SAMPLES = 30

Row = dict[str, Any]


@dataclass(frozen=True)
class ReportQuestion:
    """Groups, conditions (and how they were written), a stretch of time, and what some reports take besides.

    `without` is a cause to leave out (tail); `between` the column of the arms, `base` the arm that others are compared
    with, `later` how many requests of a session are no later ones, `split` which share of the users each arm was meant
    to have (compare); `of` is whose round trips are asked (rtt); `time_zone`, by its IANA name, is whose hours and
    weekdays connections are told by.
    """

    by: tuple[str, ...] = ()
    where: Where = EVERYTHING
    texts: Sequence[str] = ()
    since: datetime | None = None
    until: datetime | None = None
    without: str = ""
    between: str = "arm"
    base: str = ""
    later: int = 1
    split: Planned = field(default_factory=Planned)
    of: str = ""
    time_zone: str = "UTC"

    @property
    def window(self) -> Row:
        """The stretch of time as the questions' parameters; undated things are within it only without a beginning."""
        return {
            "since": bound(self.since) if self.since else None,
            "until": bound(self.until) if self.until else None,
        }

    @property
    def parameters(self) -> Row:
        """Of questions about connections."""
        return {**self.window, "time_zone": self.time_zone}

    @property
    def params(self) -> Row:
        """What the document says was asked."""
        return {"by": list(self.by), "where": list(self.texts), "since": self.since, "until": self.until}

    @property
    def by_columns(self) -> tuple[tuple[str, str], ...]:
        return tuple((name, "") for name in self.by)


@dataclass(frozen=True)
class Report:
    """A table with a name: what every report, and every dashboard, draws.

    `groups` is how many groups there are, of which the first `groups_shown` have rows; None where it has no groups.
    `samples` and `coverage` are of all groups.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: list[list[Any]]
    samples: int
    coverage: ReportCoverage
    params: Row = field(default_factory=dict)
    groups: int | None = None
    groups_shown: int | None = None
    warnings: Sequence[ReportWarning] = ()

    def document(self) -> ReportDocument:
        return {
            "name": self.name,
            "params": self.params,
            "columns": [{"name": name, "unit": unit} for name, unit in self.columns],
            "rows": self.rows,
            "samples": self.samples,
            "groups": self.groups,
            "groups_shown": self.groups_shown,
            "coverage": self.coverage,
            "warnings": self.warnings,
        }

    def dicts(self) -> list[Row]:
        """Rows by column name."""
        names = [name for name, _ in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]
