"""What `/api/v1/watch` is asked, read by the rules of the command line's options."""

from datetime import datetime

from quiclens_schema import catalogue

from quiclens_questions import where as conditions
from quiclens_questions.failure import usage
from quiclens_questions.moment import seconds
from quiclens_questions.watch import BUCKET_S, BY_AT_MOST, DIMENSIONS, Watch

_LONGEST_S = 366 * 86_400
_YEARS = range(1980, 2100)  # what the store's whole seconds reach, a year or two before it too


def watched(window: str, baseline: str, by: str, until: datetime) -> Watch:
    """UsageMistake for what is no length of whole five minutes, or no column of the rollups."""
    rollups = catalogue.load().table("request_rollups")
    known = {name: rollups.column(name) for name in DIMENSIONS}
    words = [word for word in by.split(",") if word.strip()]
    columns = tuple(dict.fromkeys(conditions.by_column(word, known) for word in words))
    if not 1 <= len(columns) <= BY_AT_MOST:
        raise usage(f"--by names {len(columns)} columns", f"one to {BY_AT_MOST} of {', '.join(DIMENSIONS)}")
    if until.year not in _YEARS:
        raise usage(f"--until {until:%Y-%m-%d} is out of reach", f"a year from {_YEARS[0]} to {_YEARS[-1]}")
    return Watch(until, _seconds("--window", window), _seconds("--baseline", baseline), columns)


def _seconds(option: str, text: str) -> int:
    length = seconds(text)
    if length is None or not 0 < length <= _LONGEST_S or length % BUCKET_S:
        raise usage(f"{option} {text!r} is no number of whole five minutes", f"{option} 5m, 1h or 1d; a year at most")
    return length
