"""What is counted of `requests`: rollups of five minutes, and the values of each column by hour."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from quiclens_schema.catalogue import load as load_catalogue
from quiclens_schema.store import Store

from quiclens_ingest.hand import WRITING
from quiclens_ingest.lease import MARGIN_SECONDS, Lease
from quiclens_ingest.scratch import Scratch

_AT_ONCE = 24  # of five minutes: bounds the memory


def count(store: Store, buckets: Iterable[datetime], lease: Lease) -> None:
    """Count the requests that began in these five minutes anew, and write what is another number than before."""
    left = sorted(buckets)
    with Scratch(store) as scratch:
        for name, table in _TABLES.items():
            columns = ", ".join(f"`{column.name}` {column.type}" for column in load_catalogue().table(table).columns)
            scratch.make(name, columns)
            scratch.make(f"old_{name}", columns)
        for at in range(0, len(left), _AT_ONCE):
            _count(scratch, left[at : at + _AT_ONCE], lease)


def _count(scratch: Scratch, buckets: Sequence[datetime], lease: Lease) -> None:
    hours = sorted({bucket.replace(minute=0) for bucket in buckets})
    bound = {"buckets": _naive(buckets), "hours": _naive(hours)}
    for name in _TABLES:
        for table in (name, f"old_{name}"):
            scratch.empty(table)
            scratch.run(table, bound)
        written = {"fence": lease.fence, "version": lease.version(), "margin": MARGIN_SECONDS}
        lease.check()
        scratch.run(f"write_{name}", written, WRITING)
    lease.check()


def _naive(instants: Iterable[datetime]) -> list[datetime]:
    return [instant.replace(tzinfo=None) for instant in instants]


_TABLES = {"rollups": "request_rollups", "dimensions": "request_dimensions"}
"""Scratch tables, in the order in which they are made, and what they are of."""
