"""The requests that run now, by their query_id, so that one can be stopped."""

import asyncio
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

from quiclens_store_server.engine import Engine
from quiclens_web.front.access import Role
from quiclens_web.front.faults import Fault

T = TypeVar("T")
_AGAIN_SECONDS = 0.2
SPARE_SECONDS = 60.0  # beyond a statement's limit, until nobody believes that it ends


class ReceiverGone(Exception):
    """The client went away before its answer was complete."""


@dataclass(frozen=True, slots=True)
class Run:
    """One running request; `tag` is what the engine knows it by."""

    query_id: str
    tag: str
    role: Role


class RunningRequests:
    """All running requests of one app."""

    def __init__(self, engine: Engine, most_seconds: float) -> None:
        """`most_seconds` is what a statement may take, waiting and sending apart."""
        self._engine = engine
        self._most_seconds = most_seconds
        self._runs: dict[str, Run] = {}
        self._numbers = count(1)
        self._at_work: dict[asyncio.Future[Any], float] = {}  # since when the engine has been at each piece of work

    def unwell(self) -> Iterator[str]:
        """Why this process has to be started again: the engine works on a statement that neither its limit in time nor
        KILL ends, and its place is lost."""
        for since in self._at_work.values():
            if (past := time.monotonic() - since - self._most_seconds) > SPARE_SECONDS:
                yield f"a statement has run {past:.0f} s longer than it may, and nothing ends it"

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
        self._at_work[task] = time.monotonic()
        task.add_done_callback(lambda _: self._at_work.pop(task))
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self._stop(run, task)
            raise
        if task.done():
            return task.result()
        await self._stop(run, task)
        raise ReceiverGone

    async def _stop(self, run: Run, task: "asyncio.Future[T]") -> None:
        while not task.done():
            with suppress(Fault):
                await asyncio.to_thread(self._engine.kill, run.tag)
            await asyncio.wait({task}, timeout=_AGAIN_SECONDS)
        with suppress(Fault, asyncio.CancelledError):
            task.result()
