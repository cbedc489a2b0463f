"""Parameters that several questions share, as they stand in a URL, read by the same rules as on the command line."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Query
from quiclens_schema.catalogue import Column

from quiclens_questions import where as conditions
from quiclens_questions.failure import usage
from quiclens_questions.where import Where
from quiclens_questions.window import TimeWindow, time_window

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


def window(since: Since = "", until: Until = "") -> TimeWindow:
    return time_window(since, until, datetime.now(UTC))


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
