"""The requests that run now, by their query_id, so that one can be stopped."""

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from quiclens_api.serve.access import Role
from quiclens_api.serve.engine import Engine
from quiclens_api.serve.faults import Fault

T = TypeVar("T")
_AGAIN_SECONDS = 0.2


class Gone(Exception):
    """The client went away before its answer was complete."""


@dataclass(frozen=True, slots=True)
class Run:
    """One running request; `tag` is what the engine knows it by."""

    query_id: str
    tag: str
    role: Role


class Running:
    """All running requests of one app."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._runs: dict[str, Run] = {}
        self._numbers = count(1)

    @contextmanager
    def one(self, query_id: str, role: Role) -> Iterator[Run]:
        """Be known by this id for a while; Fault when another is."""
        if query_id in self._runs:
            message = f"Query with id = {query_id} is already running"
            raise Fault(216, "QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING", message)
        run = self._runs[query_id] = Run(query_id, f"{next(self._numbers)}", role)
        try:
            yield run
        finally:
            del self._runs[query_id]

    async def kill(self, query_id: str, role: Role) -> str:
        """Stop a request; what ClickHouse says of it, empty when there is none. A reader stops only readers."""
        run = self._runs.get(query_id)
        if run is None or (role is Role.READER and run.role is not role):
            return ""
        await asyncio.to_thread(self._engine.kill, run.tag)
        return f"waiting\t{query_id}\tquiclens\n"

    async def watched(self, run: Run, work: Awaitable[T], gone: "asyncio.Task[None]") -> T:
        """Wait for work in the engine; stop it when the client is gone or this request is given up."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self._stop(run, task)
            raise
        if task.done():
            return task.result()
        await self._stop(run, task)
        raise Gone

    async def _stop(self, run: Run, task: "asyncio.Future[T]") -> None:
        while not task.done():
            with suppress(Fault):
                await asyncio.to_thread(self._engine.kill, run.tag)
            await asyncio.wait({task}, timeout=_AGAIN_SECONDS)
        with suppress(Fault, asyncio.CancelledError):
            task.result()
