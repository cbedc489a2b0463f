"""Linking while data arrive: every few seconds what came since the last round.

An embedded store is linked by the process that holds it. For a ClickHouse server, one process of the consumer group
links, the one that has partition 0 of the connections' topic; a lease in the store (`lease.py`) keeps any other process
that links, as `load` does, from doing so at the same time.
"""

import logging
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from datetime import datetime
from threading import Condition, Thread

from quiclens_schema.store import Store, StoreError

from quiclens_ingest import lease, rollups
from quiclens_ingest.hand import Linked
from quiclens_ingest.link import WAIT_SECONDS, LinkSummary, link, link_stored
from quiclens_ingest.mark import NOTHING, Mark, mark
from quiclens_ingest.metrics import LinkMetrics
from quiclens_ingest.scratch import sweep

_log = logging.getLogger("quiclens.ingest")

NAME = "ingest"
_RETRY_SECONDS = 5.0
LONGEST_ROUND_SECONDS = 3600.0  # the first round over a store that was never linked may take many minutes
LONGEST_FAILING_SECONDS = 300.0
_SHARE_MOST = 2 / 3  # of the time


def pause_after(took: float, seconds: float) -> float:
    """Seconds until the next round, after one that took `took`: rounds begin every `seconds`, or so rarely that the
    store has a third of its time for others. A round is one thread's work, mostly."""
    return max(seconds - took, took * (1 / _SHARE_MOST - 1))


class Linker:
    """Links in a thread of its own while it is told that it leads."""

    def __init__(self, store: Store, seconds: float, count_seconds: float, metrics: LinkMetrics) -> None:
        self._store = store
        self._seconds = seconds
        self._count_seconds = count_seconds
        self._metrics = metrics
        self._change = Condition()
        self._is_leading = False
        self._is_ending = False
        self._busy_since: float | None = None
        self._failing_since: float | None = None
        self._waiting: list[Future[LinkSummary]] = []  # for a round that begins after they came
        self._thread = Thread(target=self._run, name="link", daemon=True)
        if seconds > 0:
            self._thread.start()

    def lead(self, is_leading: bool) -> None:
        """Begin, or stop and return when the round that runs is done: what an earlier round made never comes last."""
        with self._change:
            self._is_leading = is_leading
            self._change.notify_all()
            if not is_leading:
                self._change.wait_for(lambda: self._busy_since is None, timeout=30)
        self._metrics.is_linking.set(is_leading)

    def catch_up(self) -> LinkSummary:
        """Link everything that is stored by now, and return when it is done: what that round linked.

        StoreError when the round fails, or when the linker ends before it.
        """
        done: Future[LinkSummary] = Future()
        with self._change:
            if self._is_ending:
                raise StoreError("linking has ended")
            self._waiting.append(done)
            self._change.notify_all()
        return done.result()

    def unwell(self) -> Iterator[str]:
        """Why nothing is linked though this process leads: nothing, when all is well."""
        if self._seconds > 0 and not self._thread.is_alive() and not self._is_ending:
            yield "linking has ended"
        since = self._busy_since
        if since is not None and time.monotonic() - since > LONGEST_ROUND_SECONDS:
            yield f"a round of linking has run for {time.monotonic() - since:.0f} s"
        failing = self._failing_since
        if failing is not None and time.monotonic() - failing > LONGEST_FAILING_SECONDS:
            yield f"linking has failed for {time.monotonic() - failing:.0f} s"

    def close(self) -> None:
        """Stop, after the round that runs."""
        with self._change:
            self._is_leading, self._is_ending = False, True
            waiting, self._waiting = self._waiting, []
            self._change.notify_all()
        for done in waiting:
            done.set_exception(StoreError("linking has ended"))
        if self._thread.ident is not None:
            self._thread.join(timeout=30)

    def _run(self) -> None:
        rounds: Rounds | None = None
        pause = 0.0
        while True:
            with self._change:
                self._change.wait_for(self._is_called, timeout=pause)
                if not self._is_leading:
                    rounds = None
                    self._change.wait_for(lambda: self._is_ending or self._is_leading)
                if self._is_ending:
                    return
                self._busy_since = time.monotonic()
                waiting, self._waiting = self._waiting, []
            try:
                rounds = rounds or Rounds(self._store, self._count_seconds)
                began = time.monotonic()
                linked = rounds.next(with_counts=bool(waiting))
                took = time.monotonic() - began
                self._metrics.hours.inc(linked.hours)
                self._metrics.seconds.observe(took)
                pause = pause_after(took, self._seconds)
                self._failing_since = None
                for done in waiting:
                    done.set_result(linked)
            except lease.LeaseBusyError as error:
                pause = self._seconds
                for done in waiting:
                    done.set_exception(error)
            except Exception as error:  # whatever it was, the next round begins anew, and linking goes on
                self._metrics.failures.inc()
                is_of_store = isinstance(error, StoreError)
                said = str(error).partition("\n")[0]
                _log.warning("linking failed and is tried again: %s", said, exc_info=None if is_of_store else error)
                self._failing_since = self._failing_since or time.monotonic()
                rounds, pause = None, max(self._seconds, _RETRY_SECONDS)
                for done in waiting:
                    done.set_exception(StoreError(f"linking failed: {said}"))
            finally:
                with self._change:
                    self._busy_since = None
                    self._change.notify_all()

    def _is_called(self) -> bool:
        return self._is_ending or not self._is_leading or bool(self._waiting)


class Rounds:
    """Rounds of linking, each from where the one before had come to; the store remembers it for the next process.

    What is counted of requests is counted anew at most every `count_seconds`, so that the five minutes that go on are
    not counted in each round. The store remembers a round when all of it is counted, also where there was nothing to
    count.
    """

    def __init__(
        self,
        store: Store,
        count_seconds: float,
        now: Callable[[], float] = time.monotonic,
        process: str = lease.PROCESS,
    ) -> None:
        self._store = store
        self._process = process
        self._count_seconds = count_seconds
        self._now = now
        self._dirty: set[datetime] = set()
        self._is_remembered = True
        self._counted_at = -math.inf
        sweep(store)
        self._since = self._remembered()

    def next(self, with_counts: bool = False) -> LinkSummary:
        """Link what is new, and count it when it is time for that, or `with_counts`; LeaseBusyError while another
        process links."""
        here = mark(self._store)
        is_due = with_counts or self._now() - self._counted_at >= self._count_seconds
        if here == self._since and (self._is_remembered or not is_due):
            return LinkSummary(0, 0)
        with lease.held(self._store, process=self._process) as held:
            linked = Linked(frozenset(), 0)
            if here != self._since:
                linked = link_stored(self._store, self._since, held)
                self._since, self._is_remembered = here, False
                self._dirty |= linked.buckets
            if is_due:
                rollups.count(self._store, self._dirty, held)
                self._dirty, self._counted_at = set(), self._now()
                remember(self._store, here, held)
                self._is_remembered = True
        return LinkSummary.of(linked)

    def _remembered(self) -> Mark:
        """How far linking had come. Where nobody knows, or a migration or a killed load wants all again, all is linked
        first, day by day: its memory is bounded however much there is."""
        tokens = [token for (token,) in self._store.query("SELECT token FROM link_pending LIMIT 1000").rows]
        since = remembered(self._store)
        if since is not None and not tokens:
            return since
        here = mark(self._store)
        if here != NOTHING:
            link(self._store)
        remember_up_to(self._store, here, self._process)
        if tokens:
            self._store.command("DELETE FROM link_pending WHERE token IN {tokens:Array(String)}", {"tokens": tokens})
        return here


def remember(store: Store, here: Mark, held: lease.LinkLease) -> None:
    """Say in the store that everything up to this mark is linked."""
    store.command(
        "INSERT INTO link_marks (name, mark, version) VALUES ({name:String}, {mark:String}, {version:UInt64})",
        {"name": NAME, "mark": here.text(), "version": held.version()},
    )


def remember_up_to(store: Store, here: Mark, process: str = lease.PROCESS) -> None:
    """The same, where nobody holds the lease yet."""
    with lease.held(store, WAIT_SECONDS, process) as held:
        remember(store, here, held)


def remember_all(store: Store) -> None:
    """Say that everything stored is linked, for requests that came there in another way."""
    remember_up_to(store, mark(store))


def is_caught_up(store: Store) -> bool:
    """Whether linking has come to all that is stored."""
    return remembered(store) == mark(store)


def remembered(store: Store) -> Mark | None:
    """How far linking has come, as the store remembers it; None where it does not."""
    sql = "SELECT argMax(mark, version) FROM link_marks WHERE name = {name:String} HAVING count() > 0 LIMIT 1"
    found = store.query(sql, {"name": NAME}).rows
    try:
        return Mark.of(found[0][0]) if found else None
    except ValueError:
        return None
