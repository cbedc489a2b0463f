"""The right to do something in a store: one holder at a time, with a fencing number.

Who takes it gets a number higher than any before. A statement that makes something visible can look, in the store,
whether its number is still the highest and has time left. What carries the number never wins over the next holder's.
See M. Kleppmann, "How to do distributed locking", 2016.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from uuid import uuid4

from quiclens_schema.errors import StoreError
from quiclens_schema.store import Store

PROCESS = f"{os.getpid():x}-{uuid4().hex[:16]}"
"""This process, as holders of leases are named."""
_ASKED_AGAIN_SECONDS = 0.2

TABLE = """
CREATE TABLE IF NOT EXISTS {name}
(
    fence UInt64,
    holder String,
    expires_at DateTime64(6, 'UTC')
)
ENGINE = MergeTree
ORDER BY fence
SETTINGS enable_block_number_column = 1, fsync_after_insert = 1, fsync_part_directory = 1
"""
"""What makes the table of a kind of lease; one row is that somebody took a lease, renewed it or gave it back."""

_NEWEST = """
SELECT fence, holder, expires_at > now64(6)
FROM {table:Identifier}
WHERE fence = (SELECT max(fence) FROM {table:Identifier})
ORDER BY _block_number
"""
_TAKE = """
INSERT INTO {table:Identifier} (fence, holder, expires_at)
SELECT {fence:UInt64}, {holder:String}, now64(6) + toIntervalSecond({seconds:UInt32})
"""


class LeaseBusyError(StoreError):
    """Somebody else has the right."""


class LeaseLostError(StoreError):
    """The right went to somebody else while this process worked."""


class Leases:
    """Leases of one kind: their table, for what (a verb: "links"), and how long one lasts that is not renewed, s."""

    def __init__(self, table: str, does: str, seconds: int) -> None:
        self._table = table
        self._does = does
        self._seconds = seconds
        self._one_at_a_time = Lock()  # threads of a process wait here, and not in the store

    @contextmanager
    def held(self, store: Store, wait_seconds: float = 0.0, process: str = PROCESS) -> Iterator["Lease"]:
        """Have the right and give it back at the end; LeaseBusyError where another has it for `wait_seconds` on."""
        until = time.monotonic() + wait_seconds
        if process == PROCESS and not self._one_at_a_time.acquire(timeout=wait_seconds or -1):
            raise LeaseBusyError(f"another thread {self._does}")
        try:
            lease = self._acquired(store, until, process)
            try:
                yield lease
            finally:
                lease.release()
        finally:
            if process == PROCESS:
                self._one_at_a_time.release()

    def newest(self, store: Store) -> tuple[int, str, bool]:
        """The highest fence, who holds it, and whether that lease has time left; 0 where there was none."""
        rows = store.query(_NEWEST, {"table": self._table}).rows
        if not rows:
            return 0, "", False
        fence, holder, _ = rows[0]
        *_, is_live = [bool(live) for _, each, live in rows if each == holder]
        return int(fence), str(holder), is_live

    def take(self, store: Store, fence: int, holder: str, seconds: int | None = None) -> None:
        """Write that `holder` has the lease of this number for so long from now on; without `seconds`, as usual."""
        lasts = self._seconds if seconds is None else seconds
        store.command(_TAKE, {"table": self._table, "fence": fence, "holder": holder, "seconds": lasts})

    def forget(self, store: Store, before: int) -> None:
        """Delete leases with a lower number."""
        store.command(
            "DELETE FROM {table:Identifier} WHERE fence < {fence:UInt64}", {"table": self._table, "fence": before}
        )

    def lost(self, fence: int, ours: int) -> LeaseLostError:
        """What is raised where somebody else has a higher number."""
        return LeaseLostError(f"somebody else {self._does}: fence {fence}, ours was {ours}")

    @property
    def renewed_after_seconds(self) -> float:
        return self._seconds / 3

    def _acquired(self, store: Store, until: float, process: str) -> "Lease":
        holder = f"{process}-{uuid4().hex[:16]}"
        while True:
            fence, other, is_live = self.newest(store)
            # An embedded store has one process: a lease of another is that of one which is gone.
            is_gone = store.is_embedded and not other.startswith(process)
            if not is_live or is_gone:
                self.take(store, fence + 1, holder)
                # Of several that took the same number, the one that the store has first holds it.
                if self.newest(store)[:2] == (fence + 1, holder):
                    return Lease(self, store, fence + 1, holder)
            if time.monotonic() >= until:
                raise LeaseBusyError(f"somebody else {self._does} in this store ({other})")
            time.sleep(_ASKED_AGAIN_SECONDS)


class Lease:
    """The right, while nobody has a higher fence."""

    def __init__(self, kind: Leases, store: Store, fence: int, holder: str) -> None:
        self._kind = kind
        self._store = store
        self._holder = holder
        self._renewed = time.monotonic()
        self.fence = fence

    def check(self) -> None:
        """LeaseLostError when somebody else has it by now; renewed when a third of its time is over."""
        if time.monotonic() - self._renewed > self._kind.renewed_after_seconds:
            self._renewed = time.monotonic()
            self._kind.take(self._store, self.fence, self._holder)
        fence, holder, _ = self._kind.newest(self._store)
        if (fence, holder) != (self.fence, self._holder):
            raise self._kind.lost(fence, self.fence)

    def release(self) -> None:
        """Give it back before its time."""
        self._kind.take(self._store, self.fence, self._holder, 0)
