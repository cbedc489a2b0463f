"""Five-minute rollups: what the final rows say, again and again the same, and merged without losing the tail."""

from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

import pytest
from arrow_batches import batch
from quiclens_ingest.link import link, roll_up
from quiclens_schema.store import Store

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
RATIO = 1.02
Row = dict[str, Any]

# Durations around 20 ms and half a second, in 500 carriers and 24 stretches of five minutes.
MANY = """
INSERT INTO request_versions
    (request_id, started_hour, started_at, carrier, region, source, link, coverage, weight, complete, duration_us, day)
SELECT
    toString(number),
    toStartOfHour(started_at),
    toDateTime64('2026-03-04 12:00:00', 6, 'UTC') + toIntervalSecond(number % 7200) AS started_at,
    if(cityHash64(number, 'c') % 500 = 0, NULL, toString(cityHash64(number, 'c') % 500)),
    toString(cityHash64(number, 'r') % 3),
    'log',
    'none',
    'none',
    1,
    true,
    toUInt64(exp(if(number % 50 = 0, 13, 10) + (cityHash64(number, 'd') % 10007) / 10007 * 2)),
    toDate('2026-03-04')
FROM numbers(300000)
"""


def lines(*rows: Row) -> tuple[str, bytes, int]:
    shared = {"log_id": "log1", "line_day": NOON.date(), "time_is": "start", "time": NOON, "duration_us": 1_000}
    return batch("request_lines", [{**shared, "offset": number, **row} for number, row in enumerate(rows)])


def rollups(store: Store) -> list[Row]:
    return store.query("SELECT * FROM request_rollups ORDER BY bucket_at, carrier, region").dicts()


def bucket_of(us: int) -> int:
    """The largest b with 1.02^b at or below a duration."""
    bucket = 0
    while RATIO ** (bucket + 1) <= us:
        bucket += 1
    return bucket


def test_a_rollup_counts_the_requests_of_five_minutes(store: Store) -> None:
    soon, later = NOON + timedelta(minutes=4, seconds=59), NOON + timedelta(minutes=5)
    store.insert_arrow(
        *lines(
            {"carrier": "acme", "status": 200},
            {"carrier": "acme", "status": 503, "time": soon, "duration_us": 9_999},
            {"carrier": "acme", "duration_us": None},
            {"carrier": "acme", "time": later, "duration_us": 0},
            {"status": 404},
        )
    )
    link(store)
    nobody, *acme = sorted(rollups(store), key=lambda row: (row["carrier"] or "", row["bucket_at"]))
    counts = [(row["requests"], row["measured"], row["traced"], row["failed"], row["weight"]) for row in acme]
    assert counts == [(3, 1, 0, 1, 3.0), (1, 1, 0, 0, 1.0)]
    assert [row["bucket_at"] for row in acme] == [NOON, later]
    assert [row["duration_histogram"] for row in acme] == [{bucket_of(1_000): 1}, {0: 1}]
    assert (nobody["carrier"], nobody["requests"], nobody["failed"]) == (None, 1, 0)


def test_linking_again_leaves_identical_rows_and_takes_away_those_of_hours_that_emptied(store: Store) -> None:
    store.insert_arrow(*lines({}, {"carrier": "acme"}, {"time": NOON - timedelta(hours=2)}))
    link(store)
    before = rollups(store)
    link(store)
    assert rollups(store) == before and len(before) == 3
    store.command("ALTER TABLE request_lines DELETE WHERE time < '2026-03-04 12:00:00'", None, {"mutations_sync": "1"})
    link(store)
    assert rollups(store) == before[1:]


def test_values_of_each_column_are_counted_by_hour_and_unknown_ones_are_not(store: Store) -> None:
    store.insert_arrow(*lines({"carrier": "acme"}, {"carrier": "acme", "city": "Ulm", "time": NOON}, {"pop": "fra"}))
    link(store)
    link(store)
    found = store.query("SELECT * FROM request_dimensions ORDER BY dimension, value").rows
    assert found == [(NOON, "carrier", "acme", 2), (NOON, "city", "Ulm", 1), (NOON, "pop", "fra", 1)]


def test_weights_of_sampled_traces_are_added_up(store: Store) -> None:
    name = {"connection_id": "c1", "trace_id": "t1", "vantage": "server", "trace_day": NOON.date(), "started_at": NOON}
    trace = {**name, "version": 1, "analysis_version": 1, "trace_probability": 0.3, "events_kept": "all"}
    streams = [{**name, "stream_id": n, "version": 1, "analysis_version": 1, "duration_us": 5} for n in (0, 4, 8)]
    store.insert_arrow(*batch("connections", [trace]))
    store.insert_arrow(*batch("streams", streams))
    link(store)
    (row,) = rollups(store)
    assert (row["requests"], row["traced"], row["measured"], row["failed"]) == (3, 3, 0, 0)
    assert row["weight"] == pytest.approx(10, abs=3e-6)
    assert row["weight_squares"] == pytest.approx(100 / 3, abs=3e-6)


def test_a_trace_of_an_unknown_probability_counts_as_one(store: Store) -> None:
    probabilities = (0.0, -1.0, 1e-13, 1e-320, 1.5, float("nan"), float("inf"))
    for number, probability in enumerate(probabilities):
        name: Row = {"connection_id": f"c{number}", "trace_id": f"t{number}", "vantage": "server"}
        name |= {"trace_day": NOON.date(), "started_at": NOON, "version": 1, "analysis_version": 1}
        trace = {**name, "trace_probability": probability, "events_kept": "all"}
        store.insert_arrow(*batch("connections", [trace]))
        store.insert_arrow(*batch("streams", [{**name, "stream_id": 0, "duration_us": 5, "complete": True}]))
    link(store)
    assert store.query("SELECT weight, trace_weight FROM requests").rows == [(1, 1)] * len(probabilities)
    (row,) = rollups(store)
    figures = {row[column] for column in ("requests", "weight", "weight_squares", "parts_weight")}
    assert figures == {len(probabilities)}


def test_a_weight_that_was_stored_of_an_unknown_probability_stops_no_count(store: Store) -> None:
    store.command(
        """
        INSERT INTO request_versions (request_id, started_hour, started_at, day, weight, trace_weight, complete)
        SELECT toString(weight), toStartOfHour(at), at, toDate(at), weight, weight, true
        FROM (SELECT toDateTime64('2026-03-04 12:00:00', 6, 'UTC') AS at, arrayJoin([1e13, 1e200, inf]) AS weight)
        """
    )
    roll_up(store)
    (row,) = rollups(store)
    figures = {row[column] for column in ("requests", "weight", "ended_weight", "parts_weight_squares")}
    assert figures == {3}


def test_what_requests_waited_for_and_how_they_ended_counts_for_as_many_as_they_stand_for(store: Store) -> None:
    name = {"connection_id": "c1", "trace_id": "t1", "vantage": "server", "trace_day": NOON.date(), "started_at": NOON}
    trace = {**name, "version": 1, "analysis_version": 1, "trace_probability": 0.5, "events_kept": "all"}
    ended = {**name, "version": 1, "analysis_version": 1, "duration_us": 5_000, "complete": True}
    more: list[Row] = [
        {"handshake_us": 9},
        {"packets_lost": 1, "loss_recovery_us": 9},
        {"pto_us": 9, "status": 503},
        {"complete": False, "handshake_us": 9},
    ]
    streams = [{**ended, "stream_id": 4 * number, **each} for number, each in enumerate(more)]
    store.insert_arrow(*batch("connections", [trace]))
    store.insert_arrow(*batch("streams", streams))
    link(store)
    found = rollups(store)
    assert sum(row["requests"] for row in found) == 4
    sums = {column: sum(row[column] for row in found) for column in found[0] if "_weight" in column}
    assert sums == {
        **{"ended_weight": 6, "ended_weight_squares": 12, "failed_weight": 2, "measured_weight_squares": 8},
        **{"parts_weight": 6, "parts_weight_squares": 12},
        **{"handshake_weight": 2, "loss_weight": 2, "retransmission_weight": 4},
    }
    assert sum(sum(row["duration_histogram"].values()) for row in found) == 4


def test_merged_quantiles_stay_within_one_percent_and_counts_above_an_edge_are_exact(store: Store) -> None:
    store.command(MANY)
    roll_up(store)
    assert store.query("SELECT count() FROM request_rollups").one()[0] >= 10_000
    (merged,) = store.query("SELECT sumMap(duration_histogram) FROM request_rollups").one()
    total = sum(merged.values())
    assert total == 300_000
    for quantile in (0.5, 0.9, 0.99, 0.999):
        rank = ceil(quantile * total)
        (exact,) = store.query(
            "SELECT duration_us FROM requests ORDER BY duration_us LIMIT 1 OFFSET {before:UInt64}", {"before": rank - 1}
        ).one()
        seen = 0
        for bucket in sorted(merged):
            seen += merged[bucket]
            if seen >= rank:
                break
        assert RATIO ** (bucket + 0.5) == pytest.approx(exact, rel=0.01)
        (above,) = store.query(
            "SELECT count() FROM requests WHERE duration_us >= {edge:Float64}", {"edge": RATIO ** (bucket + 1)}
        ).one()
        assert above == total - seen
