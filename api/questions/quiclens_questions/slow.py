"""Which requests were slow: the list, slowest first, and how many requests it was drawn from.

A list by duration is full of what is always slow. Sorted by what is usual it begins with those that took the most times
as long as requests like them: the median of those with the same carrier, path and size of response, whatever else was
asked for, in the window and in twice as long a stretch before it. So what happened in the window alone changes little
of what is usual.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from quiclens_schema.store import Store

from quiclens_questions.documents import Coverage, ReportCoverage, SlowDocument, SlowRequest
from quiclens_questions.failure import usage
from quiclens_questions.moment import bound
from quiclens_questions.standardised import ATTRIBUTES
from quiclens_questions.statements import ask, ask_written, sql, typed
from quiclens_questions.where import EVERYTHING, Where

ROWS_AT_MOST = 10_000
ENOUGH = 20  # requests that tell what is usual

Sort = Literal["duration", "usual"]
_LONGEST = {"usual": "CAST(NULL, 'Nullable(UInt64)')", "place": "duration_us", "beside usual": ""}
_USUAL = "nullIf(median_us, 0)"
_THOUSANDTHS = (  # `least` passes over a NULL, and 1000 times a duration may be more than 64 bits hold
    "if(duration_us IS NULL OR median_us = 0, NULL,"
    " toUInt64(least(1000. * assumeNotNull(duration_us) / median_us, 1e15)))"
)
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Slow:
    """What was asked: a stretch of time, a least duration, conditions, how many (of each value of `by`), behind which
    request, and which come first."""

    limit: int = 20
    since: datetime | None = None
    until: datetime | None = None
    min_us: int = 0
    where: Where = EVERYTHING
    by: str = ""
    after: "Cursor | None" = None
    sort: Sort = "duration"


@dataclass(frozen=True)
class Cursor:
    """A place in a list: behind its last request so far. `text` is what an answer has as `next`."""

    place: int | None
    """What the list is sorted by: µs, or thousandths of what is usual."""
    request_id: str
    log_id: str = ""
    offset: int = 0
    """Where the request's line stands: several lines may mean the same stream."""

    @property
    def text(self) -> str:
        parts = [self.place, self.request_id, self.log_id, self.offset]
        text = json.dumps(parts, separators=(",", ":"), ensure_ascii=False)
        return urlsafe_b64encode(text.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, cursor: str) -> "Cursor":
        """UsageMistake for a text that is no cursor."""
        try:
            read = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
            place, request_id, log_id, offset = read
            for number in (0 if place is None else place, offset):
                if type(number) is not int or not 0 <= number < 1 << 63:
                    raise ValueError(number)
            for text in (request_id, log_id):
                text.encode()  # which half a pair of surrogates is not
            return cls(place, request_id, log_id, offset)
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
    values = values_shown = None
    marks, asked = _sorted(question)
    asked |= window
    if question.by:
        asked |= {"per_value": question.limit, "limit": ROWS_AT_MOST + 1}
        marks["column"] = f"`{question.by}`"
        rows = ask_written(store, "slow_by", question.where, marks, asked).dicts()
        if len(rows) > ROWS_AT_MOST:
            rows.pop()
            values = ask_written(store, "slow_values", question.where, {"column": marks["column"]}, window).one()[0]
            values_shown = len({row["by_value"] for row in rows})
        for row in rows:
            row.setdefault(question.by, row["by_value"])
            del row["by_value"]
    else:
        after = question.after or Cursor(None, "")
        asked |= {
            "is_first": question.after is None,
            "after_place": after.place,
            "after_id": after.request_id,
            "after_log": after.log_id,
            "after_offset": after.offset,
            "limit": question.limit + 1,
        }
        rows = ask_written(store, "slow", question.where, marks, asked).dicts()
        places = [
            Cursor(row.pop("place"), row["request_id"], row.pop("line_log_id"), row.pop("line_offset")) for row in rows
        ]
        if len(rows) > question.limit:
            rows.pop()
            following = places[question.limit - 1].text
    requests = typed(SlowRequest, rows)
    return {
        "requests": requests,
        "next": following,
        "values": values,
        "values_shown": values_shown,
        "coverage": coverage(store, question.where, window),
    }


def _sorted(question: Slow) -> tuple[dict[str, str], dict[str, Any]]:
    """What a statement sorts by, and the parameters of that."""
    if question.sort == "duration":
        return dict(_LONGEST), {}
    usual_since = _BEGINNING
    if question.since:
        usual_since = question.since - 2 * ((question.until or datetime.now(UTC)) - question.since)
    by_all = {f"by_{name}": True for name in ATTRIBUTES}
    marks = {"usual": _USUAL, "place": _THOUSANDTHS, "beside usual": sql("beside_usual")}
    return marks, {"usual_since": bound(max(usual_since, _BEGINNING)), "enough": ENOUGH, **by_all}


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
