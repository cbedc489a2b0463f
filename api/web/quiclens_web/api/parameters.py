"""Parameters that several questions share, as they stand in a URL, read by the same rules as on the command line."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Query
from quiclens_schema.catalogue import Column

from quiclens_questions import where as conditions
from quiclens_questions.failure import usage
from quiclens_questions.moment import moment, seconds, whole_seconds
from quiclens_questions.where import Where

_TIME = "RFC 3339, or an age: `15m`, `2h`, `7d`. UTC."
_WHERE = (
    "`column=value`, also `!=`, `>=`, `<=`, `>`, `<` (numbers may have a unit: `duration_us>=1.5s`), `~` and `!~` with "
    "a pattern (`path~/api/*`); `a=1 OR a=2` is one condition. Repeat it, all must hold. Columns of `requests`."
)

Since = Annotated[str, Query(description=f"Only what began at or after this time. {_TIME}", max_length=64)]
Until = Annotated[str, Query(description=f"Only what began before this time. {_TIME}", max_length=64)]
WhereTexts = Annotated[list[str], Query(description=_WHERE, max_length=30)]
By = Annotated[str, Query(description="A column of `requests`.", max_length=64)]
Limit = Annotated[int, Query(ge=1, le=1_000, description="At most so many rows.")]


@dataclass(frozen=True)
class TimeWindow:
    """A stretch of time; an end is None where none was given. `now` is when it was asked; `is_age`: since was told as
    one."""

    since: datetime | None
    until: datetime | None
    now: datetime
    is_age: bool = False

    def closed(self, default_hours: int = 24) -> tuple[datetime, datetime]:
        """Both ends: until now, and a day before that, where not given."""
        until = self.until or self.now
        since = self.since or datetime.fromtimestamp(until.timestamp() - default_hours * 3600, UTC)
        if since >= until:
            before = whole_seconds(until - (self.now - since))
            hint = (
                f"an age counts back from now; as long before until is {before}"
                if self.is_age
                else "give since before until"
            )
            raise usage("the stretch of time ends before it begins", hint)
        return since, until


def window(since: Since = "", until: Until = "") -> TimeWindow:
    now = datetime.now(UTC)
    begins = moment(since, now) if since else None
    return TimeWindow(begins, moment(until, now) if until else None, now, seconds(since) is not None)


def where(where: WhereTexts = []) -> Where:  # noqa: B006 (FastAPI copies it)
    return read_where(where)


def read_where(texts: list[str], columns: dict[str, Column] | None = None) -> Where:
    return conditions.read(texts, datetime.now(UTC), columns)


def by_columns(by: str, columns: dict[str, Column] | None = None) -> tuple[str, ...]:
    """`a,b` as columns of the catalogue, each once."""
    words = [word for word in by.split(",") if word.strip()]
    if len(words) > 4:
        raise usage("by names more than four columns", "fewer of them")
    return tuple(dict.fromkeys(conditions.by_column(word, columns) for word in words))


Stretch = Annotated[TimeWindow, Depends(window)]
Conditions = Annotated[Where, Depends(where)]
