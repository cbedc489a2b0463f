"""Rates and medians, counted again from the rows of the store, some of which stand for several."""

from collections import defaultdict
from datetime import timedelta

import pytest
from demo_store import Demo
from expanding import Window, expand
from reading import queries
from test_numbers import Row, rows

HOUR_S = 3600


def requests(demo: Demo) -> list[Row]:
    since = int(demo.window.since.timestamp())
    return demo.store.query(f"SELECT * FROM requests WHERE started_hour = toDateTime({since})").dicts()


def connections(demo: Demo) -> dict[str, Row]:
    day = f"trace_day = toDate('{demo.window.since:%Y-%m-%d}')"
    found = demo.store.query(f"SELECT * FROM connections FINAL WHERE {day} AND packets_sent > 0").dicts()
    return {row["connection_id"]: row for row in found}


def middle(durations: list[tuple[int, float]]) -> int:
    """The least duration up to which half of the weight lies."""
    half, seen = sum(weight for _, weight in durations) / 2, 0.0
    for us, weight in sorted(durations):
        seen += weight
        if seen >= half:
            return us
    raise AssertionError("half of the weight is not beyond all of it")


def test_every_request_is_in_one_class_of_sizes(demo: Demo) -> None:
    counted: dict[str, int] = defaultdict(int)
    stand_for: dict[str, float] = defaultdict(float)
    for request in requests(demo):
        limits = {100: "≤ 100 B", 1000: "≤ 1 kB", 5000: "≤ 5 kB", 10_000: "≤ 10 kB", 100_000: "≤ 100 kB"}
        limits |= {1_000_000: "≤ 1 MB"}
        fits = (name for limit, name in limits.items() if request["response_bytes"] <= limit)
        name = next(fits, "> 1 MB")
        counted[name] += 1
        stand_for[name] += request["weight"]
    shown = rows(demo, "load", "Response sizes")
    assert {row["size"]: row["requests"] for row in shown} == counted
    assert {row["size"]: row["requests_per_second"] for row in shown} == pytest.approx(
        {name: weight / HOUR_S for name, weight in stand_for.items()}
    )
    assert sum(stand_for.values()) > sum(counted.values())
    over_time = rows(demo, "load", "Requests by response size", "timeseries")
    for name, number in stand_for.items():
        rates = [row["requests_per_second"] for row in over_time if row["size"] == name]
        assert sum(rates) * demo.window.step_s == pytest.approx(number)


def test_rates_are_those_of_the_window(demo: Demo) -> None:
    asked, begun = requests(demo), connections(demo)
    (shown,) = rows(demo, "load", "Rates", "stat")
    bits = 8 * sum(request["weight"] * request["response_bytes"] for request in asked)
    opened = sum(1 / connection["trace_probability"] for connection in begun.values())
    assert shown["requests_per_second"] == pytest.approx(sum(request["weight"] for request in asked) / HOUR_S)
    assert shown["connections_per_second"] == pytest.approx(opened / HOUR_S)
    assert shown["response_bits_per_second"] == pytest.approx(bits / HOUR_S)
    over_time = rows(demo, "load", "New connections", "timeseries")
    assert sum(row["new_per_second"] for row in over_time) * demo.window.step_s == pytest.approx(opened)
    over_time = rows(demo, "load", "Bits", "timeseries")
    assert sum(row["response_bits_per_second"] for row in over_time) * demo.window.step_s == pytest.approx(bits)


def test_a_cell_of_the_grid_is_the_median_of_its_requests(demo: Demo) -> None:
    begun = connections(demo)
    counted: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for each in requests(demo):
        if each["complete"] and each["coverage"] != "none" and each["min_rtt_us"] is not None:
            connection = begun[each["connection_id"]]
            counted[each["stack"], _path(each["min_rtt_us"], connection)].append(
                (each["duration_us"], each["trace_weight"])
            )
    shown = rows(demo, "grid", "Cells")
    assert {(row["implementation"], row["path"]): row["measured"] for row in shown} == {
        cell: len(durations) for cell, durations in counted.items()
    }
    for row in shown:
        durations = counted[row["implementation"], row["path"]]
        assert row["p50"] == (middle(durations) if len(durations) >= 4 else None)
    heat = {(row["implementation"], row["path"]): row["p50"] for row in rows(demo, "grid", "Median completion time")}
    assert heat == {(row["implementation"], row["path"]): row["p50"] for row in shown}


def test_implementations_stand_side_by_side(demo: Demo) -> None:
    """The demo's hour 30 days later, once as it is, and once with another stack that takes twice as long."""
    window = Window(demo.window.since + timedelta(days=30), demo.window.until + timedelta(days=30), 1800)
    (asked,) = [each for each in queries() if (each.page, each.title) == ("grid", "Median completion time")]
    shown = demo.store.query(expand(asked.sql, asked.variables, window)).dicts()
    p50 = {(row["implementation"], row["path"]): row["p50"] for row in shown}
    assert {implementation for implementation, _ in p50} == {"aioquic", "twice"}
    once = {path: value for (implementation, path), value in p50.items() if implementation == "aioquic"}
    assert {path: p50["twice", path] for path in once} == {
        path: None if value is None else 2 * value for path, value in once.items()
    }


def test_the_grid_holds_only_the_chosen_sizes(demo: Demo) -> None:
    large = rows(demo, "grid", "Cells", least_bytes="100000")
    assert 0 < sum(row["measured"] for row in large) < sum(row["measured"] for row in rows(demo, "grid", "Cells"))
    assert all(row["response_p50_bytes"] >= 100_000 for row in large)


def _path(min_rtt_us: int, connection: Row) -> str:
    rtts = {20_000: "< 20 ms", 50_000: "< 50 ms", 100_000: "< 100 ms", 200_000: "< 200 ms"}
    rtt = next((name for limit, name in rtts.items() if min_rtt_us < limit), "≥ 200 ms")
    lost, sent = connection["packets_lost"], connection["packets_sent"]
    if lost == 0:
        return f"{rtt}, no loss"
    return f"{rtt}, " + ("loss < 1 %" if lost < 0.01 * sent else "loss < 5 %" if lost < 0.05 * sent else "loss ≥ 5 %")
