"""Build `requests`: lines of access logs joined with streams of traces, and what is counted of it.

The cost follows what is new. What was stored since a mark, and all that it may mean, is linked anew; of the requests
that come of it those are written that are others than before, as new versions of their rows. A reader sees each request
once, at every moment, as it was or as it is: all versions of one lie in one partition, and one block has all of a
change.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial

from quiclens_schema.served import ServedStore, StoreOperation
from quiclens_schema.store import Store

from quiclens_ingest import rollups
from quiclens_ingest.hand import Hand, Linked
from quiclens_ingest.lease import LinkLease, held
from quiclens_ingest.mark import Mark
from quiclens_ingest.scratch import Scratch, sql

WAIT_SECONDS = 600.0
"""How long a command waits for another process that links."""


@dataclass(frozen=True, slots=True)
class LinkSummary:
    """What linking did: hours of requests that were made anew, and these; most may be as they were."""

    hours: int
    requests: int

    @staticmethod
    def of(*parts: Linked) -> "LinkSummary":
        """What all of these did together."""
        hours = rollups.hours_of(bucket for each in parts for bucket in each.buckets)
        return LinkSummary(len(hours), sum(each.requests for each in parts))


def link(store: Store, days: Iterable[date] | None = None) -> LinkSummary:
    """Link what the given days have, or all there is. Twice in a row gives the same table.

    A store that another process serves is linked by that process, all of it.
    """
    if isinstance(store, ServedStore):
        return store.operate(StoreOperation.LINK, LinkSummary)
    with held(store, WAIT_SECONDS) as lease:
        chosen = [day for (day,) in store.query(sql("days")).rows] if days is None else sorted(set(days))
        parts = []
        for day in chosen:
            parts.append(_steps(store, lease, partial(Hand.start_with_day, day=day)))
            rollups.count(store, parts[-1].buckets, lease)
        return LinkSummary.of(*parts)


def link_since(store: Store, since: Mark) -> LinkSummary:
    """Link all that anything stored after the mark can have changed."""
    with held(store, WAIT_SECONDS) as lease:
        linked = link_stored(store, since, lease)
        rollups.count(store, linked.buckets, lease)
        return LinkSummary.of(linked)


def link_stored(store: Store, since: Mark, lease: LinkLease) -> Linked:
    """The same, but for what is counted of requests."""
    return _steps(store, lease, partial(Hand.start_with_stored, known=since.parameters()))


def roll_up(store: Store) -> None:
    """Count what `requests` has, for rows that came there in another way than by linking."""
    with held(store, WAIT_SECONDS) as lease:
        for (day,) in store.query("SELECT DISTINCT day FROM request_versions ORDER BY day").rows:
            found = store.query(sql("all_buckets"), {"day": day}).rows
            rollups.count(store, {bucket for (bucket,) in found}, lease)


def _steps(store: Store, lease: LinkLease, start: Callable[[Hand], None]) -> Linked:
    buckets: set[datetime] = set()
    requests = 0
    with Scratch(store) as scratch:
        hand = Hand(scratch, lease)
        start(hand)
        while (linked := hand.next()) is not None:
            buckets |= linked.buckets
            requests += linked.requests
    return Linked(frozenset(buckets), requests)
