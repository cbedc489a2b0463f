"""Uploaded traces: few are read at one time, and what waits on disk is bounded; a collector whose client went away is
ended.

    async with uploads.of(who) as mine:
        mine.hold(len(piece))  # Fault 503 where files wait that are too large together
        summary = await mine.load(request, store, words)  # Stopped where no place is free in time
"""

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, BinaryIO, cast

from fastapi import Request
from quiclens_ingest.frames import Batch, CollectorSummary, FrameError, Progress, frames
from quiclens_ingest.load import LoadError, LoadSummary, and_link
from quiclens_schema.catalogue import CatalogueError
from quiclens_schema.store import Store, StoreError

from quiclens_web.api.answering import Gone, client_gone
from quiclens_web.api.settings import UploadLimits
from quiclens_web.front.concurrency import ConcurrencyLimit
from quiclens_web.front.faults import Fault
from quiclens_web.front.memory import MemoryBudget, MemoryLease
from quiclens_web.front.metrics import FrontMetrics
from quiclens_web.front.problems import Stopped


@dataclass(slots=True)
class _Visitor:
    """What one visitor has of all."""

    places: asyncio.Semaphore
    files: MemoryBudget
    uploads: int = 0


class Uploads:
    """The uploads of one app."""

    def __init__(self, limits: UploadLimits, metrics: FrontMetrics) -> None:
        self.limits = limits
        self.places = ConcurrencyLimit("uploads", limits.at_once, limits.wait_seconds, metrics.waiting, metrics.running)
        self.files = MemoryBudget(limits.files_bytes)
        self.given_up = metrics.uploads_given_up
        self._visitors: dict[tuple[str, str], _Visitor] = {}

    @asynccontextmanager
    async def of(self, who: tuple[str, str]) -> AsyncIterator["Upload"]:
        """One upload of a visitor, from its first byte to its answer."""
        made = _Visitor(asyncio.Semaphore(self.limits.of_one), MemoryBudget(self.limits.files_bytes_of_one))
        visitor = self._visitors.setdefault(who, made)
        visitor.uploads += 1
        try:
            with self.files.lease() as of_all, visitor.files.lease() as of_one:
                yield Upload(self, visitor, (of_all, of_one))
        finally:
            visitor.uploads -= 1
            if not visitor.uploads:
                del self._visitors[who]

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


@dataclass(slots=True)
class CollectorRun:
    """One run of the collector, which another thread may end. As `quiclens_ingest.load`, of one file and without
    reading ahead."""

    words: Sequence[str]
    _process: "subprocess.Popen[bytes] | None" = None
    _is_stopped: bool = False
    _lock: Lock = field(default_factory=Lock)

    def load(self, store: Store) -> LoadSummary:
        """Store what it says, and link; LoadError where that cannot be done to its end."""
        began = time.monotonic()
        (summary, erased), linked = and_link(store, lambda: self._insert(store))
        return LoadSummary(
            files=summary.files,
            connections=summary.connections,
            events=summary.events,
            requests=summary.requests,
            rejected=summary.rejected,
            values_unread=summary.values_unread,
            limits_crossed=summary.limits_crossed,
            erased=erased,
            bytes=summary.bytes,
            seconds=time.monotonic() - began,
            linked=linked,
        )

    def stop(self) -> None:
        """End the collector; nothing more of it is stored."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                self._process.kill()

    def _insert(self, store: Store) -> tuple[CollectorSummary, int]:
        summary: CollectorSummary | None = None
        erased = 0
        with TemporaryFile() as complaints:
            process = self._started(complaints)
            assert process.stdout is not None
            try:
                for frame in frames(cast(BinaryIO, process.stdout)):
                    if self._is_stopped:
                        break
                    if isinstance(frame, Batch):
                        erased += store.insert_arrow(frame.table, frame.stream, frame.rows)
                    elif not isinstance(frame, Progress):
                        summary = frame
            except (StoreError, CatalogueError) as error:
                raise LoadError(str(error)) from error
            except FrameError as error:
                raise LoadError(_last_line(complaints) or str(error)) from error
            finally:
                if summary is None:
                    process.kill()
                code = process.wait()
                process.stdout.close()
            if code != 0 or summary is None or self._is_stopped:
                raise LoadError(_last_line(complaints) or f"the collector ended with {code} and without a summary")
        return summary, erased

    def _started(self, complaints: IO[bytes]) -> "subprocess.Popen[bytes]":
        with self._lock:
            if self._is_stopped:
                raise LoadError("the upload was given up")
            try:
                self._process = subprocess.Popen(
                    self.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints
                )
            except OSError as error:
                raise LoadError(f"cannot run the collector {self.words[0]}: {error.strerror}") from error
            return self._process


def _last_line(complaints: IO[bytes]) -> str:
    complaints.seek(0)
    lines = complaints.read().decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""
