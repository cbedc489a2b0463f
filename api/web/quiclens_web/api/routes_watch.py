"""What has become worse, and which cells have just done so."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import Response

from quiclens_questions import documents
from quiclens_questions.moment import moment
from quiclens_questions.triage import Triage, triage
from quiclens_questions.triage_words import ticket
from quiclens_questions.watch import BY, watch
from quiclens_questions.watched import watched
from quiclens_web.api.answering import QuestionRunner, asking
from quiclens_web.api.parameters import Stretch, Until, WhereTexts, read_where
from quiclens_web.api.strict import StrictRoute

router = APIRouter(route_class=StrictRoute, prefix="/api/v1", tags=["reports"])

App = Annotated[QuestionRunner, Depends(asking)]
_BY = ",".join(BY)
Window = Annotated[str, Query(max_length=64, description="How long the stretch is, whole five minutes: `5m`, `1h`.")]
Baseline = Annotated[str, Query(max_length=64, description="How long the one before it is: `1d`.")]
Cells = Annotated[str, Query(max_length=256, description="What makes a cell, the coarsest first: `a,b`, up to four.")]


def asked_triage(stretch: Stretch, where: WhereTexts = []) -> Triage:  # noqa: B006 (FastAPI copies it)
    return Triage(*stretch.closed(), read_where(where), tuple(where))


AskedTriage = Annotated[Triage, Depends(asked_triage)]


@router.get(
    "/watch",
    summary="Cells that have just become worse",
    response_model=documents.ReportDocument,
    operation_id="watch",
)
async def regressions(
    app: App, window: Window = "5m", baseline: Baseline = "1d", by: Cells = _BY, until: Until = ""
) -> Response:
    """Far more of their requests than before are slow, failed, waited for a handshake, went over something else than
    QUIC, lost a packet, or waited for a retransmission; in a week 5 % false discoveries.

    What Grafana's alert counts. Without `until` up to the last whole five minutes.
    """
    now = datetime.now(UTC)
    question = watched(window, baseline, by, moment(until, now) if until else now)
    return await app.document(lambda store: watch(store, question).document())


@router.get(
    "/triage",
    summary="What has become worse: who, since when, how many, and what of",
    response_model=documents.TriageDocument,
    operation_id="triage_requests",
)
async def findings(app: App, asked: AskedTriage) -> Response:
    """Descriptions of requests of which more are slow, or failed, than in the day before, and than chance makes of all
    comparisons: the most lost seconds first. Each with a sentence. Without `since` the last 24 hours.

    As `quiclens triage --json`.
    """
    return await app.document(lambda store: triage(store, asked))


@router.get(
    "/triage.md",
    summary="What has become worse, as a ticket",
    responses={200: {"content": {"text/markdown": {"schema": {"type": "string"}}}}},
    response_class=Response,
    operation_id="triage_ticket",
)
async def findings_as_ticket(app: App, request: Request, asked: AskedTriage) -> Response:
    """Markdown, with links to the requests of each finding; as `quiclens triage --markdown`."""
    found = await app.run(lambda store: triage(store, asked))
    text = "\n".join(ticket(found, str(request.base_url).rstrip("/"))) + "\n"
    return Response(text, media_type="text/markdown; charset=utf-8")
