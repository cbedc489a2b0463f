"""The pages: which template a path fills, and with what."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from quiclens_questions.begun import begun, values_called
from quiclens_questions.connection_page import chosen, stream_of, traces
from quiclens_questions.connections import WEEKDAYS
from quiclens_questions.explain import Explanation, explain
from quiclens_questions.logged import asked_facts, logged_facts
from quiclens_questions.moment import rfc3339, seconds_ago, whole_seconds
from quiclens_questions.reports import REPORTS
from quiclens_questions.request_ticket import request_ticket
from quiclens_questions.savings import REMOVABLE
from quiclens_questions.slow import newest
from quiclens_questions.statements import ask
from quiclens_questions.status import status
from quiclens_questions.units import age
from quiclens_questions.where import request_columns
from quiclens_web.api.answering import QuestionRunner, asking
from quiclens_web.api.strict import StrictRoute, of_scripts
from quiclens_web.front.access import Role, visitor_of
from quiclens_web.front.problems import KINDS as KINDS_OF_PROBLEMS
from quiclens_web.pages.connection_words import connection_about, connection_facts
from quiclens_web.pages.from_grafana import page_of
from quiclens_web.pages.page import page
from quiclens_web.pages.views import default_window, request_view
from quiclens_web.pages.words import WORDS, cause_words

_OLD_S = 3600
"""A store whose newest request is older is told as one that nothing comes into."""

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, route_class=StrictRoute)

App = Annotated[QuestionRunner, Depends(asking)]
_GROUPINGS = ("carrier", "region", "city", "country", "pop", "cluster", "server", "server_release",
              "network_type", "protocol", "app_version", "device", "stack", "stack_version", "quic_version",
              "congestion_controller", "arm", "status", "top_cause")  # fmt: skip


@router.get("/", openapi_extra=of_scripts("since", "until", "where", "quantile", "drawn"))
async def overview(app: App, by: str = "carrier") -> Response:
    return page("overview.html", "/", **await _window(app, by), weekdays=WEEKDAYS)


@router.get("/requests", openapi_extra=of_scripts("since", "until", "where", "min_ms", "each", "limit", "sort", "box"))
async def slow_requests(app: App, by: str = "carrier") -> Response:
    return page("requests.html", "/requests", **await _window(app, by))


@router.get("/from-grafana")
async def from_grafana(
    from_: Annotated[int, Query(alias="from")],
    to: int,
    carrier: Annotated[list[str], Query(alias="var-carrier")] = [],  # noqa: B006 FastAPI copies it
    region: Annotated[list[str], Query(alias="var-region")] = [],  # noqa: B006
    city: Annotated[list[str], Query(alias="var-city")] = [],  # noqa: B006
    pop: Annotated[list[str], Query(alias="var-pop")] = [],  # noqa: B006
    network_type: Annotated[list[str], Query(alias="var-network_type")] = [],  # noqa: B006
    app_version: Annotated[list[str], Query(alias="var-app_version")] = [],  # noqa: B006
    trust: Annotated[str, Query(alias="var-trust")] = "1",
) -> Response:
    choices = {
        "carrier": carrier,
        "region": region,
        "city": city,
        "pop": pop,
        "network_type": network_type,
        "app_version": app_version,
    }
    return RedirectResponse(page_of(from_, to, choices, trust), 303)


@router.get("/compare", openapi_extra=of_scripts("since", "until", "a", "b"))
async def compare(app: App) -> Response:
    return page("compare.html", "/compare", **await _window(app))


@router.get(
    "/reports", openapi_extra=of_scripts("by", "between", "base", "split", "without", "of", "time_zone", "where")
)
def reports(app: App, name: str = "tail", since: str = "", until: str = "") -> Response:
    return page(
        "reports.html",
        "/reports",
        reports=[(each, kind.about) for each, kind in REPORTS.items()],
        chosen=name,
        since=since,
        until=until,
        causes=list(REMOVABLE),
        columns=sorted({name for kind in REPORTS.values() for name in kind.groups_of()}),
        # Of what only some reports take, which: the others do not show it.
        of={
            option: [each for each, kind in REPORTS.items() if option in kind.takes]
            for option in frozenset().union(*(kind.takes for kind in REPORTS.values()))
        },
    )


@router.get("/working")
async def working(app: App) -> Response:
    now = datetime.now(UTC)
    found = await app.run(lambda store: status(store, "", now, app.settings.expected))
    return page("working.html", "/working", about=found.params, rows=found.rows, at=whole_seconds(now))


@router.get("/upload")
def upload(app: App, request: Request) -> Response:
    return page(
        "upload.html",
        "/upload",
        may_load=visitor_of(request).role is not Role.READER,
        upload_mb=app.settings.limits.upload_bytes // 1_000_000,
        is_redacted=app.settings.redacts_uploads,
    )


@router.get("/requests/{request_id:path}")
async def request_page(app: App, request: Request, request_id: str) -> Response:
    found = await app.run(lambda store: explain(store, request_id))
    if not found.is_found:
        return page(
            "message.html",
            status=404,
            message=f"There is no request {request_id}",
            hint="Ids are those of the list of slow requests, or what the access log calls a request.",
        )
    return await run_in_threadpool(_request_page, app, request, found)


@router.get("/find")
async def find(app: App, id: Annotated[str, Query(max_length=300)] = "") -> Response:
    name = id.strip()
    if not name:
        return RedirectResponse("/requests", 303)
    if (await app.run(lambda store: explain(store, name))).is_found:
        return RedirectResponse(f"/requests/{quote(name)}", 303)
    if await app.run(lambda store: traces(store, name)):
        return RedirectResponse(f"/connections/{quote(name, safe='')}", 303)
    if name.startswith("/"):
        return RedirectResponse(f"/requests?{urlencode({'where': f'path={name}'})}", 303)
    others, values = await app.run(lambda store: (begun(store, name), values_called(store, name)))
    if others.all == 1:
        return RedirectResponse(f"/requests/{quote(others.requests[0]['request_id'])}", 303)
    if others.requests or values:
        until = (await app.run(newest) or datetime.now(UTC)) + timedelta(seconds=1)
        week = {"since": whole_seconds(until - timedelta(days=7)), "until": whole_seconds(until)}
        links = [(each, f"/requests?{urlencode({**week, 'where': f'{each.column}={each.value}'})}") for each in values]
        return page("found.html", name=name, begun=others, values=links)
    return page(
        "message.html",
        status=404,
        message=f"Nothing is called {name}",
        hint="A request is <connection id>/<stream id>, its external id or its path, or how its id begins; a "
        "connection any id that it used; a carrier, a server or a city any part of its name.",
    )


@router.get("/causes")
def what_words_mean() -> Response:
    return page("causes.html", causes=cause_words(), words=WORDS)


_OF_CONNECTIONS = of_scripts(
    "view", "from_us", "to_us", "at_us", "text", "name", "way", "packet", "zero", "rtt_from_zero"
)


@router.get("/connections/{connection_id:path}", openapi_extra=_OF_CONNECTIONS)
async def connection_page(
    app: App, request: Request, connection_id: str, vantage: str = "", trace_id: str = "", stream: str = ""
) -> Response:
    """The page of a connection; its file stands beside it, told apart by its suffix."""
    name = connection_id
    found = await app.run(lambda store: traces(store, name))
    trace = chosen(found, vantage, trace_id)
    if trace is None:
        return page(
            "message.html",
            status=404,
            message=f"There is no trace of connection {name}",
            hint="Connections are those of the list of slow requests; any id that one used will do.",
        )
    stream = stream if stream.isdecimal() and len(stream) < 19 else ""
    marked = await app.run(lambda store: stream_of(store, trace, int(stream))) if stream else None
    return page(
        "connection.html",
        name=name,
        trace=trace,
        marked=marked,
        traces=found,
        about=connection_about(trace),
        stream=stream,
        qvis_link=_qvis(app, request, trace["connection_id"], None),
    )


@router.get("/api/docs")
def docs(request: Request) -> Response:
    described = request.app.openapi()
    operations = [
        (path, method.upper(), operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    return page(
        "docs.html",
        base=str(request.base_url).rstrip("/"),
        about=described["info"]["description"],
        operations=operations,
        problems=KINDS_OF_PROBLEMS,
    )


async def _window(app: QuestionRunner, by: str = "carrier") -> dict[str, Any]:
    extent = await app.run(lambda store: ask(store, "requests_extent").dicts()[0])
    now = datetime.now(UTC)
    since, until = default_window(extent, now)
    last = extent["newest"]
    return {
        "extent": extent,
        "newest": whole_seconds(last) if last else None,
        "newest_age": age(seconds_ago(last, now)) if last else None,
        "is_old": last is not None and seconds_ago(last, now) > _OLD_S,
        "since": since,
        "until": until,
        "by": by if by in _GROUPINGS else "carrier",
        "groupings": _GROUPINGS,
        "columns": sorted(request_columns()),
    }


def _request_page(app: QuestionRunner, request: Request, found: Explanation) -> Response:
    view = request_view(found)
    started = found.told("started_at")
    connection = view["document"]["connection"]
    return page(
        "request.html",
        view=view,
        request_line=found.line,
        about=found.about,
        ticket="\n".join(request_ticket(found, str(request.base_url).rstrip("/"))),
        started=rfc3339(started)[:23] + "Z" if started else "",
        asked=asked_facts(found.request),
        facts=connection_facts(connection) if connection else logged_facts(found.request),
        logged_of_connection=found.request.get("rtt_us") is not None,
        qvis_link=_qvis(app, request, view.get("connection_id"), view.get("focus")),
    )


def _qvis(app: QuestionRunner, request: Request, connection_id: str | None, packet_number: int | None) -> str:
    """qvis with our export loaded; empty where no qvis is configured. qvis tells the format by the address's end."""
    if not app.settings.qvis or not connection_id:
        return ""
    file = f"{request.base_url}connections/{quote(connection_id, safe='')}.sqlog"
    focus = {} if packet_number is None else {"focusOnPN": packet_number}
    return f"{app.settings.qvis.rstrip('/')}/#/sequence?{urlencode({'file': file, **focus})}"
