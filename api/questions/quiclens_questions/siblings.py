"""What a request that nobody traced is likely to have waited for: what traced requests like it spent their time on.

It is never said to be the request's own. Taken are traced requests of about that time. What they waited for may depend
on any of the columns in `ATTRIBUTES`, on the size of the response, on how long they took, and on when they began: of
all these, that is taken which makes the most difference (`statistics/splits.py`), then those are kept that are like
the request in it, and so on, as long as the difference is no accident. So an incident that touches one carrier for
seven minutes is told from what was usual there before, and from others; and where those that differ from all others
are few, they are too few to say anything.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from typing import Any

from quiclens_schema.catalogue import CAUSES
from quiclens_schema.store import Store

from quiclens_questions.documents import SiblingCause, Siblings
from quiclens_questions.moment import bound
from quiclens_questions.statements import ask_written
from quiclens_questions.statistics.ratios import share_of_sum
from quiclens_questions.statistics.splits import chance, gain
from quiclens_questions.where import EVERYTHING

ATTRIBUTES = (
    "carrier", "city", "network_type", "pop", "server", "server_release", "path", "app_version", "device",
    "stack_version",
)  # fmt: skip
SIZE, AS_LONG, LONG = "response_bytes", "duration_us", "duration_us_or_more"
FEWEST, OF_FEWEST = 8, 6  # requests that say what is usual, and users or connections that they are of
TOLD_APART = 3  # requests that can differ from others by more than accident
ENOUGH = 1_000  # that were found near enough in time
AT_MOST = 6_000
NEAR, FAR = timedelta(minutes=5), timedelta(hours=3)
SINCE_S = (60, 120, 300, 600, 1_200, 2_400, 4_800)
LEVEL = 0.01  # chance that one of the differences that are gone by is an accident
STANDS_OUT = 2 / 3  # of the requests: as often a cause must be the largest part to be what they have in common
EXAMPLES = 3

Row = dict[str, Any]


@dataclass(frozen=True)
class _Likeness:
    """A way in which a traced request may be like the one without a trace: by a bit of `same`, or by when it began."""

    column: str = ""
    bit: int = 0
    earliest_us: float = -math.inf
    latest_us: float = math.inf

    def holds(self, row: Row) -> bool:
        return (not self.bit or bool(row["same"] & self.bit)) and self.earliest_us <= row["later_us"] <= self.latest_us


def siblings(store: Store, request: Row) -> Siblings | None:
    """Those of a request without a trace; None where there can be none, as over TCP, or where nobody knows when it
    was."""
    at = request.get("started_at")
    if request.get("protocol") != "h3" or at is None:
        return None
    known = [name for name in ATTRIBUTES if request.get(name) is not None]
    given = {
        "at": bound(at),
        "protocol": request["protocol"],
        "others": [str(request[name]) for name in known],
        "bytes": request["response_bytes"] or 0,
        "took_us": _took_us(request),
        "connection_id": request["connection_id"],
        "limit": AT_MOST,
    }
    marks = {"values": ", ".join(f"ifNull(toString(`{name}`), '\\0')" for name in known) or "''"}
    rows: list[Row] = []
    for within in (NEAR, FAR):
        window = {"since": bound(at - within), "until": bound(at + within)}
        rows = ask_written(store, "siblings", EVERYTHING, marks, {**given, **window}).dicts()
        if len(rows) >= ENOUGH:
            break
    return siblings_of(rows, [*known, SIZE, AS_LONG, LONG])


def siblings_of(rows: Sequence[Row], columns: Sequence[str]) -> Siblings:
    """Of the rows of the question; the bits of `same` are these columns, in their order."""
    among, alike_in = _likest(rows, columns)
    causes = _causes(among) if _are_enough(among) else []
    return {
        "requests": len(among),
        "clusters": len({row["cluster"] for row in among}),
        "alike_in": alike_in,
        "unseen_in": [
            name
            for place, name in enumerate(columns)
            if name in ATTRIBUTES and not any(row["same"] >> place & 1 for row in rows)
        ],
        "within_s": -(-max((abs(row["later_us"]) for row in among), default=0) // 1_000_000),
        "top_cause": next(
            (each["cause"] for each in causes[:1] if each["largest_of"] >= STANDS_OUT * len(among)), None
        ),
        "causes": causes,
        "examples": [row["request_id"] for row in among[:EXAMPLES]],
    }


def _took_us(request: Row) -> int:
    return request.get("duration_us") or request.get("logged_duration_us") or 0


def _are_enough(rows: Sequence[Row]) -> bool:
    return len(rows) >= FEWEST and len({row["cluster"] for row in rows}) >= OF_FEWEST


def _likest(rows: Sequence[Row], columns: Sequence[str]) -> tuple[Sequence[Row], list[str]]:
    """Those that are like the request in all that makes a difference, and in which columns they are."""
    ways = list(_ways(columns))
    alike_in: list[str] = []
    while True:
        difference, best = max(((_difference(rows, way), way) for way in ways), key=lambda each: each[0])
        if difference <= 0:
            is_said = {*alike_in} - ({LONG} if AS_LONG in alike_in else set())
            return rows, [column for column in columns if column in is_said]
        rows = [row for row in rows if best.holds(row)]
        if best.column:
            alike_in.append(best.column)


def _ways(columns: Sequence[str]) -> Iterator[_Likeness]:
    for place, column in enumerate(columns):
        yield _Likeness(column, 1 << place)
    for seconds in SINCE_S:
        yield _Likeness(earliest_us=-seconds * 1e6)
        yield _Likeness(latest_us=seconds * 1e6)


def _difference(rows: Sequence[Row], way: _Likeness) -> float:
    """How much difference this likeness makes to the largest part, by one request of each cluster; 0 where that may be
    an accident."""
    parts: tuple[list[Row], list[Row]] = ([], [])
    for row in rows:
        parts[way.holds(row)].append(row)
    outside, inside = parts
    if not outside or len(inside) < TOLD_APART:
        return 0.0
    alike, others = _largest(inside), _largest(outside)
    tests = 2 * len(SINCE_S) + len(ATTRIBUTES) + 3
    return gain(alike, others) if chance(alike, others) * tests <= LEVEL else 0.0


def _largest(rows: Sequence[Row]) -> Counter[int]:
    """Of how many clusters each cause is the largest part, by their first request."""
    return Counter({row["cluster"]: row["largest"] for row in reversed(rows)}.values())


def _causes(rows: Sequence[Row]) -> list[SiblingCause]:
    """Share of the time of all that each cause has, and of how many it is the largest part, those with most of them
    first; causes without a part are left out."""
    of_cluster = groupby(sorted(rows, key=lambda row: str(row["cluster"])), key=lambda row: row["cluster"])
    clusters = [list(each) for _, each in of_cluster]
    whole = [sum(row["trace_weight"] * row["duration"] for row in each) for each in clusters]
    largest = Counter(row["largest"] for row in rows)
    found: list[SiblingCause] = []
    for place, cause in enumerate(CAUSES):
        spent = [sum(row["trace_weight"] * row["spent"][place] for row in each) for each in clusters]
        if sum(spent) > 0:
            share, low, high = share_of_sum(list(zip(spent, whole, strict=True))).rounded(4)
            found.append({"cause": cause, "share": share, "low": low, "high": high, "largest_of": largest[place]})
    return sorted(found, key=lambda each: (-each["largest_of"], -(each["share"] or 0)))
