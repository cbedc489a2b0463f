import itertools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from quiclens_lab.aioquic_pair import ConnectionRun, simulate
from quiclens_lab.scenarios import SCENARIOS, TARGET_STREAM_ID, scenario_named
from quiclens_lab.server_application import Exchange
from quiclens_lab.strikes import run_plan
from quiclens_lab.traces import document

SEEDS = range(1, 7)


def run_of(name: str, seed: int) -> ConnectionRun:
    scenario = scenario_named(name)
    assert scenario is not None
    return run_plan(scenario.plan(seed))


def target(run: ConnectionRun) -> Exchange:
    return next(each for each in run.exchanges if each.stream_id == TARGET_STREAM_ID)


def duration_us(run: ConnectionRun) -> int:
    exchange = target(run)
    assert exchange.acknowledged_us is not None
    return exchange.acknowledged_us - exchange.arrived_us


def events(run: ConnectionRun, name: str) -> list[dict[str, Any]]:
    return [each for each in document(run, run.server)["traces"][0]["events"] if each["name"] == name]


def frames(found: Iterable[dict[str, Any]], frame_type: str) -> list[dict[str, Any]]:
    return [each for event in found for each in event["data"]["frames"] if each["frame_type"] == frame_type]


@pytest.mark.parametrize("name", [scenario.name for scenario in SCENARIOS])
def test_every_scenario_ends_with_all_requests_answered(name: str) -> None:
    for seed in SEEDS:
        run = run_of(name, seed)
        assert run.is_finished
        assert [each.acknowledged_us is not None for each in run.exchanges] == [True, True]


def test_nothing_is_lost_in_a_clean_run() -> None:
    for seed in SEEDS:
        run = run_of("clean", seed)
        assert not events(run, "recovery:packet_lost")
        assert duration_us(run) < 2 * run.plan.path.rtt_us + 5_000


def test_think_time_stands_between_the_request_and_its_response() -> None:
    for seed in SEEDS:
        run = run_of("think", seed)
        exchange = target(run)
        assert exchange.request_end_us is not None and exchange.response_start_us is not None
        assert exchange.response_start_us - exchange.request_end_us == run.plan.requests[1].think_us >= 200_000
        parsed, created = (
            next(each["time"] for each in events(run, name) if each["data"]["stream_id"] == TARGET_STREAM_ID)
            for name in ("http:frame_parsed", "http:frame_created")
        )
        assert created - parsed == pytest.approx(run.plan.requests[1].think_us / 1000, abs=0.01)


@pytest.mark.parametrize("name", ["burst_loss", "tail_loss", "blackout"])
def test_a_strike_loses_packets_and_makes_the_request_slower(name: str) -> None:
    for seed in SEEDS:
        run = run_of(name, seed)
        scenario = scenario_named(name)
        assert scenario is not None
        unharmed = simulate(replace(scenario.plan(seed), strike=None))
        assert events(run, "recovery:packet_lost") and not events(unharmed, "recovery:packet_lost")
        assert duration_us(run) > duration_us(unharmed)


def test_a_lost_tail_is_repaired_by_a_probe() -> None:
    for seed in SEEDS:
        assert frames(events(run_of("tail_loss", seed), "transport:packet_sent"), "ping")


def test_a_burst_in_the_middle_is_repaired_without_a_probe() -> None:
    for seed in SEEDS:
        assert not frames(events(run_of("burst_loss", seed), "transport:packet_sent"), "ping")


def test_nothing_is_received_during_a_blackout() -> None:
    for seed in SEEDS:
        times = [each["time"] for each in events(run_of("blackout", seed), "transport:packet_received")]
        assert max(later - earlier for earlier, later in itertools.pairwise(times)) > 400


def test_a_held_stream_credit_never_grows() -> None:
    for seed in SEEDS:
        granted = frames(events(run_of("stream_credit", seed), "transport:packet_received"), "max_stream_data")
        limits = [each["maximum"] for each in granted if each["stream_id"] == TARGET_STREAM_ID]
        assert len(limits) > 5
        assert max(later - earlier for earlier, later in itertools.pairwise(limits)) <= 8_000


def test_a_held_connection_credit_never_grows() -> None:
    for seed in SEEDS:
        granted = frames(events(run_of("connection_credit", seed), "transport:packet_received"), "max_data")
        limits = [each["maximum"] for each in granted]
        assert len(limits) > 5
        assert max(later - earlier for earlier, later in itertools.pairwise(limits)) <= 8_000


def test_a_capped_window_stays_small() -> None:
    for seed in SEEDS:
        metrics = events(run_of("small_window", seed), "recovery:metrics_updated")
        assert max(each["data"]["bytes_in_flight"] for each in metrics[len(metrics) // 2 :]) <= 12_000


def test_a_deep_queue_shows_in_the_round_trip() -> None:
    for seed in SEEDS:
        metrics = [each["data"] for each in events(run_of("slow_bottleneck", seed), "recovery:metrics_updated")]
        samples = [each for each in metrics if "latest_rtt" in each]
        assert max(each["latest_rtt"] for each in samples) > 2 * samples[-1]["min_rtt"]
        assert not events(run_of("slow_bottleneck", seed), "recovery:packet_lost")


def test_a_slow_upload_takes_most_of_the_request() -> None:
    for seed in SEEDS:
        run = run_of("upload", seed)
        exchange = target(run)
        assert exchange.request_end_us is not None
        assert exchange.request_end_us - exchange.arrived_us > duration_us(run) / 2


def test_a_dribbling_server_sends_its_pieces_apart() -> None:
    for seed in SEEDS:
        run = run_of("dribble", seed)
        times = [
            each["time"]
            for each in events(run, "http:frame_created")
            if each["data"]["stream_id"] == TARGET_STREAM_ID and each["data"]["frame"]["frame_type"] == "data"
        ]
        assert len(times) == 8
        assert min(later - earlier for earlier, later in itertools.pairwise(times)) > 49
