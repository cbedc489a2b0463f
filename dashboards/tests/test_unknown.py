"""What nobody logged is null in a panel, not zero."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from demo_store import Demo
from expanding import Window
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from test_numbers import rows

SINCE = datetime(2026, 3, 4, 12, tzinfo=UTC)
RESTART_AT_S = 600


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Demo]:
    """A store of its own, with nothing in it."""
    with stores.open(f"chdb:{tmp_path / 'store'}") as store:
        migrate(store)
        window = Window(SINCE, SINCE + timedelta(hours=1), step_s=1800)
        yield Demo(store, tmp_path / "store", window, window, {})


def add_host(demo: Demo, server: str, events: Sequence[tuple[int, str]]) -> None:
    """A host's log that begins with the window: seconds since then, and names of events."""
    at, host = (
        f"{SINCE:%Y-%m-%d %H:%M:%S}",
        f"'host:{server}' AS connection_id, 'server' AS vantage, '{server}' AS trace_id",
    )
    demo.store.command(
        f"INSERT INTO connections (connection_id, vantage, trace_id, trace_day, started_at, version, server)"
        f" SELECT {host}, toDate('{at}'), toDateTime64('{at}', 6, 'UTC'), 1, '{server}'"
    )
    for seq, (second, name) in enumerate(events):
        demo.store.command(
            "INSERT INTO events (connection_id, vantage, trace_id, trace_day, seq, time_us, name)"
            f" SELECT {host}, toDate('{at}'), {seq}, {second * 1_000_000}, '{name}'"
        )


def add_requests(demo: Demo, *sizes: int | None) -> None:
    for number, size in enumerate(sizes):
        at = SINCE + timedelta(minutes=number)
        demo.store.command(
            "INSERT INTO request_versions"
            " (request_id, started_hour, started_at, started_minute, day, weight, version, response_bytes)"
            f" SELECT '{number}', '{SINCE:%F %T}', '{at:%F %T}', '{at:%F %T}', '{SINCE:%F}', 1, 1,"
            f" {'NULL' if size is None else size}"
        )


def test_a_restart_takes_until_its_own_end_and_nobody_knows_how_long_before_that(empty: Demo) -> None:
    began, ended = (RESTART_AT_S, "host:restart_started"), (RESTART_AT_S + 180, "host:restart_ended")
    end_before = (RESTART_AT_S - 30, "host:restart_ended")  # of the one before
    add_host(empty, "whole", [began, ended])
    add_host(empty, "goes on", [began])
    add_host(empty, "again", [end_before, began])
    add_host(empty, "again, whole", [end_before, began, ended])
    shown = {row["server"]: row["took_us"] for row in rows(empty, "edge_operations", "Restarts")}
    assert shown == {"whole": 180_000_000, "goes on": None, "again": None, "again, whole": 180_000_000}


def test_bits_are_unknown_where_no_size_was_logged(empty: Demo) -> None:
    add_requests(empty, None, None)
    (shown,) = rows(empty, "load", "Rates", "stat")
    assert shown == {
        "requests_per_second": 2 / 3600,
        "connections_per_second": 0,
        "response_bits_per_second": None,
    }
    assert [row["response_bits_per_second"] for row in rows(empty, "load", "Bits", "timeseries")] == [None]


def test_bits_are_those_of_the_requests_whose_size_was_logged(empty: Demo) -> None:
    add_requests(empty, 900, None, 0)
    (shown,) = rows(empty, "load", "Rates", "stat")
    assert shown["response_bits_per_second"] == 8 * 900 / 3600
    assert [row["response_bits_per_second"] for row in rows(empty, "load", "Bits", "timeseries")] == [8 * 900 / 1800]
