"""What is dropped, in which order, and what is not."""

import signal
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from api_seed import CLIENT, OLD, SERVER, connection
from serve_process import Served, start, until
from store_rows import fill

from quiclens_store_server.retention import Partition, plan
from quiclens_web.front.keep import Keep

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
FOREVER = Keep(events_days=0, summaries_days=0)


def day(table: str, days_ago: int, size: int = 10, written_days_ago: float | None = None) -> Partition:
    at = NOW - timedelta(days=days_ago if written_days_ago is None else written_days_ago)
    which = (NOW - timedelta(days=days_ago)).date()
    return Partition(table, which, f"{table}-{days_ago}", at, 1, size)


def dropped(partitions: list[Partition], keep: Keep) -> list[str]:
    return [drop.partition.id for drop in plan(partitions, keep, NOW)]


def test_nothing_is_dropped_when_nothing_is_asked() -> None:
    assert dropped([day("events", 1000), day("streams", 1000)], FOREVER) == []


def test_old_days_go_each_table_by_its_own_age() -> None:
    partitions = [day(table, ago) for table in ("events", "streams", "rollup_versions") for ago in (1, 6, 9, 89, 92)]
    gone = dropped(partitions, Keep(events_days=7, summaries_days=90))
    assert sorted(gone) == ["events-89", "events-9", "events-92", "rollup_versions-92", "streams-92"]


def test_an_old_day_that_was_written_lately_stays() -> None:
    partitions = [day("events", 9000, written_days_ago=1), day("events", 30, written_days_ago=8)]
    assert dropped(partitions, Keep(events_days=7)) == ["events-30"]


def test_one_late_table_keeps_its_whole_day_but_linking_again_does_not() -> None:
    partitions = [day("streams", 200, written_days_ago=1), day("connections", 200), day("request_versions", 200)]
    assert dropped(partitions, Keep()) == []
    linked = [
        day(table, 200, written_days_ago=0) for table in ("request_versions", "rollup_versions", "dimension_versions")
    ]
    assert len(dropped([day("streams", 200), *linked], Keep())) == 4


def test_for_size_the_oldest_events_go_first_then_summaries_and_never_the_newest_day() -> None:
    partitions = [day(table, ago) for table in ("events", "streams") for ago in (0, 1, 2)]
    order = ["events-2", "events-1", "streams-2", "streams-1"]
    for size, gone in ((60, 0), (59, 1), (50, 1), (45, 2), (35, 3), (25, 4), (1, 4)):
        assert dropped(partitions, Keep(0, 0, disk_bytes=size)) == order[:gone]


def test_traces_without_a_clock_age_from_their_loading() -> None:
    undated = Partition("events", date(1970, 1, 1), "undated", NOW - timedelta(days=1), 1, 10)
    assert dropped([undated, day("events", 20)], Keep(events_days=7)) == ["events-20"]
    assert dropped([undated, day("events", 3), day("events", 2)], Keep(0, 0, disk_bytes=20)) == ["events-3"]


def rows() -> dict[str, list[dict[str, object]]]:
    connections = [
        connection(SERVER),
        connection(CLIENT, trace_day="2020-01-01"),
        connection(OLD, trace_day="1970-01-01"),
    ]
    names = ("connection_id", "vantage", "trace_id", "trace_day")
    return {
        "connections": connections,
        "events": [{name: row[name] for name in names} for row in connections],
        "requests": [
            {**{name: row[name] for name in names[:3:2]}, "request_id": row["trace_id"], "coverage": "full"}
            for row in connections
        ],
        "rejects": [{"source": "a", "offset": 1}],
    }


def days(served: Served, table: str) -> str:
    found = served.one(f"SELECT DISTINCT trace_day FROM {table} ORDER BY trace_day")
    return " ".join(found.split())


def test_serve_drops_whole_days_and_says_so(tmp_path: Path) -> None:
    """Days of the future of this test's rows stay; old ones go once they were not written to for a moment."""
    folder = tmp_path / "store"
    fill(folder, rows())
    running = start(folder)  # what was written just now is not old
    assert days(running, "events") == "1970-01-01 2020-01-01 2026-11-20"
    assert running.stop() == 0

    running = start(folder, "--keep-events", "0.00001d", "--keep-summaries", "0")
    wait_for_a_look(running)
    assert days(running, "events") in ("", "2026-11-20")
    assert days(running, "connections") == "1970-01-01 2020-01-01 2026-11-20"
    gone = "events_kept = 'dropped', trace_day NOT IN (SELECT trace_day FROM events)"
    assert running.one(f"SELECT DISTINCT {gone} FROM connections_now WHERE trace_day < '2026-01-01'") == "1\t1"
    known = "c.events_kept = 'dropped' AND r.coverage = 'summary' OR c.events_kept = 'all' AND r.coverage = 'full'"
    assert running.one(f"SELECT countIf({known}) FROM requests AS r JOIN connections_now AS c USING trace_id") == "3"
    text = running.ask(method="GET", path="/metrics").text
    assert 'quiclens_serve_partitions_dropped_total{why="age"}' in text
    assert until(lambda: "dropped 2020-01-01 of events: 1 rows" in running.logged())
    assert running.stop() == 0

    running = start(folder, "--keep-events", "0", "--keep-summaries", "0", "--max-disk-gb", "0.000001")
    wait_for_a_look(running)
    assert len(days(running, "connections").split()) == 1
    assert running.one("SELECT count() FROM rejects") == "1"
    assert running.stop() == 0

    running = start(folder, "--keep-events", "0", "--keep-summaries", "0.00001")
    wait_for_a_look(running)
    assert running.one("SELECT count() FROM rejects") == "0"
    assert running.stop() == 0


def wait_for_a_look(served: Served) -> None:
    assert until(lambda: "quiclens_serve_store_bytes 0.0" not in served.ask(method="GET", path="/metrics").text)


def test_the_command_goes_on_until_it_is_told_to_stop(tmp_path: Path) -> None:
    folder, store, log = tmp_path / "made", tmp_path / "store", tmp_path / "log"
    fill(folder, rows())
    words = [sys.executable, "-m", "quiclens_command_line", "retention", "--store", f"chdb:{store}"]
    words += ["--every-hours", "0.0001", "--keep-events", "0.00001", "--keep-summaries", "0"]
    with log.open("wb") as told:
        process = subprocess.Popen(words, stderr=told)
        try:
            assert until(lambda: "nothing was dropped: there is no store" in log.read_text(), 600)
            folder.rename(store)
            assert until(lambda: "dropped 2020-01-01 of events: 1 rows" in log.read_text(), 600)
            assert until(lambda: "dropped 0 partitions; " in log.read_text(), 600)  # nothing to do is told too
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(600) == 0
