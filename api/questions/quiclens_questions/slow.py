"""Which requests were slow: the list, slowest first, and how many requests it was drawn from."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.documents import Coverage, ReportCoverage, SlowDocument, SlowRequest
from quiclens_questions.failure import usage
from quiclens_questions.moment import bound
from quiclens_questions.statements import ask, typed
from quiclens_questions.where import EVERYTHING, Where

ROWS_AT_MOST = 10_000


@dataclass(frozen=True)
class Slow:
    """What was asked: a stretch of time, a least duration, conditions, how many (of each value of `by`), and behind
    which request."""

    limit: int = 20
    since: datetime | None = None
    until: datetime | None = None
    min_us: int = 0
    where: Where = EVERYTHING
    by: str = ""
    after: "Cursor | None" = None


@dataclass(frozen=True)
class Cursor:
    """A place in a list: behind its last request so far. `text` is what an answer has as `next`."""

    duration_us: int | None
    request_id: str
    log_id: str = ""
    offset: int = 0
    """Where the request's line stands: several lines may mean the same stream."""

    @property
    def text(self) -> str:
        place = [self.duration_us, self.request_id, self.log_id, self.offset]
        text = json.dumps(place, separators=(",", ":"), ensure_ascii=False)
        return urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, cursor: str) -> "Cursor":
        """UsageMistake for a text that is no cursor."""
        try:
            read = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            duration_us, request_id, log_id, offset = read
            for number in (0 if duration_us is None else duration_us, offset):
                if type(number) is not int or not 0 <= number < 1 << 63:
                    raise ValueError(number)
            for text in (request_id, log_id):
                text.encode()  # which half a pair of surrogates is not
            return cls(duration_us, request_id, log_id, offset)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise usage("after is no cursor", "the `next` of an answer to the same question") from error


def slow(store: Store, question: Slow) -> SlowDocument:
    """The document of `slow`. A column of `by` that is not among the row's own is added under its name."""
    window = {
        "min_us": question.min_us,
        "since": bound(question.since) if question.since else None,
        "until": bound(question.until) if question.until else None,
    }
    following: str | None = None
    if question.by:
        parameters = {**window, "per_value": question.limit, "limit": ROWS_AT_MOST}
        rows = ask(store, "slow_by", parameters, question.where, by=[question.by]).dicts()
        for row in rows:
            row.setdefault(question.by, row["by_value"])
            del row["by_value"]
    else:
        after = question.after or Cursor(None, "")
        page = {
            "is_first": question.after is None,
            "after_us": after.duration_us,
            "after_id": after.request_id,
            "after_log": after.log_id,
            "after_offset": after.offset,
        }
        rows = ask(store, "slow", {**window, **page, "limit": question.limit + 1}, question.where).dicts()
        lines = [(row.pop("line_log_id"), row.pop("line_offset")) for row in rows]
        if len(rows) > question.limit:
            rows.pop()
            last = rows[-1]
            following = Cursor(last["duration_us"], last["request_id"], *lines[question.limit - 1]).text
    requests = typed(SlowRequest, rows)
    return {"requests": requests, "next": following, "coverage": coverage(store, question.where, window)}


def newest(store: Store) -> datetime | None:
    """When the newest request began; None where none has a time."""
    found: datetime | None = ask(store, "requests_extent").dicts()[0]["newest"]
    return found


def coverage(store: Store, where: Where, window: dict[str, Any] | None = None) -> Coverage:
    """How many requests an answer speaks of, how many of those have a trace, of how many of those records are missing
    (`repaired`, `damaged`), and their weight."""
    everything = {"min_us": 0, "since": None, "until": None}
    requests, traced, repaired, damaged, weight = ask(store, "traced_counts", everything | (window or {}), where).one()
    return {"requests": requests, "traced": traced, "repaired": repaired, "damaged": damaged, "weight": weight}


def report_coverage(store: Store, where: Where, window: dict[str, Any] | None = None) -> ReportCoverage:
    """The same for a report, which may add of how many of them its rows are."""
    found = coverage(store, where, window)
    return {
        "requests": found["requests"],
        "traced": found["traced"],
        "repaired": found["repaired"],
        "damaged": found["damaged"],
        "weight": found["weight"],
    }
