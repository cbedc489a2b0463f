"""Times on the command line: RFC 3339, or an age such as 15m, 2h, 7d; always UTC."""

import re
from datetime import UTC, datetime, timedelta

from quiclens_questions.failure import usage

_AGE = re.compile(r"(\d{1,9})(s|m|h|d)")
_FIRST = datetime(1900, 1, 1, tzinfo=UTC)
_LAST = datetime(2299, 12, 31, 23, 59, 59, 999_999, UTC)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def moment(text: str, now: datetime) -> datetime:
    """Read one time; an age counts back from `now`. A time without a zone is UTC."""
    if match := _AGE.fullmatch(text.strip()):
        try:
            return now - timedelta(**{_UNITS[match[2]]: int(match[1])})
        except OverflowError:
            raise usage(f"{text!r} is longer ago than time goes") from None
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        raise usage(f"{text!r} is no time", "write RFC 3339, 2026-11-21T08:00:00Z, or an age: 15m, 2h, 7d") from None
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)


def seconds(text: str) -> int | None:
    """A length of time, 15m, 2h, 7d, in seconds; None for anything else."""
    match = _AGE.fullmatch(text.strip())
    return round(timedelta(**{_UNITS[match[2]]: 1}).total_seconds()) * int(match[1]) if match else None


def seconds_ago(instant: datetime, now: datetime) -> int:
    """How long ago, in whole seconds; what a clock says is still to come is 0 s ago."""
    return max(0, round((now - instant).total_seconds()))


def bound(instant: datetime) -> str:
    """The form in which ClickHouse takes a DateTime64(6, 'UTC') parameter that times of the store are compared with.

    DateTime64 goes from 1900 to 2299, and no time in the store lies beyond: an instant that does compares as the
    nearest end.
    """
    within = min(max(instant.astimezone(UTC), _FIRST), _LAST)
    return within.strftime("%Y-%m-%d %H:%M:%S.%f")


def rfc3339(instant: datetime) -> str:
    """The form in which documents carry an instant: microseconds, Z. A naive value is UTC."""
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def whole_seconds(instant: datetime) -> str:
    """RFC 3339 for eyes and addresses: without what is less than a second."""
    return f"{rfc3339(instant)[:19]}Z"
