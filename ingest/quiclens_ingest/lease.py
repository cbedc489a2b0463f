"""The right to link: one holder in a store at a time, with a fencing number.

Who takes it gets a number higher than any before. Each statement that makes something visible looks, in the store,
whether its number is still the highest and has time left, and may not run longer than that time. Versions of rows begin
with the number, so that also a statement that comes too late never wins over the next holder's.
See M. Kleppmann, "How to do distributed locking", 2016.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from uuid import uuid4

from quiclens_schema.store import Store, StoreError

from quiclens_ingest.scratch import Scratch

SECONDS = 120
MARGIN_SECONDS = 30
"""A statement that shows something begins only with so much time left, and the store ends it before that is over."""
_SHOWING = {"max_execution_time": MARGIN_SECONDS - 5, "timeout_overflow_mode": "throw"}
_RENEWED_AFTER_SECONDS = 40.0
_ASKED_AGAIN_SECONDS = 0.2
_KEPT = 1000  # leases, behind the newest
_VERSIONS = 1 << 20  # of one lease

PROCESS = f"{os.getpid():x}-{uuid4().hex[:16]}"
"""This process, as holders of leases are named."""
_one_at_a_time = Lock()  # threads of a process wait here, and not in the store

_NEWEST = """
SELECT fence, holder, expires_at > now64(6)
FROM link_leases
WHERE fence = (SELECT max(fence) FROM link_leases)
ORDER BY _block_number
LIMIT 100000
"""
_TAKE = """
INSERT INTO link_leases (fence, holder, expires_at)
SELECT {fence:UInt64}, {holder:String}, now64(6) + toIntervalSecond({seconds:UInt32})
"""


class LeaseBusyError(StoreError):
    """Somebody else links."""


class LeaseLostError(StoreError):
    """The right to link went to somebody else while this process worked."""


class Lease:
    """The right to link, while nobody has a higher fence."""

    def __init__(self, store: Store, fence: int, holder: str) -> None:
        self._store = store
        self._holder = holder
        self._renewed = time.monotonic()
        self._used = 0
        self.fence = fence

    def version(self) -> int:
        """The version of the rows of the next statement: higher than any before."""
        self._used += 1
        if self._used >= _VERSIONS:
            raise LeaseLostError("a lease has made all versions that it can; the next one goes on")
        return self.fence * _VERSIONS + self._used

    def check(self) -> None:
        """LeaseLostError when somebody else has it by now; renewed when it is old."""
        if time.monotonic() - self._renewed > _RENEWED_AFTER_SECONDS:
            self._renewed = time.monotonic()
            _take(self._store, self.fence, self._holder, SECONDS)
        fence, holder, _ = _newest(self._store)
        if (fence, holder) != (self.fence, self._holder):
            raise LeaseLostError(f"somebody else links: fence {fence}, ours was {self.fence}")

    def show(self, scratch: Scratch, file: str) -> None:
        """Run a SQL file that makes something visible, while nobody else links; `check` tells whether it did."""
        self.check()
        bound = {"fence": self.fence, "version": self.version(), "margin": MARGIN_SECONDS}
        scratch.run(file, bound, _SHOWING)

    def release(self) -> None:
        """Give it back before its time."""
        _take(self._store, self.fence, self._holder, 0)
        if self.fence % _KEPT == 0:
            self._store.command(
                "DELETE FROM link_leases WHERE fence < {fence:UInt64}", {"fence": max(0, self.fence - _KEPT)}
            )


@contextmanager
def held(store: Store, wait_seconds: float = 0.0, process: str = PROCESS) -> Iterator[Lease]:
    """Have the right to link and give it back at the end; LeaseBusyError where another has it for `wait_seconds` on."""
    until = time.monotonic() + wait_seconds
    if process == PROCESS and not _one_at_a_time.acquire(timeout=wait_seconds or -1):
        raise LeaseBusyError("another thread links")
    try:
        lease = _acquired(store, until, process)
        try:
            yield lease
        finally:
            lease.release()
    finally:
        if process == PROCESS:
            _one_at_a_time.release()


def _acquired(store: Store, until: float, process: str) -> Lease:
    holder = f"{process}-{uuid4().hex[:16]}"
    while True:
        fence, other, is_live = _newest(store)
        # An embedded store has one process: a lease of another is that of one which is gone.
        is_gone = store.is_embedded and not other.startswith(process)
        if not is_live or is_gone:
            _take(store, fence + 1, holder, SECONDS)
            # Of several that took the same number, the one that the store has first holds it.
            if _newest(store)[:2] == (fence + 1, holder):
                return Lease(store, fence + 1, holder)
        if time.monotonic() >= until:
            raise LeaseBusyError(f"somebody else links in this store ({other})")
        time.sleep(_ASKED_AGAIN_SECONDS)


def _newest(store: Store) -> tuple[int, str, bool]:
    """The highest fence, who holds it, and whether that lease has time left."""
    rows = store.query(_NEWEST).rows
    if not rows:
        return 0, "", False
    fence, holder, _ = rows[0]
    *_, is_live = [bool(live) for _, each, live in rows if each == holder]
    return int(fence), str(holder), is_live


def _take(store: Store, fence: int, holder: str, seconds: int) -> None:
    store.command(_TAKE, {"fence": fence, "holder": holder, "seconds": seconds})
