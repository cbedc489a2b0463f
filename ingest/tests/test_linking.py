"""Rounds of linking while data arrive, without a broker."""

import time
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest
from arrow_batches import batch
from prometheus_client import CollectorRegistry
from quiclens_ingest import linking
from quiclens_ingest.link import LinkSummary, Mark, changed_hours, mark
from quiclens_ingest.linking import Linker, Rounds, is_caught_up, pause_after
from quiclens_ingest.metrics import LinkMetrics
from quiclens_schema.store import Store, StoreError
from taking import until

HOUR = datetime(2026, 1, 1, 10, tzinfo=UTC)


def lines(store: Store, *times: datetime, log: str = "log") -> None:
    rows = [
        {"log_id": log, "offset": int(at.timestamp() * 1e6) % (1 << 40), "time": at, "time_is": "start"} for at in times
    ]
    store.insert_arrow(*batch("request_lines", rows))


def requests(store: Store) -> int:
    return int(store.query("SELECT count() FROM requests LIMIT 1").one()[0])


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("took", "pause"), [(0.0, 5.0), (1.0, 5.0), (10.0, 40.0)])
def test_rounds_take_a_fifth_of_the_time_at_most(took: float, pause: float) -> None:
    assert pause_after(took, 5.0) == pytest.approx(pause)


def test_open_hours_are_linked_at_once_and_late_data_of_closed_ones_together(store: Store) -> None:
    clock = Clock()
    rounds = Rounds(store, 30, clock)
    lines(store, HOUR, HOUR + timedelta(minutes=59))
    assert rounds.next().hours == 1
    assert rounds.next().hours == 0
    lines(store, HOUR + timedelta(hours=1, minutes=6))  # ends the first hour
    assert rounds.next().hours == 1
    lines(store, HOUR + timedelta(minutes=30))
    assert rounds.next().hours == 0
    lines(store, HOUR + timedelta(minutes=31), HOUR + timedelta(hours=1, minutes=7))
    assert rounds.next().hours == 1
    assert requests(store) == 4
    clock.now = 31
    assert rounds.next().hours == 1
    assert requests(store) == 6
    assert rounds.next().hours == 0


def test_an_hour_is_open_for_five_minutes_after_its_end(store: Store) -> None:
    rounds = Rounds(store, 30, Clock())
    lines(store, HOUR + timedelta(hours=1, minutes=4))
    rounds.next()
    lines(store, HOUR + timedelta(minutes=58))
    assert rounds.next().hours == 1
    assert requests(store) == 2


def test_the_next_process_goes_on_where_the_last_one_came_to(store: Store) -> None:
    lines(store, HOUR)
    assert Rounds(store, 30, Clock()).next().hours == 1
    assert Rounds(store, 30, Clock()).next().hours == 0
    lines(store, HOUR + timedelta(hours=3))
    assert Rounds(store, 30, Clock()).next().hours == 1


def test_late_hours_that_were_not_linked_are_by_the_next_process(store: Store) -> None:
    rounds = Rounds(store, 30, Clock())
    lines(store, HOUR + timedelta(hours=5))
    rounds.next()
    lines(store, HOUR)
    assert rounds.next().hours == 0
    assert Rounds(store, 30, Clock()).next().hours >= 1
    assert requests(store) == 2


def test_what_a_migration_or_a_killed_load_wants_linked_is_linked(store: Store) -> None:
    lines(store, HOUR)
    Rounds(store, 30, Clock()).next()
    store.command("TRUNCATE TABLE requests")
    store.command("INSERT INTO link_pending (token) VALUES ('killed')")
    Rounds(store, 30, Clock()).next()
    assert requests(store) == 1
    assert store.query("SELECT count() FROM link_pending LIMIT 1").one() == (0,)


def test_linking_has_caught_up_when_nothing_waits_late_data_included(store: Store) -> None:
    clock = Clock()
    rounds = Rounds(store, 30, clock)
    lines(store, HOUR + timedelta(hours=5))
    assert not is_caught_up(store)
    rounds.next()
    assert is_caught_up(store)
    lines(store, HOUR)
    rounds.next()
    assert not is_caught_up(store)
    clock.now = 31
    rounds.next()
    assert is_caught_up(store)


def test_a_merge_of_what_was_known_is_no_change(store: Store) -> None:
    for minute in range(6):
        lines(store, HOUR + timedelta(minutes=minute), HOUR + timedelta(days=1, minutes=minute))
    known = mark(store)
    store.command("OPTIMIZE TABLE request_lines FINAL")
    assert changed_hours(store, known) == []
    lines(store, HOUR + timedelta(hours=2))
    store.command("OPTIMIZE TABLE request_lines FINAL")
    assert HOUR + timedelta(hours=2) in changed_hours(store, known)


def test_a_mark_is_what_was_written(store: Store) -> None:
    lines(store, HOUR)
    here = mark(store)
    assert Mark.of(here.text()) == here
    with pytest.raises(ValueError, match="not a mark"):
        Mark.of("[[1]]")


def test_scratch_tables_of_killed_processes_are_swept_when_they_are_old(store: Store) -> None:
    old, young = (f"link_pairs_{int(time.time() - age):08x}{'0' * 24}" for age in (4000, 60))
    for name in (old, young):
        store.command(f"CREATE TABLE {name} (a UInt8) ENGINE = Memory")
    Rounds(store, 30, Clock())
    found = store.query("SELECT name FROM system.tables WHERE startsWith(name, 'link_pairs') LIMIT 9").rows
    assert found == [(young,)]


def test_linking_that_fails_on_and_on_or_never_ends_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(linking, "LONGEST_FAILING_SECONDS", 0.0)
    going_on, fails = Event(), Event()
    fails.set()

    def next_round(self: Rounds, with_late: bool = False) -> LinkSummary:
        if fails.is_set():
            raise StoreError("the disk is full")
        going_on.wait()
        return LinkSummary(0, 0)

    monkeypatch.setattr(Rounds, "next", next_round)
    linker = Linker(store, 0.01, 0.01, LinkMetrics("test_", CollectorRegistry()))
    try:
        assert list(linker.unwell()) == []
        linker.lead(True)
        until(lambda: any("linking has failed for" in said for said in linker.unwell()))
        fails.clear()
        monkeypatch.setattr(linking, "LONGEST_ROUND_SECONDS", 0.0)
        until(lambda: any("a round of linking has run for" in said for said in linker.unwell()))
        going_on.set()
        monkeypatch.setattr(linking, "LONGEST_ROUND_SECONDS", 60.0)
        until(lambda: list(linker.unwell()) == [])
    finally:
        going_on.set()
        linker.close()
