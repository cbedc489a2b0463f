"""The API and the pages as an ASGI app: what may be asked, and how failures are told. Who may ask is decided before."""

from typing import Any

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.routing import APIRoute
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quiclens_web.api import (
    answering,
    routes_connections,
    routes_files,
    routes_qvis,
    routes_reports,
    routes_requests,
    routes_watch,
)
from quiclens_web.api.exports import Exports
from quiclens_web.api.settings import ApiSettings
from quiclens_web.api.strict import parameters_of
from quiclens_web.api.uploads import Uploads
from quiclens_web.front import foreign
from quiclens_web.front.memory import MemoryBudget
from quiclens_web.front.metrics import FrontMetrics
from quiclens_web.front.problems import MEDIA_TYPE, Answers, Stopped
from quiclens_web.pages import login, page
from quiclens_web.pages import routes as pages

_ABOUT = """Why was this HTTP/3 request slow?

Ask for the slow requests, take one's `request_id`, and have it explained: its parts add up to its duration, to the
microsecond. Every answer says in `coverage` how many requests it speaks of, how many of those have a trace,
and of how many of those records are missing (`repaired`, `damaged`; `where=grade=whole` leaves them out).
Times end in `_us` and are microseconds; instants are RFC 3339 in UTC.
A failure is a problem document (RFC 9457, `application/problem+json`): `status`, `title`, `detail`, and, for programs,
`code`; `hint` says what to change, `instance` is the id under which the server's log has it.
"""
_SESSION = "A browser that signed in at /login; with TLS it is `__Host-quiclens_session`."
_SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A token; where none is set, none is needed."},
    "basic": {"type": "http", "scheme": "basic", "description": "Any user name, and a token as the password."},
    "key": {"type": "apiKey", "in": "header", "name": "X-ClickHouse-Key", "description": "A token."},
    "session": {"type": "apiKey", "in": "cookie", "name": "quiclens_session", "description": _SESSION},
}
_UNCHANGED = {"description": "The answer is still the one whose `ETag` was sent as `If-None-Match`."}
_PARTS = (routes_requests, routes_connections, routes_reports, routes_watch, routes_files, routes_qvis)
_BODY_BYTES = 65_536  # of a request that uploads nothing


def create_app(
    settings: ApiSettings,
    answers: Answers | None = None,
    metrics: FrontMetrics | None = None,
    budget: MemoryBudget | None = None,
) -> FastAPI:
    """The app over an open store; nothing happens at import, and nothing of one app is another's."""
    app = _Described(
        title="quiclens",
        summary="Why was this HTTP/3 request slow?",
        description=_ABOUT,
        version="1",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        generate_unique_id_function=lambda route: route.name,
    )
    metrics = metrics or FrontMetrics()
    app.state.questions = answering.Questions(settings, metrics, budget or MemoryBudget(settings.limits.held_bytes))
    app.state.uploads = Uploads(settings.uploads, metrics)
    app.state.exports = Exports(settings.exports, settings.limits)
    app.state.answers = answers or Answers()
    app.state.parameters = frozenset[str]().union(
        *(parameters_of(each) for part in _PARTS for each in part.router.routes if isinstance(each, APIRoute))
    )
    for kind, answer in answering.HANDLERS.items():
        app.add_exception_handler(kind, answer)
    app.add_middleware(_SmallBodies)
    app.add_middleware(GZipMiddleware, minimum_size=1_000, compresslevel=5)
    if settings.qvis:
        app.add_middleware(CORSMiddleware, allow_origins=[settings.qvis.rstrip("/")], allow_methods=["GET"])
    for part in _PARTS:
        app.include_router(part.router, responses=answering.FAILURES)
    for each in (pages.router, page.public, login.router):
        app.include_router(each)
    for path, folder in page.files():
        app.mount(path, folder)
    return app


class _SmallBodies:
    """Bounds the bodies of requests that upload nothing, and takes forms of known charsets alone; uploads have limits
    of their own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == routes_files.UPLOAD:
            await self._app(scope, receive, send)
            return
        size = 0

        async def bounded() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > _BODY_BYTES:
                raise _TOO_LARGE
            return message

        headers = Request(scope).headers
        stopped = _TOO_LARGE if foreign.declared_bytes(headers) > _BODY_BYTES else None
        if not foreign.is_of_known_charset(headers.get("content-type", "")):
            stopped = _OTHER_CHARSET
        if stopped is not None:
            answers: Answers = scope["app"].state.answers
            await answers.stopped(scope, stopped)(scope, receive, send)
            return
        await self._app(scope, bounded, send)


_TOO_LARGE = Stopped("too_large", f"the body is larger than {_BODY_BYTES:,} bytes", "only files are larger")
_OTHER_CHARSET = Stopped("usage", "the charset of the body is not known here", "forms are sent in UTF-8")


class _Described(FastAPI):
    """Failures are problem documents in the OpenAPI document too."""

    def openapi(self) -> dict[str, Any]:
        if not self.openapi_schema:
            document = super().openapi()
            document["components"]["securitySchemes"] = _SECURITY
            document["security"] = [{}, *({name: []} for name in _SECURITY)]
            for path, operations in document["paths"].items():
                for method, operation in operations.items():
                    if method == "get" and path.startswith("/api/") and "/picture" not in path:
                        operation["responses"]["304"] = _UNCHANGED
                    for status, response in operation["responses"].items():
                        if int(status) >= 400 and "content" in response:
                            response["content"] = {MEDIA_TYPE: response["content"].pop("application/json")}
        assert self.openapi_schema is not None
        return self.openapi_schema
