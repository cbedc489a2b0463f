"""The ASGI app: the ClickHouse HTTP interface and the overview at `/`, `/ping`, `/metrics`, the routes that write, the
API and the pages.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from quiclens_schema.store import Store
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from quiclens_api.serve.access import Doorkeeper
from quiclens_api.serve.concurrency import ConcurrencyLimit
from quiclens_api.serve.door import Door
from quiclens_api.serve.engine import Engine
from quiclens_api.serve.holder import Holder
from quiclens_api.serve.interface import Interface, Parts
from quiclens_api.serve.judge import Judge
from quiclens_api.serve.memory import MemoryBudget
from quiclens_api.serve.metrics import FrontMetrics, Metrics
from quiclens_api.serve.observed import Observed
from quiclens_api.serve.probes import Health, Probes
from quiclens_api.serve.problems import Answers
from quiclens_api.serve.running import Running
from quiclens_api.serve.settings import Settings
from quiclens_api.serve.store_routes import StoreRoutes
from quiclens_api.web.answering import HANDLERS
from quiclens_api.web.app import create_app as create_web
from quiclens_api.web.settings import Settings as WebSettings


def create_app(
    store: Store,
    settings: Settings,
    tell: Callable[[str], None] = lambda _: None,
    checks: Iterable[Callable[[], Iterable[str]]] = (),
) -> "Front":
    """The app over the store open at `settings.folder`, which this process holds; `tell` hears of dropped rows, and
    `checks` are more that may make the process unwell."""
    limits, metrics = settings.limits, Metrics()
    front, answers = metrics.front, Answers(_is_statement)
    engine = Engine(settings.folder)
    parts = Parts(
        settings=settings,
        engine=engine,
        judge=Judge(engine),
        running=Running(engine, limits.seconds),
        queries=ConcurrencyLimit("queries", limits.queries_at_once, limits.wait_seconds, front.waiting, front.running),
        owners_queries=ConcurrencyLimit(
            "owner's queries", limits.queries_at_once, limits.wait_seconds, front.waiting, front.running
        ),
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
    web = _web(store, settings, answers, front, parts.budget)
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
            for each in (parts.queries, parts.owners_queries, parts.whole, inserts, web.state.questions, health):
                each.close()
            engine.close()

    routes = [
        Route("/", _App(root)),
        *Probes(settings.instance, health, front, answers).routes(),
        *writes.routes(),
    ]
    return _front([*routes, Mount("/", web)], lifespan, settings, answers, front)


def create_pages(store: Store, settings: Settings) -> "Front":
    """The app over a ClickHouse server, or over a store that another process serves: the pages and the API alone."""
    front, answers = FrontMetrics(), Answers()
    budget = MemoryBudget(settings.limits.held_bytes)
    front.held.set_function(lambda: budget.held)
    web = _web(store, settings, answers, front, budget)
    health = Health(store)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        for each in (web.state.questions, health):
            each.close()

    routes = [*Probes(settings.instance, health, front, answers).routes(), Mount("/", web)]
    return _front(routes, lifespan, settings, answers, front)


def _front(
    routes: list[BaseRoute], lifespan: Any, settings: Settings, answers: Answers, metrics: FrontMetrics
) -> "Front":
    """What every app has before its routes: who may come in, what is counted, how failures are told."""
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=HANDLERS)
    app.state.answers = answers
    app.state.parameters = frozenset[str]()
    keeper = Doorkeeper(settings.access)
    return Front(Door(app, keeper, answers, metrics, settings.audit), answers, metrics, keeper)


class Front(Observed):
    """A whole app, and what the server that runs it needs of it."""

    def __init__(self, app: ASGIApp, answers: Answers, metrics: FrontMetrics, keeper: Doorkeeper) -> None:
        super().__init__(app, answers, metrics)
        self.metrics = metrics
        self.keeper = keeper


def _web(store: Store, settings: Settings, answers: Answers, metrics: FrontMetrics, budget: MemoryBudget) -> FastAPI:
    web = WebSettings(store, settings.access.qvis, settings.expected, settings.redacts_uploads)
    return create_web(web, answers, metrics, budget)


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
