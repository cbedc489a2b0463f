"""Waits until the engine has merged what was inserted at once: it would merge while it is asked."""

import time
from collections.abc import Callable

from quiclens_schema.store import Store

QUIET_S = 5
"""Without a merge."""


def rest(store: Store, show: Callable[[str], None]) -> None:
    """Wait until nothing has been merged for a while; `show` is told what is merged until then."""
    quiet = 0
    while quiet < QUIET_S:
        merging = store.query("SELECT table, progress FROM system.merges ORDER BY progress LIMIT 1").rows
        for table, progress in merging:
            show(f"{table}: merging, {progress:.0%}")
        quiet = 0 if merging else quiet + 1
        time.sleep(1)
