"""Uploaded traces: few are read at one time, and what waits on disk is bounded; a collector whose client went away is
ended.

    async with uploads.of(who) as mine:
        mine.hold(len(piece))  # Fault 503 where files wait that are too large together
        summary = await mine.load(request, store, words)  # Stopped where no place is free in time
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from fastapi import Request
from quiclens_ingest.load import CollectorRun, LoadSummary
from quiclens_schema.store import Store

from quiclens_web.api.answering import Gone, client_gone
from quiclens_web.api.settings import UploadLimits
from quiclens_web.front.concurrency import ConcurrencyLimit
from quiclens_web.front.faults import Fault
from quiclens_web.front.memory import MemoryBudget, MemoryLease
from quiclens_web.front.metrics import FrontMetrics
from quiclens_web.front.problems import Stopped
from quiclens_web.front.visitors import OfEachVisitor


@dataclass(slots=True)
class _Visitor:
    """What one visitor has of all."""

    places: asyncio.Semaphore
    files: MemoryBudget


class Uploads:
    """The uploads of one app."""

    def __init__(self, limits: UploadLimits, metrics: FrontMetrics) -> None:
        self.limits = limits
        self.places = ConcurrencyLimit("uploads", limits.at_once, limits.wait_seconds, metrics.waiting, metrics.running)
        self.files = MemoryBudget(limits.files_bytes)
        self.given_up = metrics.uploads_given_up
        self._visitors = OfEachVisitor(
            lambda: _Visitor(asyncio.Semaphore(limits.of_one), MemoryBudget(limits.files_bytes_of_one))
        )

    @asynccontextmanager
    async def of(self, who: str) -> AsyncIterator["Upload"]:
        """One upload of a visitor, from its first byte to its answer."""
        with self._visitors.of(who) as visitor, self.files.lease() as of_all, visitor.files.lease() as of_one:
            yield Upload(self, visitor, (of_all, of_one))

    def close(self) -> None:
        self.places.close()


@dataclass(frozen=True, slots=True)
class Upload:
    """One upload."""

    _uploads: Uploads
    _visitor: _Visitor
    _leases: tuple[MemoryLease, ...]

    def hold(self, size: int) -> None:
        """Have so many bytes more of a file on disk; Fault 503 where that is too much of this visitor, or of all."""
        for lease in self._leases:
            lease.grow(size)

    async def load(self, request: Request, store: Store, words: Sequence[str]) -> LoadSummary:
        """Run the collector and store what it says; Stopped where no place is free in time, Gone where the client went
        away: the collector is ended then, and its place is free once it has ended."""
        gone = asyncio.create_task(client_gone(request))
        try:
            async with self._place():
                run = CollectorRun(words)
                work = asyncio.ensure_future(self._uploads.places.run(lambda: run.load(store)))
                try:
                    await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    if not work.done():
                        self._uploads.given_up.inc()
                        run.stop()
                        await asyncio.wait({work})
                if gone.done():
                    work.exception()  # that it was ended, or an error: nobody waits for either
                    raise Gone
                return work.result()
        finally:
            gone.cancel()

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        limits = self._uploads.limits
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(limits.wait_seconds):
                    await held.enter_async_context(self._visitor.places)
                await held.enter_async_context(self._uploads.places.one())
            except (TimeoutError, Fault):
                detail = f"{limits.at_once} uploads are read at a time, {limits.of_one} of one visitor"
                hint = "send it again in a moment"
                raise Stopped(
                    "too_many_uploads", detail, hint, retry_after_seconds=limits.retry_after_seconds
                ) from None
            yield
