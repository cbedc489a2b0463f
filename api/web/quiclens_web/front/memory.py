"""One budget, in bytes, for everything that requests hold in memory: bodies, forms and answers.

    with budget.lease() as lease:
        lease.grow(len(piece))  # Fault 503 when all requests together would hold too much
        lease.shrink(len(piece))  # what is no longer held; the rest is given back at the end

A lease may be used from any thread.
"""

from threading import Lock
from typing import Self

from quiclens_web.front.faults import Fault


class MemoryBudget:
    """Bytes that requests may hold at one time, all together."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._held = 0
        self._lock = Lock()

    @property
    def held(self) -> int:
        return self._held

    def lease(self) -> "MemoryLease":
        return MemoryLease(self)

    def take(self, size: int) -> None:
        """Hold so many bytes more; Fault 503 when that is more than there are, and nothing is held then."""
        with self._lock:
            if self._held + size > self.most:
                message = (
                    f"Requests hold {self._held:,} of {self.most:,} bytes, and {size:,} more are wanted. Try again"
                )
                raise Fault(202, "TOO_MANY_SIMULTANEOUS_QUERIES", message, 503)
            self._held += size

    def give_back(self, size: int) -> None:
        with self._lock:
            self._held -= size


class MemoryLease:
    """What one request holds; all of it is given back at the end."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self._size = 0

    @property
    def size(self) -> int:
        return self._size

    def grow(self, size: int) -> None:
        """Hold more; Fault 503 when the budget does not have it."""
        self._budget.take(size)
        self._size += size

    def shrink(self, size: int) -> None:
        """Hold less, at least nothing."""
        size = min(size, self._size)
        self._size -= size
        self._budget.give_back(size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shrink(self._size)
