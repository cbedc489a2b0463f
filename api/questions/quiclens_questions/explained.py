"""The document that explains a request, made of what the store said; nothing is asked here."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quiclens_schema.catalogue import CAUSES

from quiclens_questions.documents import Episode, Event, Explained, ExplainedCoverage, Part, Siblings
from quiclens_questions.events_around import EventsAround
from quiclens_questions.facts import facts, in_vocabulary_order
from quiclens_questions.failure import CannotRun
from quiclens_questions.savings import interval_us
from quiclens_questions.sentence import sentence, untraced
from quiclens_questions.statements import typed

# Who read which file last, and how rows replace each other, are no part of an answer.
_NOT_SHOWN = ("header", "source_file", "version", "trace_day")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Episodes:
    """The first episodes of a request; where these are not all, how many there are and what all say."""

    first: list[Row]
    all: int
    counted: Row
    """Of all, by names of `Facts`; empty where the first are all."""


def explained(
    request: Row, stream: Row, connection: Row, episodes: Episodes, others: int, around: EventsAround
) -> Explained:
    """The explanation of a stream; `request` is empty where no line of an access log speaks of it, `others` is how many
    more requests were under way."""
    parts = parts_of(stream)
    top = max(parts, key=lambda part: part["us"], default=None)
    return {
        "request_id": request.get("request_id") or f"{stream['connection_id']}/{stream['stream_id']}",
        "duration_us": stream["duration_us"],
        "logged_duration_us": request.get("logged_duration_us"),
        "complete": stream["complete"],
        "parts": parts,
        "top_cause": top["cause"] if top else None,
        "unattributed_us": stream["unattributed_us"],
        "grade": stream["grade"],
        "imputed_us": stream["imputed_us"],
        "bounds_us": bounds_of(stream),
        "cannot_show": in_vocabulary_order(stream["cannot_show"]),
        "overlapping": {cause: us for cause, us in sorted(stream["overlapping"].items())},
        "sentence": sentence(facts(stream, parts, episodes.first, connection, others, episodes.counted)),
        "episodes": typed(Episode, episodes.first),
        "episodes_all": episodes.all,
        "episodes_cut": episodes.all > len(episodes.first),
        "events": typed(Event, around.events),
        "events_all": around.all,
        "connection": _shown(connection),
        "coverage": _coverage(request, connection),
        "siblings": None,
    }


def without_trace(request_id: str, request: Row, siblings: Siblings | None = None) -> Explained:
    """A request that no trace speaks for, or no request at all: nothing is made up, and what is said of its siblings is
    theirs."""
    return {
        "request_id": request.get("request_id", request_id),
        "duration_us": request.get("duration_us"),
        "logged_duration_us": request.get("logged_duration_us"),
        "complete": request.get("complete"),
        "parts": [],
        "top_cause": None,
        "unattributed_us": None,
        "grade": None,
        "imputed_us": None,
        "bounds_us": {},
        "cannot_show": [],
        "overlapping": {},
        "sentence": untraced(request_id, request, siblings),
        "episodes": [],
        "episodes_all": 0,
        "episodes_cut": False,
        "events": [],
        "events_all": 0,
        "connection": {},
        "coverage": {
            "requests": 1 if request else 0,
            "traced": 0,
            "weight": request.get("weight", 0.0),
            "coverage": "none",
            "link": request.get("link", "none"),
            "events_seen": None,
            "events_kept": None,
        },
        "siblings": siblings,
    }


def parts_of(stream: Mapping[str, Any]) -> list[Part]:
    """Every cause above zero in vocabulary order. A row whose parts do not add up is our own mistake: stop."""
    parts: list[Part] = [
        {
            "cause": cause,
            "us": stream[f"{cause}_us"],
            "known": "inferred" if cause in stream["inferred"] else "observed",
            "bounds_us": bounds_of(stream).get(cause),
            "saves_us": stream["saves"].get(cause),
            "saves_interval_us": interval_us(cause, stream["saves"].get(cause), stream["duration_us"]),
        }
        for cause in CAUSES
        if stream[f"{cause}_us"] > 0
    ]
    total = sum(part["us"] for part in parts)
    if total != stream["duration_us"]:
        name = f"{stream['connection_id']}/{stream['stream_id']}"
        message = f"the parts of {name} are {total} us, its duration is {stream['duration_us']} us"
        raise CannotRun("parts_do_not_add_up", message, "load the log again with this version, and report this")
    return parts


def bounds_of(stream: Mapping[str, Any]) -> dict[str, list[int]]:
    """Least and most, us, of each part that is not known exactly, and of the duration; none while none is missing."""
    low, high = stream["bounds_low"], stream["bounds_high"]
    return {name: [low.get(name, 0), high[name]] for name in (*CAUSES, "duration") if name in high}


def _shown(connection: Row) -> Row:
    shown = {name: value for name, value in connection.items() if value is not None and name not in _NOT_SHOWN}
    if isinstance(shown.get("open_episodes"), str):  # the column is JSON text
        shown["open_episodes"] = json.loads(shown["open_episodes"] or "[]")
    return shown


def _coverage(request: Row, connection: Row) -> ExplainedCoverage:
    kept = connection.get("events_kept")
    unlinked = "summary" if kept != "all" else "full" if connection.get("complete") else "partial"
    return {
        "requests": 1,
        "traced": 1,
        "weight": request.get("weight", 1.0),
        "coverage": request.get("coverage", unlinked),
        "link": request.get("link", "none"),
        "events_seen": connection.get("events_seen"),
        "events_kept": kept,
    }
