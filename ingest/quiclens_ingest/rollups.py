"""What is counted of `requests`: rollups of five minutes, and the values of each column by hour."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from quiclens_schema.store import Store

from quiclens_ingest.lease import LinkLease
from quiclens_ingest.scratch import Scratch, columns_of

_AT_ONCE = 24  # of five minutes: bounds the memory


def count(store: Store, buckets: Iterable[datetime], lease: LinkLease) -> None:
    """Count the requests that began in these five minutes anew, and write what is another number than before."""
    left = sorted(buckets)
    with Scratch(store) as scratch:
        for name, table in _TABLES.items():
            scratch.make(name, columns_of(table))
            scratch.make(f"old_{name}", columns_of(table))
        for at in range(0, len(left), _AT_ONCE):
            _count(scratch, left[at : at + _AT_ONCE], lease)


def _count(scratch: Scratch, buckets: Sequence[datetime], lease: LinkLease) -> None:
    bound = {"buckets": _naive(buckets), "hours": _naive(sorted(hours_of(buckets)))}
    for name in _TABLES:
        for table in (name, f"old_{name}"):
            scratch.empty(table)
            scratch.run(table, bound)
        lease.show(scratch, f"write_{name}")
    lease.check()


def hours_of(buckets: Iterable[datetime]) -> set[datetime]:
    """The hours in which these five minutes lie."""
    return {bucket.replace(minute=0) for bucket in buckets}


def _naive(instants: Iterable[datetime]) -> list[datetime]:
    return [instant.replace(tzinfo=None) for instant in instants]


_TABLES = {"rollups": "request_rollups", "dimensions": "request_dimensions"}
"""Scratch tables, in the order in which they are made, and what they are of."""
