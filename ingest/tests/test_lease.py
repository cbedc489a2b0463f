"""One linker in a store at a time, by a lease with a fencing number."""

from datetime import UTC, datetime

import pytest
from arrow_batches import batch
from quiclens_ingest.lease import LEASES, MARGIN_SECONDS, LeaseBusyError, LeaseLostError, LinkLease, held
from quiclens_ingest.link import link_stored
from quiclens_ingest.mark import NOTHING
from quiclens_schema.lease import PROCESS
from quiclens_schema.store import Store

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def put_a_line(store: Store) -> None:
    row = {"log_id": "log", "offset": 1, "line_day": NOON.date(), "time": NOON, "time_is": "start"}
    store.insert_arrow(*batch("request_lines", [row]))


def requests(store: Store) -> int:
    return int(store.query("SELECT count() FROM requests").one()[0])


def test_each_lease_has_a_higher_number_and_its_versions_are_higher(store: Store) -> None:
    versions = []
    for _ in range(3):
        with held(store) as mine:
            versions += [mine.version(), mine.version()]
    assert versions == sorted(set(versions))


def test_a_second_thread_of_the_process_waits_for_the_first(store: Store) -> None:
    with held(store), pytest.raises(LeaseBusyError, match="another thread"), held(store, 0.05):
        pass


def test_a_live_lease_of_this_process_is_not_taken(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    LEASES.take(store, 7, f"{PROCESS}-other", 60)
    with pytest.raises(LeaseBusyError, match="somebody else links"), held(store):
        pass
    LEASES.take(store, 7, f"{PROCESS}-other", 0)
    with held(store) as mine:
        assert mine.fence == 8


def test_a_lease_of_a_process_that_is_gone_is_taken_at_once(store: Store) -> None:
    LEASES.take(store, 7, "gone-1", 3600)
    with held(store) as mine:
        assert mine.fence == 8


def test_of_two_that_take_one_number_the_first_in_the_store_has_it(store: Store) -> None:
    LEASES.take(store, 7, f"{PROCESS}-first", 60)
    LEASES.take(store, 7, f"{PROCESS}-second", 600)
    assert LEASES.newest(store) == (7, f"{PROCESS}-first", True)


def test_who_lost_the_lease_shows_nothing_and_is_told_so(store: Store) -> None:
    put_a_line(store)
    with held(store) as mine:
        LEASES.take(store, mine.fence + 1, "another-1", 60)
        with pytest.raises(LeaseLostError, match="fence 2, ours was 1"):
            link_stored(store, NOTHING, mine)
    assert requests(store) == 0


def test_what_is_shown_looks_at_the_lease_itself(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A linker that was held up between its look and its statement writes nothing."""
    put_a_line(store)
    monkeypatch.setattr(LinkLease, "check", lambda self: None)
    with held(store) as mine:
        LEASES.take(store, mine.fence + 1, "another-1", 60)
        link_stored(store, NOTHING, mine)
    assert requests(store) == 0


def test_a_lease_without_time_left_shows_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    put_a_line(store)
    monkeypatch.setattr(LEASES, "_seconds", MARGIN_SECONDS - 1)
    monkeypatch.setattr(LinkLease, "check", lambda self: None)
    with held(store) as mine:
        link_stored(store, NOTHING, mine)
    assert requests(store) == 0


def test_a_long_round_renews_its_lease(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LEASES, "_seconds", 0)
    with held(store) as mine:
        mine.check()
        mine.check()
        rows = store.query("SELECT count() FROM link_leases WHERE fence = {fence:UInt64}", {"fence": mine.fence})
        assert rows.one() == (3,)
