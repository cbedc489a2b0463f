"""One connection: what is known of it, its streams, its stops, its events, and what pictures of it are drawn from."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from quiclens_questions import documents
from quiclens_questions.connection_page import chosen, connection_page, counts, episodes, streams, traces
from quiclens_questions.event_log import PAGE_AT_MOST, Search, event_log
from quiclens_questions.series import BUCKETS, View, series
from quiclens_questions.stops import blocked, recovery
from quiclens_web.api.answering import NotFound, QuestionRunner, asking
from quiclens_web.api.strict import StrictRoute

router = APIRouter(route_class=StrictRoute, prefix="/api/v1/connections/{connection_id:path}", tags=["connections"])

_TIME_MAX = (1 << 62) - 1
App = Annotated[QuestionRunner, Depends(asking)]
FromUs = Annotated[int, Query(ge=-_TIME_MAX, le=_TIME_MAX, description="us since the trace's first record.")]
ToUs = Annotated[int | None, Query(ge=-_TIME_MAX, le=_TIME_MAX, description="us since the trace's first record.")]
_SEQ_MAX = (1 << 63) - 1


@dataclass(frozen=True)
class ChosenTrace:
    """The trace that was asked for, and all traces of its connection."""

    trace: dict[str, Any]
    traces: list[dict[str, Any]]


async def trace_of(
    app: App,
    connection_id: Annotated[str, Path(max_length=256, description="Any ID that the connection used.")],
    vantage: Annotated[str, Query(max_length=16, description="`server`, `client` or `network`.")] = "",
    trace_id: Annotated[str, Query(max_length=32, description="Else the trace that speaks for the connection.")] = "",
) -> ChosenTrace:
    found = await app.run(lambda store: traces(store, connection_id))
    trace = chosen(found, vantage, trace_id)
    if trace is None:
        hint = (
            "ids are those of /api/v1/requests" if not found else "its traces are listed without vantage and trace_id"
        )
        raise NotFound(f"there is no trace of connection {connection_id!r}", hint)
    return ChosenTrace(trace, found)


Trace = Annotated[ChosenTrace, Depends(trace_of)]


@router.get("/streams", summary="Its request streams, each with its parts", response_model=documents.StreamsDocument)
async def connection_streams(app: App, of: Trace) -> Response:
    """By their start. Times in us since the trace's first record."""
    return await app.document(lambda store: streams(store, of.trace))


@router.get("/counts", summary="How often each thing stands in its log", response_model=documents.CountsDocument)
async def connection_counts(app: App, of: Trace) -> Response:
    """Events by name, frames and packets by type and direction."""
    return await app.document(lambda store: counts(store, of.trace))


@router.get("/episodes", summary="Stretches with one cause", response_model=documents.EpisodesDocument)
async def connection_episodes(
    app: App,
    of: Trace,
    kind: Annotated[list[str], Query(max_length=30, description="Only these kinds; repeat it.")] = [],  # noqa: B006
    from_us: FromUs = -_TIME_MAX,
    to_us: ToUs = None,
) -> Response:
    """By their start; those that no event has ended yet are named in `open`."""
    end = _TIME_MAX if to_us is None else to_us
    return await app.document(lambda store: episodes(store, of.trace, tuple(kind), from_us, end))


@router.get("/blocked", summary="Were we blocked?", response_model=documents.StopsDocument)
async def connection_blocked(app: App, of: Trace) -> Response:
    """By the window, credit, pacer, path, amplification limit or application: how often and how long."""
    return await app.document(lambda store: blocked(store, of.trace))


@router.get("/recovery", summary="How long did recovery take?", response_model=documents.StopsDocument)
async def connection_recovery(app: App, of: Trace) -> Response:
    """Recovery periods, repairs of lost data from sending to acknowledgement, probe timeouts, losses that were none."""
    return await app.document(lambda store: recovery(store, of.trace))


@router.get("/events", summary="Its events, searched and paged", response_model=documents.EventsDocument)
async def connection_events(
    app: App,
    of: Trace,
    first_seq: Annotated[int, Query(ge=0, le=_SEQ_MAX, description="Go on from `next_seq`.")] = 0,
    from_us: FromUs = -_TIME_MAX,
    to_us: ToUs = None,
    name: Annotated[
        list[str],
        Query(
            max_length=60,
            description="Only events of these names, as here or as logs write them, also without what stands before "
            "the colon; repeat it.",
        ),
    ] = [],  # noqa: B006
    way: Annotated[
        Literal["", "sent", "received"], Query(description="Only of packets and frames that went this way.")
    ] = "",
    stream_id: Annotated[int | None, Query(ge=0, le=_SEQ_MAX, description="Only what speaks of this stream.")] = None,
    packet_number: Annotated[int | None, Query(ge=0, le=_SEQ_MAX)] = None,
    text: Annotated[
        str,
        Query(
            max_length=200,
            description="Must stand in the event; case does not matter, and a space is as good as an underscore.",
        ),
    ] = "",
    limit: Annotated[int, Query(ge=1, le=PAGE_AT_MOST)] = 500,
) -> Response:
    """In the log's order. `next_seq` is null on the last page. A loss has the frames of its packet as `carried`, where
    the log says what was sent in it, and is of the streams that stand there."""
    end = _TIME_MAX if to_us is None else to_us
    search = Search(first_seq, from_us, end, tuple(name), stream_id, packet_number, text, way, limit)
    return await app.document(lambda store: event_log(store, of.trace, search))


@router.get("/series", summary="What pictures of it are drawn from", response_model=documents.SeriesDocument)
async def connection_series(
    app: App,
    of: Trace,
    from_us: FromUs = 0,
    to_us: ToUs = None,
    buckets: Annotated[int, Query(ge=10, le=BUCKETS, description="How finely, where there is more to show.")] = 1000,
) -> Response:
    """Columns of packets, metrics, frames, limits and marks. Exact up to 50,000 events in view, in buckets beyond;
    marks (losses, changes of state, path and keys) are exact always."""
    end = max(from_us, int(of.trace["duration_us"]) if to_us is None else to_us)
    return await app.document(lambda store: series(store, of.trace, View(from_us, end, buckets)))


# The last of these routes: an id may have slashes in it, so this one takes what the others leave.
@router.get(
    "", summary="What is known of a connection", response_model=documents.ConnectionDocument, operation_id="connection"
)
async def summary(app: App, of: Trace) -> Response:
    """Handshake, close, packets, loss, round trips, dimensions, its IDs, and its traces, the first of which speaks."""
    return await app.document(lambda store: connection_page(store, of.trace, of.traces))
