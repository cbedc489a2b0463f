"""Exported traces: what lies on disk until it was sent is bounded, for all and for one visitor, as is the time that one
takes to be made and how many are made at a time for one visitor.

    async with exports.of(who) as mine:
        draft = await app.run(lambda store: make(store, mine))  # draft.holds(size): Fault 503 where it is too much
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from tempfile import NamedTemporaryFile
from threading import RLock

from quiclens_questions.failure import Failure
from quiclens_web.api.settings import ExportLimits, QuestionLimits
from quiclens_web.front.faults import Fault, too_many
from quiclens_web.front.visitors import OfEachVisitor

_PIECE = 1 << 18


class Exports:
    """The exports of one app."""

    def __init__(self, limits: ExportLimits, questions: QuestionLimits) -> None:
        self.limits = limits
        self._wait_seconds = questions.wait_seconds
        self._places = OfEachVisitor(lambda: asyncio.Semaphore(max(1, questions.at_once // 2)))
        self._held: Counter[str] = Counter()
        self._lock = RLock()  # a draft may be let go of at any moment, in this thread too

    @asynccontextmanager
    async def of(self, who: str) -> AsyncIterator["Export"]:
        """One export of a visitor, while it is made; Fault 429 where half of all places are this visitor's."""
        with self._places.of(who) as places:
            try:
                await asyncio.wait_for(places.acquire(), self._wait_seconds)
            except TimeoutError:
                raise too_many("exports of one visitor") from None
            try:
                yield Export(self, who)
            finally:
                places.release()

    def take(self, who: str, size: int) -> None:
        """Have so many bytes more on disk; Fault 503 where that is too much of this visitor, or of all."""
        with self._lock:
            of_one, of_all = self._held[who] + size, self._held.total() + size
            if of_one > self.limits.files_bytes_of_one or of_all > self.limits.files_bytes:
                message = "Too many bytes of exports are on disk at once; quiclens export writes traces of any size"
                raise Fault(202, "TOO_MANY_SIMULTANEOUS_QUERIES", message, 503)
            self._held[who] = of_one

    def give_back(self, who: str, size: int) -> None:
        with self._lock:
            self._held[who] -= size
            if self._held[who] <= 0:
                del self._held[who]


@dataclass(frozen=True, slots=True)
class Export:
    """One export: whose, and until when it is made."""

    exports: Exports
    who: str
    began: float = field(default_factory=time.monotonic)

    def draft(self) -> "Draft":
        return Draft(self)

    def check_time(self) -> None:
        """Failure once it has taken too long."""
        if time.monotonic() - self.began > self.exports.limits.seconds:
            raise Failure("too_slow", "the export took too long", "quiclens export has all the time it needs")


class Draft:
    """A file without a name; its bytes count until it is closed."""

    def __init__(self, export: Export) -> None:
        self._export = export
        self._size = 0
        self.file = NamedTemporaryFile()  # noqa: SIM115 (closed when it was sent)

    def holds(self, size: int) -> None:
        """It has so many bytes now; Fault 503 where that is too much, Failure where it took too long."""
        self._export.check_time()
        self._export.exports.take(self._export.who, size - self._size)
        self._size = size

    def pieces(self) -> Iterator[bytes]:
        """All that it has, piece by piece; closed at the end."""
        try:
            self.file.seek(0)
            while piece := self.file.read(_PIECE):
                yield piece
        finally:
            self.close()

    def close(self) -> None:
        self.file.close()
        size, self._size = self._size, 0
        self._export.exports.give_back(self._export.who, size)

    def __del__(self) -> None:  # of one that nobody waits for any more
        self.close()
