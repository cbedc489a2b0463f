"""The ASGI app: the ClickHouse HTTP interface and the overview at `/`, `/ping`, `/metrics`, the routes that write, the
API and the pages.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

from quiclens_schema.store import Store
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from quiclens_store_server.engine import Engine
from quiclens_store_server.holder import Holder
from quiclens_store_server.interface import Interface, Parts
from quiclens_store_server.judge import Judge
from quiclens_store_server.running import RunningRequests
from quiclens_store_server.store_routes import StoreRoutes
from quiclens_web.app import Front, api_of, front_of
from quiclens_web.front.concurrency import ConcurrencyLimit
from quiclens_web.front.memory import MemoryBudget
from quiclens_web.front.metrics import StoreMetrics
from quiclens_web.front.probes import Health, Probes
from quiclens_web.front.problems import Answers
from quiclens_web.front.settings import ServeSettings


def create_app(
    store: Store,
    settings: ServeSettings,
    tell: Callable[[str], None] = lambda _: None,
    checks: Iterable[Callable[[], Iterable[str]]] = (),
) -> Front:
    """The app over the store open at `settings.folder`, which this process holds; `tell` hears of dropped rows, and
    `checks` are more that may make the process unwell."""
    limits, metrics = settings.limits, StoreMetrics()
    front, answers = metrics.front, Answers(_is_statement)
    engine = Engine(settings.folder)
    parts = Parts(
        settings=settings,
        engine=engine,
        judge=Judge(engine),
        running=RunningRequests(engine, limits.seconds),
        queries=ConcurrencyLimit("queries", limits.queries_at_once, limits.wait_seconds, front.waiting, front.running),
        owners_queries=ConcurrencyLimit(
            "owner's queries", limits.queries_at_once, limits.wait_seconds, front.waiting, front.running
        ),
        judging=ConcurrencyLimit("judging", limits.judged_at_once, limits.wait_seconds, front.waiting, front.running),
        whole=ConcurrencyLimit(
            "whole answers", limits.whole_at_once, limits.wait_seconds, front.waiting, front.running
        ),
        budget=MemoryBudget(limits.held_bytes),
        metrics=metrics,
    )
    metrics.handles.set_function(lambda: engine.open_handles)
    front.held.set_function(lambda: parts.budget.held)

    inserts = ConcurrencyLimit("inserts", limits.inserts_at_once, limits.wait_seconds, front.waiting, front.running)
    holder = Holder(store, settings.keep, metrics, tell)
    writes = StoreRoutes(holder, settings, inserts, parts.budget, metrics)
    web = api_of(store, settings, answers, front, parts.budget)
    interface = Interface(parts)
    health = Health(store, [holder.unwell, parts.running.unwell, *checks])

    async def root(scope: Scope, receive: Receive, send: Send) -> None:
        await (interface if _is_statement(scope) else web)(scope, receive, send)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        holder.start()
        try:
            yield
        finally:
            await asyncio.to_thread(holder.close)
            for each in (parts.queries, parts.owners_queries, parts.judging, parts.whole, inserts):
                each.close()
            for part in (web.state.questions, web.state.uploads, health):
                part.close()
            engine.close()

    routes = [
        Route("/", _App(root)),
        *Probes(settings.instance, health, front, answers).routes(),
        *writes.routes(),
    ]
    return front_of([*routes, Mount("/", web)], lifespan, settings, answers, front)


def _is_statement(scope: Scope) -> bool:
    """Whether ClickHouse's HTTP interface is meant: it is at `/`, where the overview of a person's browser is too."""
    return bool(scope["path"] == "/") and not _is_a_person(Request(scope))


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
