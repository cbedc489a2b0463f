"""Bounds on how much goes on at once: turns of queries and inserts, apart from each other, and bytes of bodies."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from threading import Lock
from typing import TypeVar

from prometheus_client import Gauge

from quiclens_api.serve.faults import Fault, too_many

T = TypeVar("T")


class Turns:
    """So many at once, each with a thread; who waits too long is told to come again."""

    def __init__(self, kind: str, at_once: int, wait_seconds: float, waiting: Gauge, running: Gauge) -> None:
        self._kind = kind
        self._seconds = wait_seconds
        self._free = asyncio.Semaphore(at_once)
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix=kind)
        self._waiting = waiting.labels(kind)
        self._running = running.labels(kind)

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Have a turn; Fault 429 when none is free in time."""
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


class Room:
    """Bytes of bodies held at one time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._lock = Lock()

    @property
    def held(self) -> int:
        return self._held

    def lease(self) -> "Lease":
        return Lease(self)

    def take(self, size: int) -> None:
        with self._lock:
            if self._held + size > self._most:
                raise Fault(202, "TOO_MANY_SIMULTANEOUS_QUERIES", "Too many bytes are being uploaded. Try again", 503)
            self._held += size

    def give_back(self, size: int) -> None:
        with self._lock:
            self._held -= size


class Lease:
    """What one request holds; all of it is given back at the end."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._size = 0

    def grow(self, size: int) -> None:
        """Hold more; Fault 503 when there is no room."""
        self._room.take(size)
        self._size += size

    def __enter__(self) -> "Lease":
        return self

    def __exit__(self, *_: object) -> None:
        self._room.give_back(self._size)
