"""picoquic's server, from PyPI's aiopquic, behind a lossy path: what the collector reads in its documents."""

import asyncio
import json
import statistics
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from quiclens_lab import picoquic
from quiclens_lab.logging_cost.load import LARGE, SMALL, Load, Loaded, ids
from quiclens_lab.relay import Conditions, Passed
from quiclens_schema.catalogue import CAUSES
from stock_servers import COLLECTOR, ask_behind, needs_collector, of_the_clients_time

LOAD = Load(connections=40, requests=10, together=40, share=1)
"""More at once than picoquic's bound of open logs, with more packets than its bound of packets."""
OPEN_LOGS, PACKETS = 32, 100
PATH = Conditions(loss=0.02, delay_ms=10, rate_kbps=8000)

pytestmark = [needs_collector, pytest.mark.skipif(picoquic.missing() is not None, reason=picoquic.missing() or "")]


@dataclass(frozen=True)
class Read:
    """What the clients saw, and what the collector reads in the logs."""

    loaded: Loaded
    passed: Passed
    logs: list[dict[str, Any]]
    connections: list[dict[str, Any]]
    streams: list[dict[str, Any]]
    rejects: list[dict[str, Any]]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    folder = tmp_path_factory.mktemp("picoquic")
    with picoquic.serving(folder, True, (SMALL, LARGE)) as server:
        loaded, passed = asyncio.run(ask_behind(server.port, PATH, LOAD))
    rows: dict[str, list[dict[str, Any]]] = {}
    paths = sorted((folder / "traces").iterdir())
    for path in paths:
        said = subprocess.run([COLLECTOR, "dump", path], check=True, capture_output=True, text=True).stdout
        for line in map(json.loads, said.splitlines()):
            rows.setdefault(line["table"], []).append(line["row"])
    logs = [json.loads(path.read_text())["traces"][0] for path in paths]
    yield Read(loaded, passed, logs, rows["connections"], rows["streams"], rows.get("rejects", []))


def test_every_connection_is_read_whole_and_has_the_id_that_its_client_chose(read: Read) -> None:
    assert sorted(each["connection_id"] for each in read.connections) == sorted(each.hex() for each in ids(LOAD))
    assert {(each["stack"], each["complete"]) for each in read.connections} == {("picoquic", True)}
    assert {each["started_at"] for each in read.connections} == {None}, "its clock begins when the machine started"
    assert read.rejects == [] and [each["damage"] for each in read.connections if each["damage"]] == []


def test_each_request_has_its_stream_and_its_parts_add_up(read: Read) -> None:
    wanted = {(each.hex(), 4 * number) for each in ids(LOAD) for number in range(LOAD.requests)}
    assert {(each["connection_id"], each["stream_id"]) for each in read.streams} == wanted
    assert len(read.streams) == len(wanted)
    for stream in read.streams:
        assert stream["grade"] == "whole" and stream["response_bytes"] > SMALL, stream
        assert sum(stream[f"{cause}_us"] for cause in CAUSES) == stream["duration_us"], stream


def test_the_client_waited_about_as_long_as_the_trace_says(read: Read) -> None:
    ratios = of_the_clients_time(read.streams, read.loaded, LOAD)
    assert 0.8 < statistics.median(ratios) < 1.3, sorted(ratios)


def test_losses_on_the_path_are_seen(read: Read) -> None:
    assert 0 < sum(each["packets_lost"] for each in read.connections) <= read.passed.forwarded
    assert read.passed.lost > 0 and any(each["loss_recovery_us"] for each in read.streams)


def test_neither_of_its_bounds_leaves_a_log_or_a_packet_out(read: Read) -> None:
    began = [int(each["common_fields"]["reference_time"]) for each in read.logs]
    ended = [start + each["events"][-1][0] for start, each in zip(began, read.logs, strict=True)]
    assert len(read.logs) > OPEN_LOGS and max(began) < min(ended), "all are open at one time"
    counted = [sum("packet_" in event[2] for event in each["events"]) for each in read.logs]
    assert min(counted) > PACKETS
