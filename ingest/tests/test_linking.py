"""Rounds of linking while data arrive, without a broker."""

import time
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest
from arrow_batches import batch
from prometheus_client import CollectorRegistry
from quiclens_ingest import linking
from quiclens_ingest.hand import Hand
from quiclens_ingest.link import LinkSummary, link_since
from quiclens_ingest.linking import Linker, Rounds, is_caught_up, pause_after
from quiclens_ingest.mark import Mark, mark
from quiclens_ingest.metrics import LinkMetrics
from quiclens_schema.store import Store, StoreError
from taking import until

HOUR = datetime(2026, 1, 1, 10, tzinfo=UTC)


def lines(store: Store, *times: datetime, log: str = "log") -> None:
    rows = [
        {"log_id": log, "offset": int(at.timestamp() * 1e6) % (1 << 40), "time": at, "time_is": "start"} for at in times
    ]
    store.insert_arrow(*batch("request_lines", rows))


def counted(store: Store) -> int:
    (rows,) = store.query("SELECT sum(requests) FROM request_rollups").one()
    return int(rows)


def requests(store: Store) -> int:
    return int(store.query("SELECT count() FROM requests LIMIT 1").one()[0])


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("took", "pause"), [(0.0, 5.0), (1.0, 4.0), (4.0, 2.0), (10.0, 5.0)])
def test_rounds_begin_every_so_many_seconds_and_take_two_thirds_of_the_time_at_most(took: float, pause: float) -> None:
    assert pause_after(took, 5.0) == pytest.approx(pause)


def test_a_round_links_what_came_and_nothing_else(store: Store) -> None:
    rounds = Rounds(store, 0, Clock())
    lines(store, HOUR, HOUR + timedelta(minutes=59))
    assert rounds.next().requests == 2
    assert rounds.next().requests == 0
    lines(store, HOUR + timedelta(hours=1, minutes=6))
    assert rounds.next().requests == 1
    lines(store, HOUR + timedelta(minutes=30), HOUR + timedelta(days=1))
    assert rounds.next().requests == 2
    assert requests(store) == 5


def test_what_changed_is_counted_when_it_is_time_and_the_round_is_remembered_then(store: Store) -> None:
    clock = Clock()
    rounds = Rounds(store, 30, clock)
    lines(store, HOUR)
    rounds.next()
    assert (requests(store), counted(store), is_caught_up(store)) == (1, 1, True)
    clock.now = 29
    lines(store, HOUR + timedelta(seconds=1))
    rounds.next()
    assert (requests(store), counted(store), is_caught_up(store)) == (2, 1, False)
    clock.now = 30
    rounds.next()
    assert (requests(store), counted(store), is_caught_up(store)) == (2, 2, True)
    lines(store, HOUR + timedelta(seconds=2))
    rounds.next(with_counts=True)
    assert (requests(store), counted(store), is_caught_up(store)) == (3, 3, True)


def test_a_round_without_requests_is_remembered_too_when_it_is_time(store: Store) -> None:
    """Rows that make no request, and nothing behind them. Found by a live schedule in which linking never caught up."""
    clock = Clock()
    rounds = Rounds(store, 30, clock)
    lines(store, HOUR)
    rounds.next()
    clock.now = 29
    alias = {"alias": "aa", "connection_id": "cc", "vantage": "server", "trace_id": "1" * 16, "role": "source"}
    store.insert_arrow(*batch("connection_aliases", [alias | {"version": 1, "trace_day": HOUR.date()}]))
    assert rounds.next().requests == 0 and not is_caught_up(store)
    clock.now = 60
    rounds.next()
    assert is_caught_up(store)


def test_the_next_process_goes_on_where_the_last_one_came_to(store: Store) -> None:
    Rounds(store, 0, Clock())
    lines(store, HOUR)
    assert Rounds(store, 0, Clock()).next().requests == 1
    assert Rounds(store, 0, Clock()).next().requests == 0
    lines(store, HOUR + timedelta(hours=3))
    assert Rounds(store, 0, Clock()).next().requests == 1


def test_where_nobody_knows_how_far_linking_came_all_is_linked_day_by_day(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Hand, "start_with_stored", None)  # that would hold all of it at once
    lines(store, HOUR, HOUR + timedelta(days=1))
    Rounds(store, 0, Clock())
    assert (requests(store), counted(store), is_caught_up(store)) == (2, 2, True)


def test_what_was_linked_and_not_counted_is_counted_by_the_next_process(store: Store) -> None:
    rounds = Rounds(store, 30, Clock())
    lines(store, HOUR)
    rounds.next()
    lines(store, HOUR + timedelta(seconds=1))
    rounds.next()
    assert counted(store) == 1
    Rounds(store, 0, Clock()).next()
    assert (requests(store), counted(store), is_caught_up(store)) == (2, 2, True)


def test_what_a_migration_or_a_killed_load_wants_linked_is_linked(store: Store) -> None:
    lines(store, HOUR)
    Rounds(store, 0, Clock()).next()
    store.command("TRUNCATE TABLE request_versions")
    store.command("INSERT INTO link_pending (token) VALUES ('killed')")
    Rounds(store, 0, Clock())
    assert requests(store) == 1
    assert store.query("SELECT count() FROM link_pending LIMIT 1").one() == (0,)


def test_a_merge_of_what_was_known_is_no_change(store: Store) -> None:
    for minute in range(6):
        lines(store, HOUR + timedelta(minutes=minute), HOUR + timedelta(days=1, minutes=minute))
    known = mark(store)
    store.command("OPTIMIZE TABLE request_lines FINAL")
    assert link_since(store, known).requests == 0
    lines(store, HOUR + timedelta(hours=2))
    store.command("OPTIMIZE TABLE request_lines FINAL")
    assert link_since(store, known).requests == 1


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

    def next_round(self: Rounds, with_counts: bool = False) -> LinkSummary:
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
