"""The API over the seeded store, asked in this process, through the door."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from fastapi.testclient import TestClient
from quiclens_schema import store as stores
from quiclens_schema.store import Store
from starlette.types import ASGIApp

from quiclens_web.api.app import create_app
from quiclens_web.api.settings import ApiSettings
from quiclens_web.front.access import Access, Doorkeeper
from quiclens_web.front.door import Door, RequestLimits
from quiclens_web.front.metrics import FrontMetrics
from quiclens_web.front.observed import Observed
from quiclens_web.front.problems import Answers


def app_of(
    store: Store,
    access: Access | None = None,
    metrics: FrontMetrics | None = None,
    tell: Callable[[str], None] = lambda _: None,
    door_limits: RequestLimits | None = None,
    **settings: Any,
) -> ASGIApp:
    """The pages and the API, with all that stands before them."""
    access, metrics, answers = access or Access(qvis=settings.get("qvis", "")), metrics or FrontMetrics(), Answers()
    web = create_app(replace(ApiSettings(store), **settings), answers, metrics)
    door = Door(web, Doorkeeper(access), answers, metrics, tell, door_limits or RequestLimits())
    return Observed(door, answers, metrics)


@contextmanager
def client(
    store_url: str, peer: str = "127.0.0.1", base_url: str = "http://127.0.0.1:8123", **settings: Any
) -> Iterator[TestClient]:
    with (
        stores.open(store_url) as store,
        TestClient(app_of(store, **settings), base_url=base_url, client=(peer, 50_000)) as made,
    ):
        yield made
