"""The demo's hour in a store that is served, and on a day of its own the hour of the lab's operations; each with the
same rows on ten days before it. Planted besides: rejects, a heartbeat, a dropped day, and long before an hour in which
everything goes wrong."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from expanding import Window
from quiclens_ingest.linking import remember_all
from quiclens_lab.operations.command import OPERATIONS, operations
from quiclens_lab.operations.logs import START_US
from quiclens_schema import store as stores
from quiclens_schema.store import Store

DAYS_BEFORE = 10
QUIET_DAYS_BEFORE = 30
BEAT_AFTER = timedelta(minutes=20)  # of the hour's beginning
OF_OPERATIONS = ("edge_operations", "hexagons")  # pages that are asked for the operations' hour
_COPIES = f"(SELECT toIntervalDay(number + 1) AS ago, toString(number) AS n FROM numbers({DAYS_BEFORE})) AS copies"
_IDS = (
    "concat(connection_id, '-', n) AS connection_id, concat(trace_id, '-', n) AS trace_id, trace_day - ago AS trace_day"
)
_SHIFTED = {
    "connections": f"{_IDS}, started_at - ago AS started_at",
    "streams": f"{_IDS}, started_at - ago AS started_at",
    "episodes": _IDS,
    "events": _IDS,
    "request_versions": "started_hour - ago AS started_hour, started_at - ago AS started_at,"
    " started_minute - ago AS started_minute, day - ago AS day",
    "rollup_versions": "started_hour - ago AS started_hour, bucket_at - ago AS bucket_at",
    "dimension_versions": "started_hour - ago AS started_hour",
}
# On the day before, the fourth event of every trace is not there.
_WITHOUT = {"events": "WHERE NOT (ago = toIntervalDay(1) AND seq = 3)"}


@dataclass(frozen=True)
class Demo:
    """The served store, the hour in which the demo's requests began, that of the operations, and what is planted."""

    store: Store
    folder: Path
    window: Window
    operations: Window
    truth: Mapping[str, dict[str, Any]]

    def window_of(self, page: str) -> Window:
        return self.operations if page in OF_OPERATIONS else self.window


@contextmanager
def served(folder: Path) -> Iterator[Demo]:
    command = [sys.executable, "-m", "quiclens_command_line"]
    words = [
        "demo",
        "--dir",
        str(folder / "demo"),
        "--connections",
        "60",
        "--store",
        f"chdb:{folder / 'store'}",
        "--json",
    ]
    subprocess.run([*command, *words], check=True, capture_output=True)
    truth = {name: operations(folder / name, name, seed=1)["truth"] for name in OPERATIONS}
    logs = [str(folder / place) for place in ("misroute/hosts", "restart/hosts", "restart/clients", "racing/apps")]
    lines = ["--requests", str(folder / "racing" / "access.jsonl")]
    subprocess.run(
        [*command, "load", *logs, *lines, "--store", f"chdb:{folder / 'store'}"], check=True, capture_output=True
    )
    with stores.open(f"chdb:{folder / 'store'}") as store:
        window = _window(store)
        _weigh(store)
        _fill(store, window)
        _twice(store, window)
        remember_all(store)  # what is planted among the requests is not to be linked again
    options = ["serve", "--store", f"chdb:{folder / 'store'}", "--listen", "127.0.0.1:0", "--json"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("QUICLENS_")}
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=kept
    ) as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["url"]
            with stores.open(f"chdb:{folder / 'store'}") as store:
                assert not store.is_embedded
                yield Demo(store, folder / "store", window, _hour_of(START_US), truth)
        finally:
            process.terminate()
            process.communicate(timeout=60)


def _window(store: Store) -> Window:
    ((first,),) = store.query("SELECT min(started_at) FROM requests WHERE connection_id IS NOT NULL").rows
    return _hour_of(int(first.astimezone(UTC).timestamp()) * 1_000_000)


def _hour_of(epoch_us: int) -> Window:
    since = datetime.fromtimestamp(epoch_us // 1_000_000, UTC).replace(minute=0, second=0)
    return Window(since, since + timedelta(hours=1), step_s=1800)


def _weigh(store: Store) -> None:
    """The servers of one carrier trace one connection of four, and its requests are known by traces alone."""
    at_once = {"mutations_sync": "1"}
    chosen = "connection_id IN (SELECT connection_id FROM requests WHERE carrier = 'Vale DSL')"
    store.command(f"ALTER TABLE connections UPDATE trace_probability = 0.25 WHERE {chosen}", settings=at_once)
    store.command(
        "ALTER TABLE request_versions UPDATE weight = 4, trace_weight = if(trace_weight > 0, 4, 0)"
        " WHERE carrier = 'Vale DSL'",
        settings=at_once,
    )


def _fill(store: Store, window: Window) -> None:
    for table, shifted in _SHIFTED.items():
        copied = f"SELECT * EXCEPT (ago, n) REPLACE ({shifted}) FROM {table} CROSS JOIN {_COPIES}"
        store.command(
            f"INSERT INTO {table} {copied} {_WITHOUT.get(table, '')}",
            settings={"max_partitions_per_insert_block": 0},
        )
    at = _text(window.since + BEAT_AFTER)
    bad = window.since - timedelta(days=QUIET_DAYS_BEFORE)
    planted = {
        "rejects (source, offset, length, hash, reason, file, ingested_at)": (
            f"'planted', number, 3, '', if(number < 2, 'not_json', 'truncated'), 'planted.sqlog', '{at}'"
            " FROM numbers(3)"
        ),
        "episodes (connection_id, vantage, trace_id, kind, trace_day, start_us)": (
            "'heartbeat:web-1', '', 'h', 'heartbeat',"
            f" toDate('{at}'), toUnixTimestamp64Micro(toDateTime64('{at}', 6, 'UTC'))"
        ),
        "rejects (source, offset, reason, ingested_at)": (
            f"'planted long ago', number, 'not_json', '{_text(bad - timedelta(minutes=20))}' FROM numbers(3)"
        ),
        "rollup_versions"
        " (started_hour, bucket_at, carrier, requests, traced, duration_histogram, measured_weight_squares)": (
            "toStartOfHour(at), at, 'slow', samples, 1, durations, samples FROM ("
            f"SELECT toDateTime('{_text(bad - timedelta(minutes=60))}', 'UTC') AS at, 10000 AS samples,"
            " map(500, 9900, 600, 100) AS durations UNION ALL"
            f" SELECT toDateTime('{_text(bad - timedelta(minutes=5))}', 'UTC'), 200, map(500, 170, 700, 30))"
        ),
        "dropped_days (table_name, day, rows, bytes, why)": "'events', toDate('2020-01-01'), 5, 500, 'age'",
    }
    for columns, values in planted.items():
        store.command(f"INSERT INTO {columns} SELECT {values}")
    _fail(store, bad, "now", 0.12)
    _fail(store, bad - timedelta(days=1), "ever", 0.03)


def _fail(store: Store, until: datetime, name: str, share: float) -> None:
    """1,000 connections of three hours, of which 3 % fail in each way that a rule counts, and 300 of ten minutes with
    another share."""
    at = f"toDateTime64('{_text(until - timedelta(minutes=15))}', 6, 'UTC')"
    store.command(
        "INSERT INTO connections (connection_id, vantage, trace_id, version, started_at, trace_day, packets_sent,"
        " trace_probability, handshake_complete, close_code, zero_rtt)"
        f" SELECT concat('{name}-', toString(number)), 'server', concat('{name}-', toString(number)), 1,"
        f" {at} + toIntervalSecond(if(number < 1000, -10 * toInt64(number) - 60, number - 1000)) AS at,"
        " toDate(at, 'UTC'), 5, 0.5,"
        f" cityHash64(number, 'rows') % 1000 >= 1000 * if(number < 1000, 0.03, {share}) AS is_good,"
        " if(is_good, '0x100', 'internal_error'), if(is_good, 'accepted', 'rejected') FROM numbers(1300)"
    )


def _twice(store: Store, window: Window) -> None:
    """The demo's hour 30 days later, once as it is, and once with another stack that takes twice as long."""
    ids = "concat(connection_id, '-twice') AS connection_id"
    later = "trace_day + INTERVAL 30 DAY AS trace_day, started_at + INTERVAL 30 DAY AS started_at"
    request = (
        "started_hour + INTERVAL 30 DAY AS started_hour, started_at + INTERVAL 30 DAY AS started_at,"
        " started_minute + INTERVAL 30 DAY AS started_minute, day + INTERVAL 30 DAY AS day"
    )
    other = "concat(request_id, '-twice') AS request_id"
    twice = f"{request}, {ids}, {other}, 'twice' AS stack, 2 * duration_us AS duration_us"
    day = f"trace_day = toDate('{window.since:%Y-%m-%d}')"
    hour = f"started_hour = toDateTime({int(window.since.timestamp())})"
    for table, where, replaced in (
        ("connections", day, later),
        ("connections", day, f"{ids}, concat(trace_id, '-twice') AS trace_id, {later}"),
        ("request_versions", hour, request),
        ("request_versions", hour, twice),
    ):
        store.command(f"INSERT INTO {table} SELECT * REPLACE ({replaced}) FROM (SELECT * FROM {table} WHERE {where})")


def _text(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S")
