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


def target(run: ConnectionRun, stream_id: int = TARGET_STREAM_ID) -> Exchange:
    return next(each for each in run.exchanges if each.stream_id == stream_id)


def duration_us(run: ConnectionRun, stream_id: int = TARGET_STREAM_ID) -> int:
    exchange = target(run, stream_id)
    assert exchange.acknowledged_us is not None
    return exchange.acknowledged_us - exchange.arrived_us


def events(run: ConnectionRun, name: str, vantage: str = "server") -> list[dict[str, Any]]:
    side = run.client if vantage == "client" else run.server
    assert side is not None
    return [each for each in document(run, side)["traces"][0]["events"] if each["name"] == name]


def frames(found: Iterable[dict[str, Any]], frame_type: str) -> list[dict[str, Any]]:
    return [each for event in found for each in event["data"]["frames"] if each["frame_type"] == frame_type]


@pytest.mark.parametrize("name", [scenario.name for scenario in SCENARIOS])
def test_every_scenario_ends_with_all_requests_answered(name: str) -> None:
    for seed in SEEDS:
        run = run_of(name, seed)
        assert run.is_finished
        assert len(run.exchanges) == len(run.plan.requests)
        assert all(each.acknowledged_us is not None for each in run.exchanges)


@pytest.mark.parametrize("name", [scenario.name for scenario in SCENARIOS[1:]])
def test_a_request_is_slower_with_its_cause_than_without(name: str) -> None:
    scenario = scenario_named(name)
    assert scenario is not None
    for seed in SEEDS:
        durations = [
            duration_us(run_plan(plan), scenario.stream_id) for plan in (scenario.plan(seed), scenario.without(seed))
        ]
        assert durations[0] > durations[1]


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


def data_sent(run: ConnectionRun) -> list[tuple[float, int]]:
    """Time and stream of every piece of response data that the server sent."""
    return [
        (event["time"], frame["stream_id"])
        for event in events(run, "transport:packet_sent")
        for frame in event["data"]["frames"]
        if frame["frame_type"] == "stream" and frame["stream_id"] % 4 == 0 and frame["length"] > 0
    ]


def test_competing_responses_are_sent_between_the_targets_packets() -> None:
    for seed in SEEDS:
        streams = [stream_id for _, stream_id in data_sent(run_of("competing", seed))]
        own = [number for number, stream_id in enumerate(streams) if stream_id == TARGET_STREAM_ID]
        assert len(own) >= 3
        between = streams[own[0] : own[-1]]
        assert len(set(between)) > 8
        assert len(between) > 5 * len(own)


def test_a_client_that_pauses_sends_its_body_in_two_halves() -> None:
    for seed in SEEDS:
        run = run_of("client_pause", seed)
        times = [
            event["time"]
            for event in events(run, "transport:packet_received")
            if any(each.get("stream_id") == TARGET_STREAM_ID for each in event["data"]["frames"])
        ]
        gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert sum(gap > 200 for gap in gaps) == 1
        assert max(gaps) > 295


def test_an_amplification_limited_server_waits_with_three_times_what_it_received() -> None:
    for seed in SEEDS:
        run = run_of("zero_rtt_amplification", seed)
        received = events(run, "transport:packet_received")
        assert "0RTT" in {each["data"]["header"]["packet_type"] for each in received}
        proof = next(each["time"] for each in received if each["data"]["header"]["packet_type"] == "handshake")
        times = [time for time, _ in data_sent(run)]
        assert times[0] < proof <= times[-1]
        assert proof - received[0]["time"] > 3 * run.plan.path.rtt_us / 1000
        last_before = max(time for time in times if time < proof)
        assert proof - last_before > 1.5 * run.plan.path.rtt_us / 1000


def test_a_paced_server_keeps_its_rate_though_its_window_is_open() -> None:
    for seed in SEEDS:
        run = run_of("paced", seed)
        pace_bps = run.plan.transport.pace_bps
        assert pace_bps is not None
        times = [time for time, stream_id in data_sent(run) if stream_id == TARGET_STREAM_ID]
        bits = run.plan.requests[1].response_bytes * 8
        assert bits / (times[-1] - times[0]) * 1000 == pytest.approx(pace_bps, rel=0.15)
        metrics = [each["data"] for each in events(run, "recovery:metrics_updated")]
        assert max(each["bytes_in_flight"] / each["cwnd"] for each in metrics[len(metrics) // 2 :]) < 0.1


def test_a_gap_is_filled_by_the_second_repair_when_all_else_has_arrived() -> None:
    for seed in SEEDS:
        run = run_of("client_gap", seed)
        frames_of = {
            side: [
                (event["time"], each["offset"], each["offset"] + each["length"])
                for event in events(run, f"transport:packet_{kind}", side)
                for each in event["data"]["frames"]
                if each["frame_type"] == "stream" and each["stream_id"] == TARGET_STREAM_ID
            ]
            for side, kind in (("server", "sent"), ("client", "received"))
        }
        filled, gap_at, _ = frames_of["client"][-1]
        assert gap_at < max(end for _, _, end in frames_of["client"]) / 2
        assert sum(offset == gap_at for _, offset, _ in frames_of["server"]) == 3
        before = [time for time, offset, _ in frames_of["client"] if not gap_at <= offset < gap_at + 1_200]
        assert filled - max(before) > 1.5 * run.plan.path.rtt_us / 1000
