"""The ASGI app: the ClickHouse HTTP interface and the overview at `/`, `/ping`, `/metrics`, the routes that write, the
API and the pages.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from quiclens_schema.owner import INSTANCE_HEADER
from quiclens_schema.store import Store
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from quiclens_api.serve.access import role_of
from quiclens_api.serve.engine import Engine
from quiclens_api.serve.faults import Fault
from quiclens_api.serve.holder import Holder
from quiclens_api.serve.interface import Interface, Parts
from quiclens_api.serve.judge import Judge
from quiclens_api.serve.metrics import CONTENT_TYPE, Metrics
from quiclens_api.serve.running import Running
from quiclens_api.serve.settings import Settings
from quiclens_api.serve.store_routes import StoreRoutes
from quiclens_api.serve.turns import Room, Turns
from quiclens_api.web.access import Access
from quiclens_api.web.app import create_app as create_web
from quiclens_api.web.settings import Settings as WebSettings


def create_app(store: Store, settings: Settings, tell: Callable[[str], None] = lambda _: None) -> Starlette:
    """The app over the store open at `settings.folder`, which this process holds; `tell` hears of dropped rows."""
    limits, metrics = settings.limits, Metrics()
    engine = Engine(settings.folder)
    parts = Parts(
        settings=settings,
        engine=engine,
        judge=Judge(engine),
        running=Running(engine),
        queries=Turns("queries", limits.queries_at_once, limits.wait_seconds, metrics.waiting, metrics.running),
        inserts=Turns("inserts", limits.inserts_at_once, limits.wait_seconds, metrics.waiting, metrics.running),
        room=Room(limits.uploads_bytes),
        metrics=metrics,
    )
    metrics.handles.set_function(lambda: engine.open_handles)
    metrics.bodies.set_function(lambda: parts.room.held)

    async def ping(request: Request) -> Response:
        return Response(b"Ok.\n", media_type="text/plain", headers={INSTANCE_HEADER: settings.instance})

    async def show_metrics(request: Request) -> Response:
        try:
            role_of(settings, request)
        except Fault as fault:
            return Response(fault.body, fault.status)
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    holder = Holder(store, settings.keep, metrics, tell)
    writes = StoreRoutes(holder, settings, parts.inserts, parts.room, metrics)
    web = web_app(store, settings)
    interface = Interface(parts)

    async def front(scope: Scope, receive: Receive, send: Send) -> None:
        await (web if _is_a_person(Request(scope)) else interface)(scope, receive, send)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        holder.start()
        try:
            yield
        finally:
            await asyncio.to_thread(holder.close)
            for turns in (parts.queries, parts.inserts):
                turns.close()
            engine.close()

    return Starlette(
        routes=[
            Route("/", _App(front)),
            Route("/ping", ping),
            Route("/replicas_status", ping),
            Route("/metrics", show_metrics),
            *writes.routes(),
            Mount("/", web),
        ],
        lifespan=lifespan,
    )


def web_app(store: Store, settings: Settings) -> FastAPI:
    """The pages and the API alone."""
    access = Access(
        settings.writer_digests, settings.reader_digests, settings.is_open, settings.user_header, settings.proxies
    )
    return create_web(WebSettings(store, access, settings.qvis, tell=settings.audit))


def _is_a_person(request: Request) -> bool:
    """A browser that comes to `/` wants the overview; whoever sends a statement there is a ClickHouse client."""
    wants_page = "text/html" in request.headers.get("accept", "")
    return request.method in ("GET", "HEAD") and wants_page and "query" not in request.query_params


class _App:
    """An ASGI function as a route's endpoint: Starlette takes functions for handlers of requests."""

    def __init__(self, call: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._call = call

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._call(scope, receive, send)
