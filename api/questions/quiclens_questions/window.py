"""The stretch of time that somebody asks about."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from quiclens_questions.failure import usage
from quiclens_questions.moment import moment, seconds, whole_seconds


@dataclass(frozen=True)
class TimeWindow:
    """A stretch of time; an end is None where none was given. `now` is when it was asked; `is_age`: since was told as
    one."""

    since: datetime | None
    until: datetime | None
    now: datetime
    is_age: bool = False

    def __post_init__(self) -> None:
        if self.since and self.until and self.since >= self.until:
            raise usage("the stretch of time ends before it begins", self._hint(self.since, self.until))

    def closed(self, default: timedelta = timedelta(days=1)) -> tuple[datetime, datetime]:
        """Both ends: until now, and a day before that, where not given."""
        until = self.until or self.now
        since = self.since or datetime.fromtimestamp(until.timestamp(), UTC) - default
        if since >= until:
            raise usage("the stretch of time ends before it begins", self._hint(since, until))
        return since, until

    def _hint(self, since: datetime, until: datetime) -> str:
        if not self.is_age:
            return "give since before until"
        return f"an age counts back from now; as long before until is {whole_seconds(until - (self.now - since))}"


def time_window(since: str, until: str, now: datetime) -> TimeWindow:
    """Of two times in words (see `moment`); none where one is empty."""
    begins = moment(since, now) if since else None
    return TimeWindow(begins, moment(until, now) if until else None, now, seconds(since) is not None)
