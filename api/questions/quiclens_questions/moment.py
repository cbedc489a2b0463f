"""Times on the command line and in addresses: RFC 3339, a time of day, or an age such as 15m, 1h30m, 7d; always UTC."""

import re
from datetime import UTC, datetime, timedelta

from quiclens_questions.failure import usage

_LENGTH = re.compile(r"(?:\d{1,9}[smhd])+")
_PART = re.compile(r"(\d+)([smhd])")
_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
FIRST = datetime(1900, 1, 1, tzinfo=UTC)
LAST = datetime(2299, 12, 31, 23, 59, 59, 999_999, UTC)
"""The moments that a DateTime64 of the store can hold."""
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def moment(text: str, now: datetime) -> datetime:
    """Read one time. An age, which may follow `now-` or `-`, counts back from `now`; a time of day is the last one
    that was. A time without a zone is UTC. UsageMistake for what is no time, and for one that the store cannot hold."""
    try:
        read = _read(text, now)
    except OverflowError:  # beyond the years that Python has
        read = None
    if read is None or not FIRST <= read <= LAST:
        raise usage(
            f"{text!r} is no time that the store can hold: those are from {FIRST:%Y-%m-%d} to {LAST:%Y-%m-%d}",
            "a time within them",
        )
    return read


def _read(text: str, now: datetime) -> datetime:
    words = text.strip()
    if words == "now":
        return now
    try:
        if (length := _length(words.removeprefix("now").removeprefix("-"))) is not None:
            return now - length
        if match := _TIME_OF_DAY.fullmatch(words):
            hour, minute, second = (int(each or 0) for each in match.groups())
            today = now.astimezone(UTC).replace(hour=hour, minute=minute, second=second, microsecond=0)
            return today if today <= now else today - timedelta(days=1)
    except ValueError:  # an hour or a minute that is none
        pass
    try:
        read = datetime.fromisoformat(words)
    except ValueError:
        raise usage(
            f"{text!r} is no time",
            "write RFC 3339, 2026-11-21T08:00:00Z, a time of day, 10:30, or an age: 15m, 1h30m, 7d",
        ) from None
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)


def _length(text: str) -> timedelta | None:
    if not _LENGTH.fullmatch(text):
        return None
    parts = (timedelta(**{_UNITS[unit]: int(count)}) for count, unit in _PART.findall(text))
    return sum(parts, timedelta())


def seconds(text: str) -> int | None:
    """A length of time, 15m, 2h, 1h30m, 7d, in seconds; None for anything else."""
    try:
        length = _length(text.strip())
    except OverflowError:
        return None
    return None if length is None else round(length.total_seconds())


def seconds_ago(instant: datetime, now: datetime) -> int:
    """How long ago, in whole seconds; what a clock says is still to come is 0 s ago."""
    return max(0, round((now - instant).total_seconds()))


def bound(instant: datetime) -> str:
    """The form in which ClickHouse takes a DateTime64(6, 'UTC') parameter that times of the store are compared with.

    No time in the store lies before `FIRST` or after `LAST`: an instant that does, since it was counted from another,
    compares as the nearest end.
    """
    within = min(max(instant.astimezone(UTC), FIRST), LAST)
    return within.strftime("%Y-%m-%d %H:%M:%S.%f")


def rfc3339(instant: datetime) -> str:
    """The form in which documents carry an instant: microseconds, Z. A naive value is UTC."""
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def whole_seconds(instant: datetime) -> str:
    """RFC 3339 for eyes and addresses: without what is less than a second."""
    return f"{rfc3339(instant)[:19]}Z"
