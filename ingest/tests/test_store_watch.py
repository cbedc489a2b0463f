"""Whether the store answers is said by /healthz, also while nothing is inserted."""

from typing import Any

import pytest
from quiclens_ingest import store_watch
from quiclens_ingest.store_watch import StoreWatch
from quiclens_schema.store import Result, Store, StoreError
from taking import Pipe, free_address, running, told, until


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Away:
    """A store whose switch is in a test's hand."""

    def __init__(self, store: Store | None = None) -> None:
        self.is_away = False
        self._store = store

    def query(self, *arguments: Any, **named: Any) -> Result | None:
        if self.is_away:
            raise StoreError("Connection refused\nand a second line")
        return self._store.query(*arguments, **named) if self._store else None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def test_a_short_absence_is_none_and_a_long_one_says_since_when_and_why() -> None:
    clock, store = Clock(), Away()
    watch = StoreWatch(store, clock)  # type: ignore[arg-type]
    watch.ask()
    store.is_away = True
    clock.now = 44
    watch.ask()
    assert list(watch.unwell()) == []
    clock.now = 46
    assert list(watch.unwell()) == ["the store has been away for 46 s: Connection refused"]
    store.is_away = False
    watch.ask()
    assert list(watch.unwell()) == []


def test_a_question_that_hangs_is_one_that_is_not_answered() -> None:
    clock = Clock()
    watch = StoreWatch(Away(), clock)  # type: ignore[arg-type]
    clock.now = 45
    assert list(watch.unwell()) == ["the store has been away for 45 s: it has not answered"]


def test_an_idle_member_whose_store_is_away_is_not_ready_until_it_is_back(
    store: Store, pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_watch, "LONGEST_AWAY_SECONDS", 0.5)
    monkeypatch.setattr(store_watch, "_PAUSE_SECONDS", 0.1)
    switch = Away(store)
    address = free_address()
    with running(switch, pipe, metrics_address=address, link_seconds=0):  # type: ignore[arg-type]
        until(lambda: told(address) == [], 60)
        switch.is_away = True
        until(lambda: [why for why in told(address) if why.endswith(" s: Connection refused")] != [], 60)
        switch.is_away = False
        until(lambda: told(address) == [], 60)
