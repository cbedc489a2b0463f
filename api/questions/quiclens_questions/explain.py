"""Why one request took as long as it did: its parts, which add up, and what the log shows around it."""

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from quiclens_schema.store import Result, Store

from quiclens_questions.aliases import connections_called
from quiclens_questions.documents import Explained
from quiclens_questions.events_around import events_around
from quiclens_questions.explained import Episodes, explained, without_trace
from quiclens_questions.request_id import StreamName, stream_name
from quiclens_questions.siblings import siblings
from quiclens_questions.statements import ask, together

_EPISODES_AT_MOST = 500
_NAMESAKES_AT_MOST = 10
_TRACES_AT_MOST = 100  # that saw one stream
_TRACE = ("connection_id", "vantage", "trace_id")
_PARTITION = (*_TRACE, "trace_day")
_PLACE = (*_PARTITION, "analysis_version", "stream_id", "start_us", "end_us")

Row = dict[str, Any]


@dataclass(frozen=True)
class Explanation:
    """The document, and what only the human form shows."""

    document: Explained
    request: Row
    stream: Row | None
    namesakes: tuple[str, ...] = ()

    @property
    def is_found(self) -> bool:
        return bool(self.request) or self.stream is not None

    def told(self, name: str) -> Any:
        """What the request says, else its stream; None where neither does."""
        return next((row[name] for row in (self.request, self.stream or {}) if row.get(name) is not None), None)

    @property
    def line(self) -> str:
        """`GET /video/1.m4s`; empty where neither is known."""
        return " ".join(str(value) for name in ("method", "path") if (value := self.told(name)))

    @property
    def about(self) -> list[str]:
        """Its status, and who was served where by whom."""
        status = self.told("status")
        names = ("carrier", "region", "city", "network_type", "server")
        told = [str(value) for name in names if (value := self.request.get(name))]
        return [f"status {status}", *told] if status else told


def explain(store: Store, request_id: str) -> Explanation:
    """Find a request by any of its names, and explain it from the trace that speaks for it."""
    known, named = together(partial(_known, store, request_id), partial(_named, store, stream_name(request_id)))
    request = known[0] if known else {}
    stream = _stream(store, request, request_id, named)
    if stream is None:
        like_it = siblings(store, request) if request else None
        return Explanation(without_trace(request_id, request, like_it), request, None, _others(known))
    return Explanation(_document(store, request, stream), request, stream, _others(known))


def _known(store: Store, name: str) -> list[Row]:
    """The request of this id, else those whose external id it is, slowest first."""
    for question in ("request", "request_called"):
        if found := ask(store, question, {"name": name, "limit": _NAMESAKES_AT_MOST + 1}).dicts():
            return found
    return []


def _named(store: Store, name: StreamName | None) -> list[Row]:
    """A stream as each of its traces saw it. Asked beside the request, whose name mostly is that of its stream."""
    if name is None:
        return []
    return ask(store, "streams_named", {**asdict(name), "limit": _TRACES_AT_MOST}).dicts()


def _stream(store: Store, request: Row, request_id: str, named: list[Row]) -> Row | None:
    """The request's stream; a stream that `link` has not seen yet is found by its name alone, or by an alias."""
    name = stream_name(request_id)
    if request:
        if request["trace_id"] is None or request["stream_id"] is None:
            return None
        own = StreamName(request["connection_id"], request["stream_id"])
        seen = named if own == name else _named(store, own)
        return next((row for row in seen if all(row[each] == request[each] for each in _TRACE)), None)
    if name is None:
        return None
    found = _stream_of(store, name.connection_id, name.stream_id)
    for connection_id in connections_called(store, name.connection_id) if found is None else ():
        found = found or _stream_of(store, connection_id, name.stream_id)
    return found


def _stream_of(store: Store, connection_id: str, stream_id: int) -> Row | None:
    return _first(ask(store, "stream", {"connection_id": connection_id, "stream_id": stream_id}))


def _first(found: Result) -> Row | None:
    rows = found.dicts()
    return rows[0] if rows else None


def _connection(store: Store, stream: Row) -> Row:
    return _first(ask(store, "connection_of_trace", {name: stream[name] for name in _PARTITION})) or {}


def _document(store: Store, request: Row, stream: Row) -> Explained:
    questions = (_connection, _episodes, _other_requests, events_around)
    return explained(request, stream, *together(*(partial(each, store, stream) for each in questions)))


def _episodes(store: Store, stream: Row) -> Episodes:
    place = {name: stream[name] for name in _PLACE}
    rows = ask(store, "episodes", {**place, "limit": _EPISODES_AT_MOST + 1}).dicts()
    first = [{name: value for name, value in row.items() if value is not None} for row in rows[:_EPISODES_AT_MOST]]
    if len(rows) <= _EPISODES_AT_MOST:
        return Episodes(first, len(first), {})
    counted = ask(store, "episode_facts", place).dicts()[0]
    return Episodes(first, counted.pop("episodes"), counted)


def _other_requests(store: Store, stream: Row) -> int:
    """Requests of the same trace that were under way at the same time."""
    place = {name: stream[name] for name in _PLACE}
    (count,) = ask(store, "other_requests", place).one()
    return int(count)


def _others(known: list[Row]) -> tuple[str, ...]:
    """The other requests of the same name, and … where there are more."""
    others = tuple(row["request_id"] for row in known[1:_NAMESAKES_AT_MOST])
    return (*others, "…") if len(known) > _NAMESAKES_AT_MOST else others
