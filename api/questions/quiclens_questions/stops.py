"""Two questions of every slow connection: were we blocked, and how long did a recovery take?"""

from collections.abc import Sequence
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.connection_page import episodes
from quiclens_questions.documents import Episode, Stop, StopsDocument

# Episodes of the whole connection that stop its sender, as CAUSES.md has them.
BLOCKING = (
    "amplification",
    "connection_flow_control",
    "stream_flow_control",
    "stream_limit",
    "cwnd_blocked",
    "bandwidth",
    "pacing",
    "app_limited",
)
RECOVERING = ("recovery", "repair", "pto", "spurious_loss")

Row = dict[str, Any]


def blocked(store: Store, trace: Row) -> StopsDocument:
    """By what the sender was stopped, how often and how long; stretches of one kind that overlap count once."""
    return _asked(store, trace, BLOCKING)


def recovery(store: Store, trace: Row) -> StopsDocument:
    """Recovery periods, repairs of lost data, probe timeouts and losses that were none: how many, how long."""
    return _asked(store, trace, RECOVERING)


def _asked(store: Store, trace: Row, kinds: tuple[str, ...]) -> StopsDocument:
    document = episodes(store, trace, kinds)
    cannot_show = [cause for cause in trace["cannot_show"] if cause in kinds]
    return {
        **document,
        "open": [each for each in document["open"] if each in kinds],
        "kinds": list(_summaries(document["episodes"], kinds)),
        "duration_us": trace["duration_us"],
        "cannot_show": cannot_show,
    }


def _summaries(rows: Sequence[Episode], kinds: Sequence[str]) -> list[Stop]:
    found: list[Stop] = []
    for kind in kinds:
        spans = [(row["start_us"], row["end_us"]) for row in rows if row["kind"] == kind]
        if spans:
            lengths = sorted(end - start for start, end in spans)
            found.append(
                {
                    "kind": kind,
                    "episodes": len(spans),
                    "total_us": covered(spans),
                    "median_us": lengths[len(lengths) // 2],
                    "longest_us": lengths[-1],
                }
            )
    return found


def covered(spans: Sequence[tuple[int, int]]) -> int:
    """The length of the union of stretches."""
    total, until = 0, None
    for start, end in sorted(spans):
        if until is None or start > until:
            total, until = total + end - start, end
        elif end > until:
            total, until = total + end - until, end
    return total
