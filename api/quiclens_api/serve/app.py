"""The ASGI app: the ClickHouse HTTP interface at `/`, `/ping`, `/metrics`, and the look after old rows."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

from quiclens_schema.owner import INSTANCE_HEADER
from quiclens_schema.store import Store, StoreError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from quiclens_api.serve.access import role_of
from quiclens_api.serve.engine import Engine
from quiclens_api.serve.faults import Fault
from quiclens_api.serve.interface import Interface, Parts
from quiclens_api.serve.judge import Judge
from quiclens_api.serve.metrics import CONTENT_TYPE, Metrics
from quiclens_api.serve.retention import sweep
from quiclens_api.serve.running import Running
from quiclens_api.serve.settings import Settings
from quiclens_api.serve.turns import Room, Turns


def create_app(store: Store, settings: Settings, tell: Callable[[str], None] = lambda _: None) -> Starlette:
    """The app over the store open at `settings.folder`, which this process holds; `tell` hears of dropped rows."""
    limits, metrics = settings.limits, Metrics()
    engine = Engine(settings.folder)
    parts = Parts(
        settings=settings,
        engine=engine,
        judge=Judge(engine, settings.trust_sql),
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
            role_of(settings, request.headers)
        except Fault as fault:
            return Response(fault.body, fault.status)
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        sweeper = asyncio.create_task(_sweep_for_ever(store, parts, tell))
        try:
            yield
        finally:
            sweeper.cancel()
            with suppress(asyncio.CancelledError):
                await sweeper
            for turns in (parts.queries, parts.inserts):
                turns.close()
            engine.close()

    return Starlette(
        routes=[
            Route("/", Interface(parts)),
            Route("/ping", ping),
            Route("/replicas_status", ping),
            Route("/metrics", show_metrics),
        ],
        lifespan=lifespan,
    )


async def _sweep_for_ever(store: Store, parts: Parts, tell: Callable[[str], None]) -> None:
    """Look after old rows now and then; a look that fails is counted and told, and the next comes."""
    keep = parts.settings.keep
    while True:
        try:
            done = await parts.inserts.run(lambda: sweep(store, keep, datetime.now(UTC)))
        except StoreError as error:
            parts.metrics.sweeps_failed.inc()
            tell(f"could not look after old rows: {str(error).partition(chr(10))[0]}")
        else:
            parts.metrics.disk.set(done.disk_bytes)
            for dropped in done.dropped:
                parts.metrics.partitions_dropped.labels(dropped.why).inc()
                parts.metrics.rows_dropped.labels(dropped.why).inc(dropped.rows)
                parts.metrics.bytes_dropped.labels(dropped.why).inc(dropped.bytes)
            for line in done.told:
                tell(line)
        await asyncio.sleep(keep.every_seconds)
