"""One connection: what its traces say of it, its streams and its episodes."""

import json
from typing import Any

from quiclens_schema.catalogue import CAUSES
from quiclens_schema.store import Store

from quiclens_questions.aliases import connections_called
from quiclens_questions.documents import (
    NOT_SHOWN,
    ConnectionDocument,
    ConnectionId,
    Counted,
    CountsDocument,
    Episode,
    EpisodesDocument,
    StreamsDocument,
    TracePlace,
)
from quiclens_questions.statements import ask, typed

TRACES_AT_MOST = 20
STREAMS_AT_MOST = 20_000
EPISODES_AT_MOST = 20_000
IDS_AT_MOST = 1_000
_TIME_MAX = (1 << 63) - 1

Row = dict[str, Any]


def traces(store: Store, connection_id: str) -> list[Row]:
    """The traces of a connection, called by any of its IDs; the first speaks for it. Empty when there is none."""
    found = ask(store, "connection_traces", {"connection_id": connection_id, "limit": TRACES_AT_MOST}).dicts()
    for other in connections_called(store, connection_id) if not found else ():
        found = found or ask(store, "connection_traces", {"connection_id": other, "limit": TRACES_AT_MOST}).dicts()
    return found


def chosen(found: list[Row], vantage: str = "", trace_id: str = "") -> Row | None:
    """The trace that was asked for, or that speaks for the connection; None when there is no such trace."""
    fitting = (each for each in found if vantage in ("", each["vantage"]) and trace_id in ("", each["trace_id"]))
    return next(fitting, None)


def connection_page(store: Store, trace: Row, found: list[Row]) -> ConnectionDocument:
    """What is known of the connection through this trace, its IDs, and which other traces there are of it."""
    place = place_of(trace)
    ids = ask(store, "connection_ids", {**place, "limit": IDS_AT_MOST}).dicts()
    return {
        "connection": shown(trace),
        "ids": typed(ConnectionId, ids),
        "traces": [
            {**place_of(each), "complete": each["complete"], "events_seen": each["events_seen"]} for each in found
        ],
    }


def counts(store: Store, trace: Row) -> CountsDocument:
    """How often each event, frame and packet type stands in the log, and how many bytes."""
    rows = ask(store, "connection_counts", {**place_of(trace), "limit": IDS_AT_MOST}).dicts()
    return {**place_of(trace), "counts": typed(Counted, rows)}


def streams(store: Store, trace: Row) -> StreamsDocument:
    """Every request stream with its clock and its parts, by its start."""
    rows = ask(store, "connection_streams", {**place_of(trace), "limit": STREAMS_AT_MOST}).dicts()
    return {**place_of(trace), "streams": [_stream(row) for row in rows]}


def stream_of(store: Store, trace: Row, stream_id: int) -> Row | None:
    """One request stream as this trace saw it; None where it saw none of that id."""
    named = {"connection_id": trace["connection_id"], "stream_id": stream_id, "limit": TRACES_AT_MOST}
    found = ask(store, "streams_named", named).dicts()
    return next((row for row in found if place_of(row) == place_of(trace)), None)


def episodes(
    store: Store, trace: Row, kinds: tuple[str, ...] = (), from_us: int = -_TIME_MAX, to_us: int = _TIME_MAX
) -> EpisodesDocument:
    """Stretches with one cause, by their start, those that are still open last, without an end."""
    asked = {"from_us": from_us, "to_us": to_us, "kinds": list(kinds), "limit": EPISODES_AT_MOST}
    rows = ask(store, "connection_episodes", {**place_of(trace), **asked}).dicts()
    return {**place_of(trace), "episodes": typed(Episode, rows), "open": json.loads(trace["open_episodes"] or "[]")}


def shown(trace: Row) -> Row:
    """A row of connections as an answer has it: the header and the open episodes as what they are, not as text."""
    texts = {"header": json.loads(trace["header"] or "{}"), "open_episodes": json.loads(trace["open_episodes"] or "[]")}
    return {name: value for name, value in trace.items() if name not in NOT_SHOWN} | texts


def place_of(trace: Row) -> TracePlace:
    """Which trace a row of `connections` is."""
    return {"connection_id": trace["connection_id"], "vantage": trace["vantage"], "trace_id": trace["trace_id"]}


def _stream(row: Row) -> Row:
    """A stream with its parts as one list, in vocabulary order, those that are zero left out."""
    parts = [{"cause": cause, "us": row[f"{cause}_us"]} for cause in CAUSES if row[f"{cause}_us"] > 0]
    own = {f"{cause}_us" for cause in CAUSES}
    kept = {name: value for name, value in row.items() if name not in own and name not in NOT_SHOWN}
    return kept | {"parts": parts}
