"""The API over the seeded store, asked in this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from fastapi.testclient import TestClient
from quiclens_schema import store as stores

from quiclens_api.serve.metrics import FrontMetrics
from quiclens_api.serve.observed import Observed
from quiclens_api.serve.problems import Answers
from quiclens_api.web.app import create_app
from quiclens_api.web.settings import Settings


@contextmanager
def client(store_url: str, metrics: FrontMetrics | None = None, **settings: Any) -> Iterator[TestClient]:
    with stores.open(store_url) as store:
        app = create_app(replace(Settings(store), **settings))
        with TestClient(Observed(app, Answers(), metrics or FrontMetrics()), base_url="http://127.0.0.1:8123") as made:
            yield made
