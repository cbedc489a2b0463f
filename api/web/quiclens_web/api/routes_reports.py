"""Reports, and how the whole is doing."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from quiclens_questions import documents
from quiclens_questions.audit import audit
from quiclens_questions.connections import connection_columns
from quiclens_questions.failed_connections import failed
from quiclens_questions.picture import picture
from quiclens_questions.report import ReportQuestion
from quiclens_questions.report_words import document_in_words
from quiclens_questions.reports import REPORTS, Options, asked_of
from quiclens_questions.status import status
from quiclens_web.api.answering import NotFound, QuestionRunner, asking
from quiclens_web.api.parameters import By, Limit, Stretch, WhereTexts, read_where
from quiclens_web.api.strict import StrictRoute

router = APIRouter(route_class=StrictRoute, prefix="/api/v1", tags=["reports"])

App = Annotated[QuestionRunner, Depends(asking)]
_PICTURE: dict[int | str, dict[str, Any]] = {200: {"content": {"image/svg+xml": {}}}}


@dataclass(frozen=True)
class ReportRequest:
    """A report, and what it was asked."""

    name: str
    asked: ReportQuestion


def wanted(
    name: str,
    stretch: Stretch,
    where: WhereTexts = [],  # noqa: B006 (FastAPI copies it)
    by: By = "",
    without: Annotated[str, Query(max_length=64, description="tail: predict quantiles without this cause.")] = "",
    between: Annotated[str, Query(max_length=64, description="compare: the column whose values are the arms.")] = "",
    base: Annotated[str, Query(max_length=256, description="compare: the arm to compare with.")] = "",
    later: Annotated[
        int | None, Query(ge=0, le=1_000_000, description="compare: later requests are not the first N of a session.")
    ] = None,
    split: Annotated[
        str,
        Query(max_length=1_000, description="compare: which share of the users each arm was meant to have: a=50,b=50."),
    ] = "",
    of: Annotated[str, Query(max_length=64, description="rtt: requests, also over TCP, instead of connections.")] = "",
    time_zone: Annotated[
        str,
        Query(
            max_length=64, description="Of connections: whose hours and weekdays `hour` and `weekday` are; UTC if not."
        ),
    ] = "",
) -> ReportRequest:
    if name not in REPORTS:
        raise NotFound(f"there is no report {name[:100]!r}", f"reports are {', '.join(REPORTS)}")
    words = [word for word in by.split(",") if word.strip()]
    options = Options(without, between, base, later, of, time_zone, split)
    return ReportRequest(name, asked_of(name, words, where, (stretch.since, stretch.until), options, stretch.now))


AReport = Annotated[ReportRequest, Depends(wanted)]


@router.get("/reports/{name}", summary="A report by its name", response_model=documents.NamedReportDocument)
async def report(app: App, report: AReport) -> Response:
    """A table with units, samples and 95 % intervals, as `quiclens report NAME --json`."""
    return await app.document(lambda store: document_in_words(REPORTS[report.name].answer(store, report.asked)))


@router.get(
    "/reports/{name}/picture",
    summary="A report as a picture",
    responses=_PICTURE,
    response_class=Response,
    operation_id="report_picture",
)
async def drawn(app: App, report: AReport) -> Response:
    """SVG: each value a dot, its 95 % interval a line; 404 where there is nothing to draw."""
    svg = await app.run(lambda store: picture(REPORTS[report.name].answer(store, report.asked)))
    if svg is None:
        raise NotFound("there is nothing to draw", "a longer stretch of time, or fewer conditions")
    return Response(svg, media_type="image/svg+xml")


@router.get(
    "/failed",
    summary="Connections that never became a request",
    response_model=documents.ReportDocument,
    operation_id="failed_connections",
)
async def failures(app: App, stretch: Stretch, where: WhereTexts = [], limit: Limit = 100) -> Response:  # noqa: B006
    """By carrier, region and reason, as `quiclens failed --json`."""
    read = read_where(where, connection_columns())
    asked = ReportQuestion(where=read, texts=tuple(where), since=stretch.since, until=stretch.until)
    return await app.document(lambda store: failed(store, asked, limit).document())


@router.get("/status", summary="Is data arriving?", response_model=documents.ReportDocument, operation_id="status")
async def state(app: App, stretch: Stretch) -> Response:
    """Is it working, servers, rejects by reason, room on disk, as `quiclens status --json`."""
    return await app.document(lambda store: status(store, "", stretch.now, app.settings.expected).document())


@router.get("/audit", summary="Is it whole?", response_model=documents.ReportDocument, operation_id="audit")
async def audited(app: App, limit: Limit = 100) -> Response:
    """Records that are missing or stand twice, as `quiclens audit --json`."""
    return await app.document(lambda store: audit(store, limit).document())
