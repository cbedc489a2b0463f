"""Linking while data arrive: open hours every few seconds, closed ones once they close, and again when late data come.

An embedded store is linked by the process that holds it. For a ClickHouse server, one process of the consumer group
links: the one that has partition 0 of the connections' topic. The group gives a partition to one member and takes it
back before another gets it, so there is no lease to renew, no clock to trust, and no table to keep; a member that hangs
loses it after the session's time.
"""

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from datetime import datetime, timedelta
from threading import Condition, Thread

from quiclens_schema.store import Store, StoreError

from quiclens_ingest.link import NOTHING, LinkSummary, Mark, all_hours, changed_hours, data_time, link, mark, sweep
from quiclens_ingest.metrics import LinkMetrics

_log = logging.getLogger("quiclens.ingest")

NAME = "ingest"
CLOSES_AFTER = timedelta(hours=1, minutes=5)  # of its beginning, by the time that the data speak of
_RETRY_SECONDS = 5.0
LONGEST_ROUND_SECONDS = 3600.0  # the first round over a store that was never linked may take many minutes
LONGEST_FAILING_SECONDS = 300.0
_SHARE_MOST = 0.2  # of the time: an open hour is built anew each round, and grows


def pause_after(took: float, seconds: float) -> float:
    """Seconds until the next round, after one that took `took`: those that are asked for, or so many that the store has
    most of its time for others."""
    return max(seconds, took * (1 / _SHARE_MOST - 1))


class Linker:
    """Links in a thread of its own while it is told that it leads."""

    def __init__(self, store: Store, seconds: float, late_seconds: float, metrics: LinkMetrics) -> None:
        self._store = store
        self._seconds = seconds
        self._late_seconds = late_seconds
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
        """Link everything that is stored by now, late data too, and return when it is done: what that round linked.

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
                rounds = rounds or Rounds(self._store, self._late_seconds)
                began = time.monotonic()
                linked = rounds.next(with_late=bool(waiting))
                took = time.monotonic() - began
                self._metrics.hours.inc(linked.hours)
                self._metrics.seconds.observe(took)
                pause = pause_after(took, self._seconds)
                self._failing_since = None
                for done in waiting:
                    done.set_result(linked)
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
    """Rounds of linking, each from where the one before had come to; the store remembers it for the next process."""

    def __init__(self, store: Store, late_seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._late_seconds = late_seconds
        self._now = now
        self._late: set[datetime] = set()
        self._late_since = now()
        self._data_time: datetime | None = None
        sweep(store)
        self._since = self._remembered()

    def next(self, with_late: bool = False) -> LinkSummary:
        """Link what changed. Hours already closed that got late data wait to be linked together, or for `with_late`."""
        here = mark(self._store)
        if self._since is None:
            hours = all_hours(self._store)
            self._data_time = data_time(self._store, NOTHING)
        elif here == self._since and not self._late:
            return LinkSummary(0, 0)
        else:
            hours = self._chosen(self._since, with_late)
        linked = link(self._store, hours)
        if here != self._since or hours:
            self._since = here
            if not self._late:
                remember(self._store, here)
        return linked

    def _chosen(self, since: Mark, with_late: bool) -> list[datetime]:
        """Hours to link now: open ones, those that close with these data, and the late ones when it is their time."""
        changed = set(changed_hours(self._store, since))
        before = self._data_time
        latest = data_time(self._store, since)
        self._data_time = max(filter(None, (before, latest)), default=None)
        late = {hour for hour in changed if before is not None and hour + CLOSES_AFTER <= before}
        if late and not self._late:
            self._late_since = self._now()
        self._late |= late
        chosen = changed - late
        if self._late and (with_late or self._now() - self._late_since >= self._late_seconds):
            chosen |= self._late
            self._late = set()
        return sorted(chosen)

    def _remembered(self) -> Mark | None:
        """How far linking had come; None when nobody knows, or when a migration or a killed load wants all again."""
        tokens = [token for (token,) in self._store.query("SELECT token FROM link_pending LIMIT 1000").rows]
        if tokens:
            link(self._store)
            self._store.command("DELETE FROM link_pending WHERE token IN {tokens:Array(String)}", {"tokens": tokens})
        return _remembered(self._store)


def remember(store: Store, here: Mark) -> None:
    """Say in the store that everything up to this mark is linked."""
    store.command(
        "INSERT INTO link_marks (name, mark) VALUES ({name:String}, {mark:String})",
        {"name": NAME, "mark": here.text()},
    )


def is_caught_up(store: Store) -> bool:
    """Whether linking has come to all that is stored; late data that wait for their time are not linked yet."""
    return _remembered(store) == mark(store)


def _remembered(store: Store) -> Mark | None:
    sql = "SELECT argMax(mark, made_at) FROM link_marks WHERE name = {name:String} HAVING count() > 0 LIMIT 1"
    found = store.query(sql, {"name": NAME}).rows
    try:
        return Mark.of(found[0][0]) if found else None
    except ValueError:
        return None
