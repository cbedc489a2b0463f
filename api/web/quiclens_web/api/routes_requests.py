"""Requests: the slow ones, one explained, groups of them over time, and what is different about some."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from quiclens_questions import documents
from quiclens_questions import where as conditions
from quiclens_questions.begun import begun
from quiclens_questions.cells import LocalTime, cells
from quiclens_questions.compare_groups import compare_groups
from quiclens_questions.deployments import deployments
from quiclens_questions.different import CATEGORIES, NUMBERS, Different, different
from quiclens_questions.explain import explain
from quiclens_questions.failure import UsageMistake, usage
from quiclens_questions.heat import heat
from quiclens_questions.moment import moment
from quiclens_questions.over_time import (
    GROUPS_AT_MOST,
    INTERVALS_AT_MOST,
    DrawnGroups,
    OverTime,
    over_time,
    spent_over_time,
)
from quiclens_questions.report import ReportQuestion
from quiclens_questions.slow import Cursor, Slow, Sort, slow
from quiclens_web.api.answering import NotFound, QuestionRunner, asking
from quiclens_web.api.parameters import By, Conditions, Limit, Stretch, WhereTexts, by_columns, read_where
from quiclens_web.api.strict import StrictRoute

router = APIRouter(route_class=StrictRoute, prefix="/api/v1", tags=["requests"])

App = Annotated[QuestionRunner, Depends(asking)]
MinMs = Annotated[float, Query(ge=0, le=1e12, allow_inf_nan=False, description="Only requests at least so long, ms.")]
MaxMs = Annotated[float | None, Query(gt=0, le=1e12, allow_inf_nan=False, description="Only requests shorter, ms.")]
Step = Annotated[int, Query(ge=0, le=31 * 86_400, description="Seconds of one step; 0: as fits.")]
_DURATION_MAX_US = (1 << 63) - 1
_INTERVALS = f"Also the 95 % intervals of the quantiles, where the window has at most {INTERVALS_AT_MOST:,} requests."
_DRAWN = (
    "Which groups those are: with most requests, or with the largest share of requests slower than the p95 of all (by "
    "the lower end of its 95 % interval)."
)


@router.get("/requests", summary="The slowest requests", response_model=documents.SlowDocument)
async def slow_requests(
    app: App,
    stretch: Stretch,
    where: Conditions,
    by: By = "",
    min_ms: MinMs = 0,
    limit: Limit = 20,
    sort: Annotated[
        Sort, Query(description="Which come first: the longest, or those that took the most times as long as is usual.")
    ] = "duration",
    after: Annotated[str, Query(max_length=8000, description="Go on behind a page: its `next`. Not with `by`.")] = "",
) -> Response:
    """The longest first, each with what it waited for most. With `by` so many of each value of that column.

    The document is that of `quiclens slow --json`. Undated requests are there only without `since`. What is usual
    (`usual_us`) is the median of requests with the same carrier, path and size of response, in the window and twice as
    long before it.
    """
    column = conditions.by_column(by) if by else ""
    if column and after:
        raise usage("after cannot be asked with by", "ask one value at a time: where=column=value")
    page = Cursor.read(after) if after else None
    question = Slow(limit, stretch.since, stretch.until, int(min_ms * 1000), where, column, page, sort)
    return await app.document(lambda store: slow(store, question))


@router.get(
    "/requests/{request_id:path}",
    summary="Why one request took as long as it did",
    response_model=documents.Explained,
    operation_id="explain_request",
)
async def explained(app: App, request_id: str) -> Response:
    """Its parts, which add up to its duration to the microsecond, the sentence, the episodes and events around it.

    `request_id` is `<connection_id>/<stream_id>`, or what the access log calls it. As `quiclens explain --json`.
    """
    found = await app.run(lambda store: explain(store, request_id))
    if not found.is_found:
        others = await app.run(lambda store: begun(store, request_id))
        hint = ", ".join(each["request_id"] for each in others.requests[:5])
        hint = f"of {others.all} that begin so: {hint}" if hint else "ids are those of /api/v1/requests"
        raise NotFound(f"there is no request {request_id[:200]!r}", hint)
    return await app.document(lambda store: found.document)


@router.get("/over-time", summary="Tails over time, by any column", response_model=documents.OverTimeDocument)
async def requests_over_time(
    app: App,
    stretch: Stretch,
    where: Conditions,
    by: By = "",
    step_s: Step = 0,
    groups: Annotated[int, Query(ge=1, le=GROUPS_AT_MOST, description="So many groups have their own series.")] = 10,
    drawn: Annotated[DrawnGroups, Query(description=_DRAWN)] = DrawnGroups.LARGEST,
    intervals: Annotated[bool, Query(description=_INTERVALS)] = False,
) -> Response:
    """For each group columns over `started_at`: requests, traced, p50 to p99 in us (null where too few were measured).

    Without `since` the last 24 hours. `by` takes up to four, `a,b`. `coverage` counts the requests of all groups; the
    last series is of all that have none of their own.
    """
    since, until = stretch.closed()
    asked = OverTime(since, until, step_s, by_columns(by), where, groups, drawn, intervals)
    return await app.document(lambda store: over_time(store, asked))


@router.get(
    "/spent-over-time", summary="What requests spent their time on, over time", response_model=documents.SpentDocument
)
async def requests_spent_over_time(app: App, stretch: Stretch, where: Conditions, step_s: Step = 0) -> Response:
    """Columns over `started_at`: requests, traced, and by cause the us that the traced ones spent. Without `since` the
    last 24 hours."""
    since, until = stretch.closed()
    return await app.document(lambda store: spent_over_time(store, OverTime(since, until, step_s, where=where)))


@router.get("/heat", summary="Durations over time, as cells of a heat map", response_model=documents.HeatDocument)
async def requests_heat(app: App, stretch: Stretch, where: Conditions, step_s: Step = 0) -> Response:
    """Cells of `step_s` by a sixth of a factor of ten of duration. Without `since` the last 24 hours."""
    since, until = stretch.closed()
    return await app.document(lambda store: heat(store, OverTime(since, until, step_s, where=where)))


@router.get(
    "/deployments", summary="When servers began to run another release", response_model=documents.DeploymentsDocument
)
async def server_deployments(app: App, stretch: Stretch, where: Conditions, limit: Limit = 100) -> Response:
    """By the first request of each `server_release` of a cluster, where it ran another one before, in the stretch or in
    the day before it. A release that comes back is there once. Without `since` the last 24 hours."""
    since, until = stretch.closed()
    return await app.document(lambda store: deployments(store, since, until, where, limit))


@router.get("/cells", summary="Hexagons of a map", response_model=documents.CellsDocument)
async def requests_cells(
    app: App,
    stretch: Stretch,
    where: Conditions,
    weekday: Annotated[str, Query(max_length=3, description="Only of this day of the week: Mon to Sun.")] = "",
    hour: Annotated[int | None, Query(ge=0, le=23, description="Only of this hour of the day.")] = None,
    time_zone: Annotated[
        str, Query(max_length=64, description="Whose days and hours these are; UTC if not said.")
    ] = "",
) -> Response:
    """By H3 cell: requests, median and p95 in us, and the cause that took most time. Cells with too few requests are
    counted in a larger one around them."""
    local = LocalTime.read(weekday, hour, time_zone)
    return await app.document(lambda store: cells(store, stretch.since, stretch.until, where, local))


@router.get(
    "/compare",
    summary="Two groups of requests side by side",
    response_model=documents.ComparedDocument,
    operation_id="compare_requests",
)
async def compared(app: App, stretch: Stretch, a: WhereTexts = [], b: WhereTexts = []) -> Response:  # noqa: B006
    """Quantiles of both with 95 % intervals, their differences, and what the time of each was spent on."""
    first, second = (
        ReportQuestion(where=read_where(texts), texts=tuple(texts), since=stretch.since, until=stretch.until)
        for texts in (a, b)
    )
    return await app.document(lambda store: compare_groups(store, first, second))


@router.get(
    "/different",
    summary="What is different about the slow ones",
    response_model=documents.DifferentDocument,
    operation_id="different_requests",
)
async def what_is_different(
    app: App,
    stretch: Stretch,
    where: Conditions,
    min_ms: MinMs = 0,
    max_ms: MaxMs = None,
    chosen_since: Annotated[str, Query(max_length=64, description="The chosen ones began at or after.")] = "",
    chosen_until: Annotated[str, Query(max_length=64, description="The chosen ones began before.")] = "",
    attributes: Annotated[str, Query(max_length=1000, description="Columns to look at, `a,b`; else all.")] = "",
    limit: Limit = 20,
) -> Response:
    """Conditions, and pairs of them, that hold for the chosen requests more often than for the others, the surest
    largest effect first; nothing is listed that chance would have brought at a false discovery rate of 5 %.

    Chosen are those of `min_ms` to `max_ms` that began between `chosen_since` and `chosen_until`; without any of
    these the slowest twentieth. `where`, `since` and `until` say what they are compared with.
    """
    wanted = [word.strip() for word in attributes.split(",") if word.strip()]
    for word in wanted:
        if word not in (*CATEGORIES, *NUMBERS):
            raise _unknown(word)
    ends = [moment(text, stretch.now) if text else None for text in (chosen_since, chosen_until)]
    question = Different(
        since=stretch.since,
        until=stretch.until,
        where=where,
        chosen_from_us=int(min_ms * 1000),
        chosen_to_us=_DURATION_MAX_US if max_ms is None else int(max_ms * 1000),
        chosen_since=ends[0],
        chosen_until=ends[1],
        categories=tuple(name for name in CATEGORIES if not wanted or name in wanted),
        numbers=tuple(name for name in NUMBERS if not wanted or name in wanted),
        limit=limit,
    )
    return await app.document(lambda store: different(store, question))


def _unknown(word: str) -> UsageMistake:
    return usage(f"attributes: {word!r} cannot be compared", f"one of {', '.join((*CATEGORIES, *NUMBERS))}")
