"""What is counted of damaged logs, so that the counts of any number of logs can be added."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields

from quiclens_lab.damage.answers import DURATION, Answer, LogAnswers, Request

CLOSE = 0.05
"""A duration within this share of the whole log's is right."""
EXACT = 0.01
"""A part that is said to be known exactly is wrong where it is off by more of the duration."""
BINS = 1000
"""Of a share, in a histogram."""
NO_GRADE = "no grade"
CLOCK = ("clock_step", "time_went_back")
"""What a step of the clock is noticed as; a log that is out of order, as the latter too."""


@dataclass
class Tally:
    """The requests of logs with one damage, against the answers for the whole logs."""

    logs: int = 0
    requests: int = 0
    graded: Counter[str] = field(default_factory=Counter)
    """Requests with an answer, by grade; the rest is not found."""
    top_right: Counter[str] = field(default_factory=Counter)
    duration_right: Counter[str] = field(default_factory=Counter)
    moved: Counter[int] = field(default_factory=Counter)
    """Thousandths of the duration that stand elsewhere, rounded up, of the requests found."""
    unattributed: Counter[int] = field(default_factory=Counter)
    noticed: Counter[str] = field(default_factory=Counter)
    """Logs in which the collector noticed damage of each kind; `any` of any kind, `clock` of one of `CLOCK`."""
    all_graded: Counter[str] = field(default_factory=Counter)
    """Every request, however fast, by grade; of whole logs only."""
    logs_noticing: int = 0
    """Logs of which the collector said what it noticed, even where that was nothing."""
    bounded: int = 0
    contained: int = 0
    widths: Counter[int] = field(default_factory=Counter)
    """Thousandths of the duration between the bounds of a part, rounded up."""
    exact: int = 0
    exact_wrong: int = 0

    def add(self, other: "Tally") -> None:
        """Take up the counts of other logs."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    @property
    def found(self) -> int:
        return self.graded.total()

    @property
    def is_graded(self) -> bool:
        return self.found > 0 and NO_GRADE not in self.graded

    def judge(self, whole: dict[Request, Answer], damaged: LogAnswers) -> list[Request]:
        """Count the requests of one log; those whose top part is another one are returned."""
        self.logs += 1
        self.requests += len(whole)
        if damaged.damage is not None:
            self.logs_noticing += 1
            kinds = [kind for kind, count in damaged.damage.items() if count]
            clock = any(kind in kinds for kind in CLOCK)
            self.noticed.update([*kinds, *(["any"] if kinds else []), *(["clock"] if clock else [])])
        return [
            request for request, of_whole in whole.items() if not self._judge(of_whole, damaged.requests.get(request))
        ]

    def _judge(self, whole: Answer, found: Answer | None) -> bool:
        if found is None:
            return False
        grade = found.grade or NO_GRADE
        assert whole.duration_us is not None
        is_right = found.top == whole.top
        is_close = found.duration_us is not None and abs(found.duration_us - whole.duration_us) <= (
            CLOSE * whole.duration_us
        )
        self.graded[grade] += 1
        self.top_right[grade] += is_right
        self.duration_right[grade] += is_close
        self.moved[_bin(found.moved_from(whole))] += 1
        self.unattributed[_bin(found.parts["unattributed"] / (sum(found.parts.values()) or 1))] += 1
        if found.grade is not None:
            self._judge_bounds(whole, found)
        return is_right

    def _judge_bounds(self, whole: Answer, found: Answer) -> None:
        assert whole.duration_us is not None
        true = {**whole.parts, DURATION: whole.duration_us}
        said = {**found.parts, DURATION: found.duration_us or 0}
        for name in {**true, **said}:
            truth = true.get(name, 0)
            if name not in found.low and name not in found.high:
                self.exact += 1
                self.exact_wrong += abs(said.get(name, 0) - truth) > EXACT * whole.duration_us
                continue
            low, high = found.low.get(name, 0), found.high.get(name)
            self.bounded += 1
            self.contained += low <= truth and (high is None or truth <= high)
            width = whole.duration_us if high is None else high - low
            self.widths[_bin(width / whole.duration_us)] += 1


def _bin(share: float) -> int:
    return min(10 * BINS, -int(-share * BINS // 1))


def quantile_of(bins: Counter[int], share: float) -> float | None:
    """The value of a histogram of thousandths below or at which this share lies; None of nothing."""
    left = share * bins.total()
    for value in sorted(bins):
        left -= bins[value]
        if left <= 0 and bins[value]:
            return value / BINS
    return None


def mean_of(bins: Counter[int]) -> float | None:
    """The mean of a histogram of thousandths."""
    return sum(value * count for value, count in bins.items()) / bins.total() / BINS if bins else None


def added(tallies: Iterable[Tally]) -> Tally:
    """All of them together."""
    whole = Tally()
    for each in tallies:
        whole.add(each)
    return whole
