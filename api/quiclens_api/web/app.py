"""The API as an ASGI app: what it may be asked, who may ask, and how failures are told."""

from collections.abc import Awaitable, Callable

from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response

from quiclens_api.failure import Failure
from quiclens_api.pages import login, page
from quiclens_api.pages import routes as pages
from quiclens_api.serve.faults import Fault
from quiclens_api.web import (
    routes_connections,
    routes_files,
    routes_qvis,
    routes_reports,
    routes_requests,
    routes_watch,
)
from quiclens_api.web.answering import FAILURES, Asking, answer_failure, answer_fault, answer_invalid, role
from quiclens_api.web.settings import Settings

_ABOUT = """Why was this HTTP/3 request slow?

Ask for the slow requests, take one's `request_id`, and have it explained: its parts add up to its duration, to the
microsecond. Every answer says in `coverage` how many requests it speaks of and how many of those have a trace.
Times end in `_us` and are microseconds; instants are RFC 3339 in UTC.
What cannot be answered is `{"error": {"code", "message", "hint"}}` with a status of 4xx; the hint says what to
change.
"""


# Scripts and styles of our own alone; nothing leaves the machine, and no other page may frame ours.
_GUARDS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


async def _guarded(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
    answer = await go_on(request)
    answer.headers.update(_GUARDS)
    return answer


def create_app(settings: Settings) -> FastAPI:
    """The app over an open store; nothing happens at import, and nothing of one app is another's."""
    app = FastAPI(
        title="quiclens",
        summary="Why was this HTTP/3 request slow?",
        description=_ABOUT,
        version="1",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.asking = Asking(settings)
    app.add_exception_handler(Failure, answer_failure)
    app.add_exception_handler(Fault, answer_fault)
    app.add_exception_handler(RequestValidationError, answer_invalid)
    app.add_middleware(GZipMiddleware, minimum_size=1_000, compresslevel=5)
    if settings.qvis:
        app.add_middleware(CORSMiddleware, allow_origins=[settings.qvis.rstrip("/")], allow_methods=["GET"])
    for part in (routes_requests, routes_connections, routes_reports, routes_watch, routes_files, routes_qvis):
        app.include_router(part.router, dependencies=[Depends(role)], responses=FAILURES)
    app.include_router(pages.router, dependencies=[Depends(role)])
    for each in (page.public, login.router):
        app.include_router(each)
    for path, folder in page.files():
        app.mount(path, folder)
    app.middleware("http")(_guarded)
    return app
