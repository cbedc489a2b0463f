"""Whether the store answers, also while there is nothing to insert: asked in a thread of its own."""

import time
from collections.abc import Callable, Iterator
from threading import Event, Thread

from quiclens_schema.store import Store, StoreError

from quiclens_ingest.insert import short
from quiclens_ingest.reach import LONGEST_AWAY_SECONDS

_PAUSE_SECONDS = 5.0


class StoreWatch:
    """Asks `SELECT 1` every five seconds until it is closed; read by any thread.

    A question that hangs counts as one that is not answered: its thread is a daemon, which nothing waits for long.
    """

    def __init__(self, store: Store, now: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._now = now
        self._answered_at = now()
        self._said = "it has not answered"
        self._ending = Event()
        self._thread = Thread(target=self._run, name="store-watch", daemon=True)

    def start(self) -> None:
        """Begin to ask."""
        self._thread.start()

    def ask(self) -> None:
        """Ask once."""
        try:
            self._store.query("SELECT 1")
        except StoreError as error:
            self._said = short(error)
        else:
            self._answered_at, self._said = self._now(), "it has not answered"

    def unwell(self) -> Iterator[str]:
        """Why nothing could be stored; nothing, while the store answers or is not away for long."""
        away = self._now() - self._answered_at
        if away >= LONGEST_AWAY_SECONDS:
            yield f"the store has been away for {away:.0f} s: {self._said}"

    def close(self) -> None:
        """Ask no more."""
        self._ending.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=_PAUSE_SECONDS)

    def _run(self) -> None:
        while not self._ending.is_set():
            self.ask()
            self._ending.wait(_PAUSE_SECONDS)
