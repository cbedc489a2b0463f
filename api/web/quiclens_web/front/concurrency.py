"""How much goes on at once: a limit for each kind of work, with threads of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

from prometheus_client import Gauge

from quiclens_web.front.faults import too_many

T = TypeVar("T")


class ConcurrencyLimit:
    """So many requests of one kind at once, each with a thread; one that waits too long for its place is refused."""

    def __init__(self, kind: str, at_once: int, wait_seconds: float, waiting: Gauge, running: Gauge) -> None:
        self._kind = kind
        self._seconds = wait_seconds
        self._free = asyncio.Semaphore(at_once)
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix=kind)
        self._waiting = waiting.labels(kind)
        self._running = running.labels(kind)

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Have one of the places; Fault 429 when none is free in time."""
        with self._waiting.track_inprogress():
            try:
                await asyncio.wait_for(self._free.acquire(), self._seconds)
            except TimeoutError:
                raise too_many(self._kind) from None
        try:
            with self._running.track_inprogress():
                yield
        finally:
            self._free.release()

    async def run(self, call: Callable[[], T]) -> T:
        """Run a call in a thread of this kind, and see it through even when nobody waits for it any more."""
        future = asyncio.get_running_loop().run_in_executor(self._threads, call)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait({future})
            raise

    def close(self) -> None:
        self._threads.shutdown(wait=True)
