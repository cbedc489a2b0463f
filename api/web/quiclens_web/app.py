"""The ASGI app of the pages and the API, behind everything that stands before an app."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from quiclens_schema.store import Store
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount
from starlette.types import ASGIApp

from quiclens_web.api.answering import HANDLERS
from quiclens_web.api.app import create_app
from quiclens_web.api.settings import ApiSettings
from quiclens_web.front.access import Doorkeeper
from quiclens_web.front.door import Door
from quiclens_web.front.memory import MemoryBudget
from quiclens_web.front.metrics import FrontMetrics
from quiclens_web.front.observed import Observed
from quiclens_web.front.probes import Health, Probes
from quiclens_web.front.problems import Answers
from quiclens_web.front.settings import ServeSettings


class Front(Observed):
    """A whole app, and what the server that runs it needs of it."""

    def __init__(self, app: ASGIApp, answers: Answers, metrics: FrontMetrics, keeper: Doorkeeper) -> None:
        super().__init__(app, answers, metrics)
        self.metrics = metrics
        self.keeper = keeper


def create_pages(store: Store, settings: ServeSettings) -> Front:
    """The app over a ClickHouse server, or over a store that another process serves: the pages and the API alone."""
    front, answers = FrontMetrics(), Answers()
    budget = MemoryBudget(settings.limits.held_bytes)
    front.held.set_function(lambda: budget.held)
    web = api_of(store, settings, answers, front, budget)
    health = Health(store)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        for each in (web.state.questions, web.state.uploads, health):
            each.close()

    routes = [*Probes(settings.instance, health, front, answers).routes(), Mount("/", web)]
    return front_of(routes, lifespan, settings, answers, front)


def front_of(
    routes: list[BaseRoute], lifespan: Any, settings: ServeSettings, answers: Answers, metrics: FrontMetrics
) -> Front:
    """What every app has before its routes: who may come in, what is counted, how failures are told."""
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=HANDLERS)
    app.state.answers = answers
    app.state.parameters = frozenset[str]()
    keeper = Doorkeeper(settings.access)
    return Front(Door(app, keeper, answers, metrics, settings.audit), answers, metrics, keeper)


def api_of(
    store: Store, settings: ServeSettings, answers: Answers, metrics: FrontMetrics, budget: MemoryBudget
) -> FastAPI:
    web = ApiSettings(store, settings.access.qvis, settings.expected, settings.redacts_uploads)
    return create_app(web, answers, metrics, budget)
