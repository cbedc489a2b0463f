"""`audit` over a store of its own: what is missing, what stands twice, and what is as it should be."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from api_ran import Run
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store

from quiclens_questions.audit import audit as ask_audit
from quiclens_store_server.retention import sweep
from quiclens_web.front.keep import Keep

TRACE = "connection_id, vantage, trace_id, trace_day"
WHO = "'c', 'server', 't', toDate('2026-01-01')"


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A trace of twelve records, of which record 4 became no event."""
    url = f"chdb:{tmp_path}/store"
    with stores.open(url) as store:
        migrate(store)
        events(store, "seq != 4")
        store.command("INSERT INTO rejects (source, offset, reason, trace_id, seq) VALUES ('t', 9, 'no_time', 't', 4)")
        store.command(
            f"INSERT INTO connections ({TRACE}, version, analysis_version, events_seen, events_kept)"
            f" SELECT {WHO}, bitShiftLeft(toUInt64(3), 40) + 12 * 3, 3, 11, 'all'"
        )
    return url


def events(store: Store, which: str, who: str = WHO) -> None:
    store.command(f"INSERT INTO events ({TRACE}, seq) SELECT {who}, number AS seq FROM numbers(12) WHERE {which}")


def test_a_trace_that_is_whole_is_exit_code_0_even_when_rows_came_twice(run: Run, url: str) -> None:
    with stores.open(url) as store:
        events(store, "seq != 4")
    ran = run("audit", "--store", url, "--json")
    assert ran.code == 0
    assert ran.document["rows"] == []
    assert ran.document["samples"] == 1
    assert ran.document["params"] == {"limit": 100, "events": 11, "missing": 0, "doubled": 0, "traces_dropped": 0}


def test_what_is_missing_is_named_by_runs_from_the_first_record_to_the_last(run: Run, url: str) -> None:
    with stores.open(url) as store:
        store.command("DELETE FROM events WHERE seq IN (0, 5, 6, 11)")
    ran = run("audit", "--store", url, "--json")
    assert ran.code == 1
    names = [column["name"] for column in ran.document["columns"]]
    assert names == ["connection_id", "vantage", "trace_id", "server", "problem", "first_seq", "last_seq", "records"]
    assert [row[4:] for row in ran.document["rows"]] == [
        ["missing", 0, 0, 1],
        ["missing", 5, 6, 2],
        ["missing", 11, 11, 1],
    ]
    assert ran.document["params"]["missing"] == 4


def test_a_run_of_rejects_accounts_for_each_of_its_records(run: Run, url: str) -> None:
    with stores.open(url) as store:
        store.command("DELETE FROM events WHERE seq IN (0, 6, 7, 8, 9)")
        store.command(
            "INSERT INTO rejects (source, offset, reason, trace_id, seq, seq_last)"
            " VALUES ('s', 1, 'spool_corrupt', 't', 6, 8), ('s', 2, 'spool_full', 't', 0, 0)"
        )
    ran = run("audit", "--store", url, "--json")
    assert [row[4:] for row in ran.document["rows"]] == [["missing", 9, 9, 1]]
    assert ran.document["params"]["missing"] == 1


def test_a_record_on_two_days_stands_twice(run: Run, url: str) -> None:
    with stores.open(url) as store:
        events(store, "seq IN (2, 3, 8)", WHO.replace("2026", "2025"))
    ran = run("audit", "--store", url, "--json")
    assert [row[4:] for row in ran.document["rows"]] == [["doubled", 2, 3, 2], ["doubled", 8, 8, 1]]


def test_a_trace_of_which_no_event_came_is_missing_as_a_whole(run: Run, url: str) -> None:
    with stores.open(url) as store:
        store.command("TRUNCATE TABLE events")
    ran = run("audit", "--store", url, "--json")
    assert [row[4:] for row in ran.document["rows"]] == [["missing", 0, 3, 4], ["missing", 5, 11, 7]]
    assert "missing" in run("audit", "--store", url).out


def test_events_that_were_not_to_be_kept_are_not_missed(run: Run, url: str) -> None:
    with stores.open(url) as store:
        store.command("TRUNCATE TABLE events")
        store.command("ALTER TABLE connections UPDATE events_kept = 'none' WHERE 1 SETTINGS mutations_sync = 2")
    ran = run("audit", "--store", url, "--json")
    assert (ran.code, ran.document["samples"]) == (0, 0)


def test_a_day_that_retention_dropped_is_not_missed_but_counted(run: Run, url: str) -> None:
    ran = run("retention", "--keep-events", "0.01", "--keep-summaries", "0", "--store", url, "--json")
    assert (ran.code, ran.document["partitions"], ran.document["rows"]) == (0, 0, 0)  # written just now
    with stores.open(url) as store:
        later = datetime.now(UTC) + timedelta(days=30)
        (drop,) = sweep(store, Keep(events_days=7, summaries_days=0), later).dropped
        assert (drop.partition.table, drop.rows) == ("events", 11)
        assert store.query("SELECT count() FROM events").one() == (0,)
    ran = run("audit", "--store", url, "--json")
    assert (ran.code, ran.document["rows"], ran.document["params"]["traces_dropped"]) == (0, [], 1)
    assert "1 traces are of days whose events retention dropped" in run("audit", "--store", url).out
    (told,) = run("status", "--store", url, "--json").document["params"]["dropped"]
    assert (told["table_name"], told["days"], told["rows_dropped"], told["why"]) == ("events", 1, 11, "age")
    assert "events: 1 days up to 2026-01-01, 11 rows" in run("status", "--store", url).out


def test_what_comes_while_audit_waits_was_only_on_its_way(url: str) -> None:
    with stores.open(url) as store:
        store.command("DELETE FROM events WHERE seq IN (2, 3, 7)")
        found = ask_audit(store, 10, lambda: events(store, "seq IN (2, 3)"))
        assert [row[4:] for row in found.rows] == [["missing", 7, 7, 1]]
        assert found.params["missing"] == 1
        found = ask_audit(store, 10, lambda: events(store, "seq = 7"))
        assert (found.rows, found.params["missing"]) == ([], 0)


def test_records_made_while_audit_waits_are_not_missed(url: str) -> None:
    def grow(store: Store) -> None:
        events(store, "seq = 7")
        store.command(
            f"INSERT INTO connections ({TRACE}, version, analysis_version, events_seen, events_kept)"
            f" SELECT {WHO}, bitShiftLeft(toUInt64(3), 40) + 20 * 3, 3, 19, 'all'"
        )

    with stores.open(url) as store:
        store.command("DELETE FROM events WHERE seq = 7")
        found = ask_audit(store, 10, lambda: grow(store))
        assert (found.rows, found.params["missing"]) == ([], 0)


def test_status_says_when_no_broker_answers(run: Run) -> None:
    ran = run("status", "--brokers", "127.0.0.1:1", "--json")
    assert ran.code == 3
    assert ran.document["error"]["code"] == "no_broker"


def test_status_says_when_no_ingest_answers(run: Run) -> None:
    ran = run("status", "--metrics", "127.0.0.1:1", "--json")
    assert (ran.code, ran.document["error"]["code"]) == (3, "no_metrics")
