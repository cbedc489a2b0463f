import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import read_log, read_trace

from quiclens_lab.aioquic_pair import lateness_us, simulate
from quiclens_lab.demo import make_connection
from quiclens_lab.errors import LabError
from quiclens_lab.plan import DIMENSIONS
from quiclens_lab.scenario_plans import think
from quiclens_lab.scenarios import SCENARIOS
from quiclens_lab.strikes import run_plan
from quiclens_lab.traces import document, write_traces


def names(trace: dict[str, Any]) -> set[str]:
    return {event["name"] for event in trace["events"]}


def test_a_trace_has_packets_frames_metrics_and_http(small_demo: Path) -> None:
    seen: set[str] = set()
    frames: set[str] = set()
    for file in (small_demo / "server").iterdir():
        trace = read_trace(file)
        seen |= names(trace)
        frames |= {frame["frame_type"] for event in trace["events"] for frame in event["data"].get("frames", [])}
    assert seen >= {
        "transport:packet_sent", "transport:packet_received", "transport:parameters_set", "recovery:metrics_updated",
        "recovery:packet_lost", "http:frame_created", "http:frame_parsed", "http:stream_type_set",
    }  # fmt: skip
    assert frames >= {"ack", "stream", "crypto", "padding", "ping", "handshake_done", "max_stream_data"}


def test_server_traces_carry_the_dimensions_by_the_catalogues_names(small_demo: Path) -> None:
    for file in (small_demo / "server").iterdir():
        fields = read_trace(file)["common_fields"]
        assert set(fields) == {"ODCID", "congestion_controller", "stack_version", *DIMENSIONS}
        assert fields["ODCID"] == file.stem
        assert all(isinstance(fields[name], int if name == "asn" else str) for name in DIMENSIONS)


def test_each_connection_has_a_trace_of_either_end(small_demo: Path) -> None:
    assert len(list((small_demo / "server").iterdir())) == 40
    for file in (small_demo / "server").iterdir():
        ends = {read_trace(small_demo / side / file.name)["vantage_point"]["type"] for side in ("server", "client")}
        assert ends == {"server", "client"}


def test_every_logged_request_has_its_stream_in_the_servers_trace(small_demo: Path) -> None:
    traced = [line for line in read_log(small_demo) if line["protocol"] == "h3"]
    assert len(traced) > 100
    for line in traced:
        events = read_trace(small_demo / "server" / f"{line['connection_id']}.qlog")["events"]
        headers = [
            {each["name"]: each["value"] for each in event["data"]["frame"]["headers"]}
            for event in events
            if event["name"] == "http:frame_parsed"
            and event["data"]["stream_id"] == line["stream_id"]
            and event["data"]["frame"]["frame_type"] == "headers"
        ]
        assert [each["x-request-id"] for each in headers] == [line["external_id"]]
        assert headers[0][":path"] == line["path"]


def test_some_lines_are_of_clients_that_left_no_trace(small_demo: Path) -> None:
    without = [line for line in read_log(small_demo) if line["protocol"] == "h2"]
    assert len(without) == (len(read_log(small_demo)) - len(without)) // 8
    assert not any("connection_id" in line for line in without)


def test_lines_over_tcp_have_its_figures_and_lines_over_quic_have_none(small_demo: Path) -> None:
    for line in read_log(small_demo):
        assert any(name.startswith("tcp_") for name in line) == (line["protocol"] == "h2")
        if line["protocol"] == "h2":
            assert 0 < line["rtt_variance_us"] < line["rtt_us"] and line["tcp_congestion_window_packets"] >= 10
            assert line["tcp_packets_retransmitted_outstanding"] <= line["tcp_packets_lost_outstanding"]


def test_client_networks_are_documentation_ranges(small_demo: Path) -> None:
    assert all(line["client_network"].startswith(("198.51.100.0/24", "2001:db8:")) for line in read_log(small_demo))


def test_a_trace_spans_exactly_the_simulated_time() -> None:
    run = simulate(SCENARIOS[0].plan(5))
    assert run.client is not None
    for side in (run.server, run.client):
        events = document(run, side)["traces"][0]["events"]
        span_ms = events[-1]["time"] - events[0]["time"]
        assert abs(span_ms - (side.last_event_us - side.first_event_us) / 1000) < 1


def test_wall_time_in_a_trace_is_an_error() -> None:
    run = simulate(SCENARIOS[0].plan(5))
    shifted = replace(run, plan=replace(run.plan, wall_start_us=run.plan.wall_start_us + 2_000))
    with pytest.raises(LabError, match="the simulation says"):
        document(shifted, shifted.server)


def test_a_skewed_client_clock_shows_in_its_trace_only() -> None:
    plan = SCENARIOS[0].plan(5)
    runs = [simulate(each) for each in (plan, replace(plan, client_skew_us=50_000))]
    starts = [[document(run, side)["traces"][0]["events"][0]["time"] for side in (run.server, run.client) if side]
              for run in runs]  # fmt: skip
    assert starts[1][0] == starts[0][0]
    assert starts[1][1] == pytest.approx(starts[0][1] + 50, abs=0.01)


def test_a_run_stops_at_its_step_limit() -> None:
    run = simulate(replace(SCENARIOS[0].plan(5), max_steps=20))
    assert run.steps == 20
    assert not run.is_finished


def test_a_connection_that_does_not_end_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="did not end within 20 steps"):
        make_connection(replace(SCENARIOS[0].plan(5), max_steps=20), tmp_path, with_client_trace=False)


def test_late_timers_fire_up_to_a_millisecond_late() -> None:
    usual = think(3)
    late_plan = replace(usual, has_late_timers=True)
    assert {lateness_us(usual, "server", at_us) for at_us in range(100)} == {0}
    lateness = [lateness_us(late_plan, "server", at_us) for at_us in range(100)]
    assert min(lateness) >= 0 and 500 < max(lateness) < 1_000
    late = run_plan(late_plan)
    took = [each.acknowledged_us - each.arrived_us for each in run_plan(usual).exchanges if each.acknowledged_us]
    took_late = [each.acknowledged_us - each.arrived_us for each in late.exchanges if each.acknowledged_us]
    assert len(took) == len(took_late)
    assert all(abs(later - early) < 10_000 for early, later in zip(took, took_late, strict=True))
    assert took != took_late


def test_sizes_may_leave_the_tag_out(tmp_path: Path) -> None:
    run = run_plan(think(3), with_client_trace=False)
    sizes = []
    for leaves_tag_out in (False, True):
        write_traces(run, tmp_path / str(leaves_tag_out), leaves_tag_out)
        (file,) = (tmp_path / str(leaves_tag_out) / "server").iterdir()
        events = json.loads(file.read_text())["traces"][0]["events"]
        sizes.append([event["data"]["raw"]["length"] for event in events if event["name"].endswith(":packet_sent")])
    assert [with_tag - without for with_tag, without in zip(*sizes, strict=True)] == [16] * len(sizes[0])
