"""Reports, and how the whole is doing."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from quiclens_api.commands.report import REPORTS
from quiclens_api.failure import usage
from quiclens_api.questions.asked import Asked
from quiclens_api.questions.audit import audit
from quiclens_api.questions.connections import connection_columns
from quiclens_api.questions.failed import failed
from quiclens_api.questions.status import status
from quiclens_api.savings import removable
from quiclens_api.web.answering import Asking, NotFound, asking
from quiclens_api.web.asked import By, Limit, Stretch, WhereTexts, by_columns, read_where

router = APIRouter(prefix="/api", tags=["reports"])

App = Annotated[Asking, Depends(asking)]


@router.get("/reports/{name}", summary="A report: rtt, loss, tail")
def report(
    app: App,
    name: str,
    stretch: Stretch,
    where: WhereTexts = [],  # noqa: B006 (FastAPI copies it)
    by: By = "",
    without: Annotated[str, Query(max_length=64, description="tail: predict quantiles without this cause.")] = "",
) -> Response:
    """A table with units, samples and 95 % intervals, as `quiclens report NAME --json`."""
    if name not in REPORTS:
        raise NotFound(f"there is no report {name[:100]!r}", f"reports are {', '.join(REPORTS)}")
    if without and name != "tail":
        raise usage(f"without is for report tail, not {name}")
    question, _, known = REPORTS[name]
    columns = known()
    asked = Asked(
        by=by_columns(by, columns),
        where=read_where(where, columns),
        texts=tuple(where),
        since=stretch.since,
        until=stretch.until,
        without=removable(without) if without else "",
    )
    return app.document(lambda store: question(store, asked).document())


@router.get("/failed", summary="Connections that never became a request")
def failures(app: App, stretch: Stretch, where: WhereTexts = [], limit: Limit = 100) -> Response:  # noqa: B006
    """By carrier, region and reason, as `quiclens failed --json`."""
    read = read_where(where, connection_columns())
    asked = Asked(where=read, texts=tuple(where), since=stretch.since, until=stretch.until)
    return app.document(lambda store: failed(store, asked, limit).document())


@router.get("/status", summary="Is data arriving?")
def state(app: App, stretch: Stretch) -> Response:
    """Servers, rejects by reason, room on disk, as `quiclens status --json`."""
    return app.document(lambda store: status(store, "", stretch.now).document())


@router.get("/audit", summary="Is it whole?")
def audited(app: App, limit: Limit = 100) -> Response:
    """Records that are missing or stand twice, as `quiclens audit --json`."""
    return app.document(lambda store: audit(store, limit).document())
