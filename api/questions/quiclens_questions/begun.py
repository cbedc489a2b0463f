"""What somebody looks for by a part of its name: requests by how their id begins, a whole connection, values."""

from collections.abc import Sequence
from dataclasses import dataclass

from quiclens_schema.store import Store

from quiclens_questions.aliases import connections_called
from quiclens_questions.documents import BegunRequest
from quiclens_questions.request_id import StreamName, stream_name
from quiclens_questions.statements import ask, typed

SHORTEST = 4
"""Characters that a beginning has at least: a shorter one begins too many ids to look through."""
CONNECTIONS_AT_MOST = 20
REQUESTS_AT_MOST = 20
VALUES_AT_MOST = 20


@dataclass(frozen=True)
class Begun:
    """Requests whose id begins so, the longest first, of so many in so many connections; `is_cut` where there are more
    connections, which were not looked at."""

    requests: Sequence[BegunRequest] = ()
    all: int = 0
    connections: int = 0
    is_cut: bool = False


def begun(store: Store, text: str) -> Begun:
    """By a connection's id, one of its aliases or the beginning of its id, with `/STREAM` or without. Traced requests
    alone: what only an access log knows has no such id."""
    named = stream_name(text) or StreamName(text.rstrip("/"), -1)
    if len(named.connection_id) < SHORTEST:
        return Begun()
    wanted = {"prefix": named.connection_id, "limit": CONNECTIONS_AT_MOST + 1}
    found = [str(name) for (name,) in ask(store, "connections_begun", wanted).rows]
    found = [*connections_called(store, named.connection_id), *found]
    every = list(dict.fromkeys(found))
    connections = every[:CONNECTIONS_AT_MOST]
    if not connections:
        return Begun()
    place = {"connections": connections, "stream_id": named.stream_id, "limit": REQUESTS_AT_MOST}
    rows = ask(store, "streams_begun", place).dicts()
    streams = int(rows[0]["streams"]) if rows else 0
    for row in rows:
        del row["streams"]
    return Begun(typed(BegunRequest, rows), streams, len(connections), len(every) > len(connections))


@dataclass(frozen=True)
class NamedValue:
    """A value that requests of the last week have in one of their columns, and how many."""

    column: str
    value: str
    requests: int


def values_called(store: Store, text: str) -> list[NamedValue]:
    """Values with these letters in them, whatever their case; the ones that are nothing else first."""
    rows = ask(store, "values_called", {"text": text, "limit": VALUES_AT_MOST}).rows
    return [NamedValue(str(column), str(value), int(requests)) for column, value, requests in rows]
