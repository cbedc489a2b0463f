"""The right to link: one holder in a store at a time (`quiclens_schema.lease`).

Each statement that makes something visible looks, in the store, whether its number is still the highest and has time
left, and may not run longer than that time. Versions of rows begin with the number, so that also a statement that comes
too late never wins over the next holder's.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from quiclens_schema import lease
from quiclens_schema.lease import PROCESS as PROCESS
from quiclens_schema.lease import LeaseBusyError as LeaseBusyError
from quiclens_schema.lease import LeaseLostError as LeaseLostError
from quiclens_schema.store import Store

from quiclens_ingest.scratch import Scratch

SECONDS = 120
MARGIN_SECONDS = 30
"""A statement that shows something begins only with so much time left, and the store ends it before that is over."""
_SHOWING = {"max_execution_time": MARGIN_SECONDS - 5, "timeout_overflow_mode": "throw"}
_VERSIONS = 1 << 20  # of one lease
_KEPT = 1000  # leases, behind the newest

LEASES = lease.Leases("link_leases", "links", SECONDS)


class LinkLease:
    """The right to link, while nobody has a higher fence."""

    def __init__(self, held: lease.Lease) -> None:
        self._held = held
        self._used = 0

    @property
    def fence(self) -> int:
        """Its fencing number."""
        return self._held.fence

    def version(self) -> int:
        """The version of the rows of the next statement: higher than any before."""
        self._used += 1
        if self._used >= _VERSIONS:
            raise LeaseLostError("a lease has made all versions that it can; the next one goes on")
        return self.fence * _VERSIONS + self._used

    def check(self) -> None:
        """LeaseLostError when somebody else has it by now."""
        self._held.check()

    def show(self, scratch: Scratch, file: str) -> None:
        """Run a SQL file that makes something visible, while nobody else links; `check` tells whether it did."""
        self.check()
        bound = {"fence": self.fence, "version": self.version(), "margin": MARGIN_SECONDS}
        scratch.run(file, bound, _SHOWING)


@contextmanager
def held(store: Store, wait_seconds: float = 0.0, process: str = PROCESS) -> Iterator[LinkLease]:
    """Have the right to link and give it back at the end; LeaseBusyError where another has it for `wait_seconds` on."""
    with LEASES.held(store, wait_seconds, process) as each:
        yield LinkLease(each)
        if each.fence % _KEPT == 0:
            LEASES.forget(store, max(0, each.fence - _KEPT))
