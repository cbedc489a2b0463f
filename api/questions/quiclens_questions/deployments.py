"""When servers began to run another release: marks on charts over time."""

from datetime import datetime, timedelta

from quiclens_schema.store import Store

from quiclens_questions.documents import Deployment, DeploymentsDocument
from quiclens_questions.moment import bound
from quiclens_questions.statements import ask, typed
from quiclens_questions.where import EVERYTHING, Where

_BEFORE = timedelta(days=1)
"""So long before what is asked about a release counts as known."""


def deployments(
    store: Store, since: datetime | None, until: datetime | None, where: Where = EVERYTHING, limit: int = 100
) -> DeploymentsDocument:
    """The first `limit` of a stretch of time, and how many there are. Requests without a `server_release` tell none."""
    asked = {
        "since": bound(since - _BEFORE) if since else None,
        "until": bound(until) if until else None,
        "asked_since": bound(since) if since else None,
        "limit": limit,
    }
    rows = ask(store, "deployments", asked, where).dicts()
    counts = [row.pop("all_deployments") for row in rows]
    return {"deployments": typed(Deployment, rows), "all": counts[0] if counts else 0}
