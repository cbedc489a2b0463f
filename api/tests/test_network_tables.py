"""The tables of networks that studies published: rates of loss, retransmissions, round trips and how they vary,
handshakes, goodput, idle time and outages, against counts of the planted rows themselves."""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from statistics import mean
from typing import Any

import pytest
from quiclens_schema import store as stores
from quiclens_schema.store import Store
from serve_process import start
from store_rows import fill

from quiclens_questions.failure import UsageMistake
from quiclens_questions.reports import REPORTS, Options, asked_of

Row = dict[str, Any]
BEGIN = datetime(2026, 11, 19, 22, 30, tzinfo=UTC)  # a Thursday; in Kolkata it is Friday, 4 o'clock
_RANDOM = random.Random(7)
_DAY = {"trace_day": "2026-11-19", "version": 1, "analysis_version": 1}


def connection(number: int) -> Row:
    """Every third has loss, every fifth an end without a handshake; half begin an hour later."""
    lost = number % 3 == 0
    sent = _RANDOM.randrange(100, 900)
    return _DAY | {
        "connection_id": f"c{number}",
        "vantage": "server",
        "trace_id": f"t{number}",
        "started_at": str(BEGIN.replace(tzinfo=None) + timedelta(hours=number % 2)),
        "duration_us": _RANDOM.randrange(2_000_000, 9_000_000),
        "complete": True,
        "carrier": ["Halden", "Vale"][number % 2],
        "trace_probability": 1,
        "event_probability": 1,
        "handshake_complete": number % 5 != 0,
        "handshake_us": _RANDOM.randrange(30_000, 90_000) if number % 5 else None,
        "zero_rtt": ["", "accepted", "rejected", ""][number % 4],
        "retries": int(number % 10 == 1),
        "requests": number % 13,
        "open_episodes": '["idle"]' if number % 4 == 3 else '["pto"]' if number == 9 else "[]",
        "packets_sent": sent,
        "packets_received": 10,
        "retransmitted_packets": sent // 20,
        "unique_stream_bytes_sent": number * 10_000,
        "packets_lost": sent // 25 if lost else 0,
        "packets_lost_handshake": int(number % 6 == 0),
        "packets_lost_data": sent // 25 if lost else 0,
        "rtt_samples": 20,
        "rtt_mean_us": 50_000,
        "rtt_stdev_us": _RANDOM.uniform(1_000, 9_000),
        "rtt_histogram": {str(546): 20},
    }


CONNECTIONS = [connection(number) for number in range(40)]
CLIENTS = [
    each | {"vantage": "client", "trace_id": f"of {each['trace_id']}", "packets_lost_handshake": int(number % 4 == 0)}
    for number, each in enumerate(CONNECTIONS[:20])
]


def end_of(each: Row) -> int:
    """When its last request ended, in us."""
    return int(each["duration_us"]) * 7 // 8


def episodes(of: Row, number: int) -> Iterator[Row]:
    here = (
        _DAY | {name: of[name] for name in ("connection_id", "vantage", "trace_id")} | {"stream_id": -1, "path_id": 0}
    )
    duration = of["duration_us"]
    yield here | {"kind": "idle", "first_seq": 1, "start_us": 0, "end_us": duration // 4}
    yield here | {"kind": "idle", "first_seq": 2, "start_us": duration // 2, "end_us": duration // 2 + number}
    yield here | {"kind": "cwnd_blocked", "first_seq": 3, "start_us": duration // 4, "end_us": duration // 2}
    # Half of a recovery period may lie in idle time: what counts is the time with data in flight.
    yield here | {"kind": "recovery", "first_seq": 4, "start_us": 0, "end_us": duration, "wait_us": duration // 8}
    # An older version of the same stretch counts for nothing.
    yield here | {"kind": "cwnd_blocked", "first_seq": 3, "start_us": 0, "end_us": duration, "version": 0}
    for each in range(number % 3):
        late = {"detection_us": 50_000 * (3 + each), "wait_us": 50_000 * (4 + each), "trigger": "time_threshold"}
        yield here | {"kind": "repair", "stream_id": 0, "first_seq": 10 + each, "end_us": 1, "count": 1} | late
    if number % 8 == 0:
        yield here | {"kind": "pto", "first_seq": 20, "start_us": 1000, "end_us": 1000 + 200_000 + number, "count": 2,
                      "wait_us": 100_000}  # fmt: skip
        yield here | {"kind": "pto", "first_seq": 21, "start_us": 1000, "end_us": 900_000, "count": 1, "wait_us": 1,
                      "trigger": "spurious"}  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("networks") / "store"
    rows = [row for number, each in enumerate(CONNECTIONS) for row in episodes(each, number)]
    streams = [
        _DAY
        | {name: each[name] for name in ("connection_id", "vantage", "trace_id")}
        | {"stream_id": 0, "end_us": end_of(each)}
        for each in CONNECTIONS
    ]
    fill(folder, {"connections": [*CONNECTIONS, *CLIENTS], "episodes": rows, "streams": streams})
    served = start(folder, "--keep-events", "0", "--keep-summaries", "0")
    with stores.open(served.store_url) as opened:
        yield opened
    assert served.stop() == 0


def asked(store: Store, name: str, by: Sequence[str] = (), time_zone: str = "") -> list[Row]:
    question = asked_of(name, by, (), (None, None), Options(time_zone=time_zone), datetime.now(UTC))
    return REPORTS[name].answer(store, question).dicts()


def figures(store: Store, name: str) -> dict[str, Row]:
    return {row["figure"]: row for row in asked(store, name)}


def test_rates_of_loss_are_of_packets_of_all_and_of_lossy_connections(store: Store) -> None:
    found = figures(store, "loss")
    lossy = [each for each in CONNECTIONS if each["packets_lost"]]
    sent = sum(each["packets_sent"] for each in CONNECTIONS)
    lost = sum(each["packets_lost"] for each in lossy)
    for figure, value, samples in (
        ("packets_lost", lost / sent, sent),
        ("packets_lost_in_lossy", lost / sum(each["packets_sent"] for each in lossy), None),
        ("packets_retransmitted", sum(each["retransmitted_packets"] for each in CONNECTIONS) / sent, sent),
    ):
        row = found[figure]
        assert row["value"] == pytest.approx(value, abs=1e-6) and row["unit"] == "share"
        assert row["low"] < row["value"] < row["high"]
        assert samples is None or row["samples"] == samples


def test_delays_of_repairs_are_told_in_round_trips_too(store: Store) -> None:
    found = figures(store, "loss")
    repairs = [each for number in range(40) for each in range(number % 3)]
    later = sum(3 + each > 4 for each in repairs)
    assert later == 0 and found["detected_after_4_rtts"]["value"] == 0
    assert found["detected_after_4_rtts"]["samples"] == len(repairs) == 39
    assert (found["retransmission_delay_rtts_p50"]["value"], found["retransmission_delay_rtts_p75"]["value"]) == (4, 5)
    assert found["retransmission_delay_p50"]["value"] == 200_000


def test_round_trips_have_the_mean_deviation_of_a_connection(store: Store) -> None:
    (row,) = asked(store, "rtt")
    assert row["deviation"] == round(mean(each["rtt_stdev_us"] for each in CONNECTIONS))
    assert row["deviation_low"] < row["deviation"] < row["deviation_high"]
    by_carrier = {row["carrier"]: row["deviation"] for row in asked(store, "rtt", ["carrier"])}
    assert by_carrier["Vale"] == round(mean(each["rtt_stdev_us"] for each in CONNECTIONS[1::2]))


def test_handshakes_as_each_end_saw_them(store: Store) -> None:
    found = figures(store, "handshake")
    done = sorted(each["handshake_us"] for each in CONNECTIONS if each["handshake_us"])
    tried = sum(each["zero_rtt"] != "" for each in CONNECTIONS)
    shares = {
        "handshakes_complete": (len(done) / 40, 40),
        "connections_with_retry": (4 / 40, 40),
        "with_loss_seen_by_server": (7 / 40, 40),
        "with_loss_seen_by_client": (5 / 20, 20),
        # 0, 4, 8, 12, 16 by the client, of which 0 and 12 by the server too
        "with_loss_unseen_by_server": (3 / 20, 20),
        "zero_rtt_attempted": (tried / 40, 40),
        "zero_rtt_accepted": (0.5, tried),
        "zero_rtt_rejected": (0.5, tried),
    }
    for figure, (value, samples) in shares.items():
        assert (found[figure]["value"], found[figure]["samples"]) == (pytest.approx(value), samples), figure
    assert found["handshake_p50"]["value"] == done[len(done) // 2 - 1] and found["handshake_p50"]["samples"] == len(
        done
    )
    assert found["handshake_rtts_p50"]["value"] == round(done[len(done) // 2 - 1] / 50_000, 3)


def test_goodput_idle_time_and_outages(store: Store) -> None:
    found = figures(store, "goodput")
    asked_for = [number for number, each in enumerate(CONNECTIONS) if each["requests"]]
    idle, busy = {}, {}
    for number in asked_for:
        each = CONNECTIONS[number]
        at_end = each["duration_us"] - end_of(each) if number % 4 == 3 else 0
        idle[number] = each["duration_us"] // 4 + number + at_end
        busy[number] = each["duration_us"] - idle[number]
    whole = sum(CONNECTIONS[number]["duration_us"] for number in asked_for)
    assert (found["connections_with_request"]["value"], found["connections_with_request"]["samples"]) == (36 / 40, 40)
    assert found["time_idle"]["value"] == pytest.approx(sum(idle.values()) / whole, abs=1e-6)
    assert found["time_idle"]["samples"] == len(asked_for) == 36 and found["time_idle"]["clusters"] == 36
    blocked = sum(CONNECTIONS[each]["duration_us"] // 2 - CONNECTIONS[each]["duration_us"] // 4 for each in asked_for)
    assert found["time_in_cwnd_blocked"]["value"] == pytest.approx(blocked / sum(busy.values()), abs=1e-6)
    recovery = sum(CONNECTIONS[each]["duration_us"] // 8 for each in asked_for)
    assert found["time_in_recovery"]["value"] == pytest.approx(recovery / sum(busy.values()), abs=1e-6)
    rates = sorted(number * 10_000 * 8e6 / busy[number] for number in asked_for if number >= 10)
    assert (found["goodput_p50"]["value"], found["goodput_p50"]["samples"]) == (
        round(rates[(len(rates) + 1) // 2 - 1]),
        len(rates),
    )
    # One more died behind a probe that nothing answered: it has no length.
    assert (found["connections_with_outage"]["value"], found["outage_p50"]["samples"]) == (6 / 40, 5)
    # Of 0, 8, 16, 24 and 32 the middle one; the wait before the first probe belongs to it.
    assert (found["outage_recovery_p50"]["value"], found["outage_p50"]["value"]) == (200_016, 300_016)


def test_a_connection_began_in_an_hour_of_a_time_zone(store: Store) -> None:
    assert [(row["weekday"], row["hour"], row["samples"]) for row in asked(store, "rtt", ["weekday", "hour"])] == [
        ("Thu", "22", 400), ("Thu", "23", 400),
    ]  # fmt: skip
    assert [(row["weekday"], row["hour"]) for row in asked(store, "rtt", ["weekday", "hour"], "Asia/Kolkata")] == [
        ("Fri", "4"), ("Fri", "5"),
    ]  # fmt: skip
    for name in ("loss", "handshake", "goodput"):
        hours = list(dict.fromkeys(row["hour"] for row in asked(store, name, ["hour"], "America/New_York")))
        assert hours == ["17", "18"], name


def test_hours_stand_in_order_and_not_by_size(store: Store) -> None:
    """9 comes before 10."""
    hours = [row["hour"] for row in asked(store, "rtt", ["hour"], "Pacific/Auckland")]
    assert hours == ["11", "12"]
    assert [row["hour"] for row in asked(store, "rtt", ["hour"], "Etc/GMT-11")] == ["9", "10"]


@pytest.mark.parametrize("name", ["Mars/Olympus", "../../etc/passwd", "/etc/localtime", "a\0b", "x" * 300])
def test_a_time_zone_that_is_none_is_a_usage_mistake(name: str) -> None:
    with pytest.raises(UsageMistake, match="time zone"):
        asked_of("loss", (), (), (None, None), Options(time_zone=name), datetime.now(UTC))


def test_an_hour_is_no_condition_and_no_column_of_requests() -> None:
    for wrong in (("loss", (), ("hour=3",)), ("tail", ("hour",), ()), ("load", ("hour",), ())):
        with pytest.raises(UsageMistake, match="no column 'hour'"):
            asked_of(wrong[0], wrong[1], wrong[2], (None, None), Options(), datetime.now(UTC))
    with pytest.raises(UsageMistake, match="--time-zone is for report"):
        asked_of("tail", (), (), (None, None), Options(time_zone="UTC"), datetime.now(UTC))
