"""What machines ask of every `serve`: whether it runs, whether it is well, and how much it has done."""

import asyncio
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from quiclens_schema.owner import INSTANCE_HEADER
from quiclens_schema.store import Store, StoreError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quiclens_web.front.metrics import CONTENT_TYPE, FrontMetrics
from quiclens_web.front.parameters import refuse_unknown
from quiclens_web.front.problems import Answers

_STORE_SECONDS = 5.0  # for `SELECT 1`
PUBLIC = ("/ping", "/replicas_status", "/healthz")
"""Asked without a token, and under any name: they tell nothing of what is stored."""


class Health:
    """Whether this process can do its work: the store answers, and each of its tasks goes on."""

    def __init__(self, store: Store, checks: Iterable[Callable[[], Iterable[str]]] = ()) -> None:
        self._store = store
        self._checks = tuple(checks)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="health")
        self._asked: asyncio.Future[object] | None = None
        self._since = 0.0

    async def reasons(self) -> list[str]:
        """Why it cannot; none when all is well. Answers within `_STORE_SECONDS` whatever the store does."""
        found = [reason for check in self._checks for reason in check()]
        # One question at a time, however many ask: where the store hangs, so does this thread alone.
        if self._asked is None or self._asked.done():
            self._since = time.monotonic()
            loop = asyncio.get_running_loop()
            self._asked = loop.run_in_executor(self._thread, self._store.query, "SELECT 1")
        try:
            await asyncio.wait_for(asyncio.shield(self._asked), _STORE_SECONDS)
        except TimeoutError:
            found.append(f"the store has not answered for {time.monotonic() - self._since:.0f} s")
        except StoreError:
            found.append("the store answers with an error")
        return found

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


class Probes:
    """The routes."""

    def __init__(self, instance: str, health: Health, metrics: FrontMetrics, answers: Answers) -> None:
        self._instance = instance
        self._health = health
        self._metrics = metrics
        self._answers = answers

    def routes(self) -> list[Route]:
        return [
            Route("/ping", self._ping),
            Route("/replicas_status", self._ping),
            Route("/healthz", self._healthz),
            Route("/metrics", self._show_metrics),
        ]

    async def _ping(self, request: Request) -> Response:
        return Response(b"Ok.\n", media_type="text/plain", headers={INSTANCE_HEADER: self._instance})

    async def _healthz(self, request: Request) -> Response:
        refuse_unknown(request.query_params, ())
        reasons = await self._health.reasons()
        if reasons:
            return self._answers.problem(request.scope, "unwell", "; ".join(reasons), "the log says more")
        return JSONResponse({"ok": True})

    async def _show_metrics(self, request: Request) -> Response:
        refuse_unknown(request.query_params, ())
        return Response(self._metrics.text(), media_type=CONTENT_TYPE)
