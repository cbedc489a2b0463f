"""An answer that comes in pieces, of which the beginning waits until it is known whether the end is near."""

from collections.abc import AsyncIterator, Awaitable, Callable
from tempfile import SpooledTemporaryFile
from types import TracebackType

from quiclens_web.front.faults import Fault

IN_MEMORY_BYTES = 32 << 20  # of what waits; the rest in a file
_READ_BYTES = 1 << 20


class SpooledAnswer:
    """What has come of an answer, and how to get the rest.

    The newest piece stays out of the spool: a large one that is sent next is not copied.
    """

    def __init__(self, next_piece: Callable[[], Awaitable[bytes | None]], most: int) -> None:
        """`next_piece` gives what follows, or None at the end; more than `most` bytes are a Fault 396."""
        self._next_piece = next_piece
        self._most = most
        self._spool = SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115
        self._newest = b""
        self.size = 0
        self.is_ended = False

    def __enter__(self) -> "SpooledAnswer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spool.close()

    async def wait(self, least: int | None) -> None:
        """Take pieces until there are so many bytes, or until the end; to the end where None is given."""
        while not self.is_ended and (least is None or self.size < least):
            self._spool.write(self._newest)
            self._newest = b""
            await self._take()

    def whole(self) -> bytes:
        """All of it, once it has ended."""
        self._spool.seek(0)
        return self._spool.read() + self._newest

    async def rest(self) -> AsyncIterator[bytes]:
        """All of it, what waited first."""
        self._spool.seek(0)
        while data := self._spool.read(_READ_BYTES):
            yield data
        while self._newest or not self.is_ended:
            if self._newest:
                newest, self._newest = self._newest, b""
                yield newest
            if not self.is_ended:
                await self._take()

    async def _take(self) -> None:
        piece = await self._next_piece()
        self.is_ended = piece is None
        self._newest = piece or b""
        self.size += len(self._newest)
        if self.size > self._most:
            raise Fault(396, "TOO_MANY_ROWS_OR_BYTES", f"Limit for result exceeded, max bytes: {self._most:,}")
