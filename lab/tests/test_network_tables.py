"""The reports' figures of loss and of handshakes, counted again from the raw logs by code that shares nothing."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from quiclens_lab.release import ROOT

LONG_HEADERS = ("initial", "handshake")


def events_of(file: Path) -> list[dict[str, Any]]:
    (trace,) = json.loads(file.read_text())["traces"]
    return list(trace["events"])


def named(events: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [event for event in events if event["name"].endswith(f":{name}")]


def packet_type(event: dict[str, Any]) -> str:
    data = event["data"]
    return str(data["header"]["packet_type"] if "header" in data else data["type"])


def has_handshake_loss(events: Sequence[dict[str, Any]]) -> bool:
    return any(packet_type(event) in LONG_HEADERS for event in named(events, "packet_lost"))


def handshake_us(events: Sequence[dict[str, Any]]) -> int | None:
    """From the first packet to the first one with a short header that the server received."""
    packets = [event for event in events if event["name"].split(":")[1] in ("packet_sent", "packet_received")]
    first = next((each for each in named(packets, "packet_received") if packet_type(each) == "1RTT"), None)
    return None if first is None else round((first["time"] - packets[0]["time"]) * 1000)


@pytest.fixture(scope="module")
def report(small_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    store = f"chdb:{tmp_path_factory.mktemp('networks') / 'store'}"
    secret = {"QUICLENS_CLIENT_SECRET": "the secret of one deployment"}

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "quiclens_command_line", *words, "--store", store]
        done = subprocess.run(command, env={**os.environ, **secret}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("load", str(small_demo / "server"), str(small_demo / "client"), "--requests", str(small_demo / "access.jsonl"))
    return lambda name: {row[0]: row for row in json.loads(run("report", name, "--json"))["rows"]}


@pytest.mark.skipif(not (ROOT / "target/release/quiclens-collector").exists(), reason="no quiclens-collector")
def test_reports_count_what_the_raw_logs_say(small_demo: Path, report: Any) -> None:
    servers = {file.stem: events_of(file) for file in sorted((small_demo / "server").glob("*.qlog"))}
    clients = {file.stem: events_of(file) for file in sorted((small_demo / "client").glob("*.qlog"))}
    sent = {name: len(named(events, "packet_sent")) for name, events in servers.items()}
    lost = {name: len(named(events, "packet_lost")) for name, events in servers.items()}
    lossy = [name for name in servers if lost[name]]
    assert len(servers) >= 30 and len(lossy) >= 5

    loss = report("loss")
    assert loss["packets_lost"][2] == pytest.approx(sum(lost.values()) / sum(sent.values()), abs=1e-6)
    in_lossy = sum(lost.values()) / sum(sent[name] for name in lossy)
    assert loss["packets_lost_in_lossy"][2] == pytest.approx(in_lossy, abs=1e-6)
    assert loss["connections_with_loss"][2] == pytest.approx(len(lossy) / len(servers), abs=1e-6)

    handshake = report("handshake")
    both = [name for name in servers if name in clients]
    seen = [name for name in both if has_handshake_loss(clients[name])]
    unseen = [name for name in seen if not has_handshake_loss(servers[name])]
    assert handshake["with_loss_seen_by_client"][2:6:3] == [pytest.approx(len(seen) / len(both), abs=1e-6), len(both)]
    assert handshake["with_loss_unseen_by_server"][2] == pytest.approx(len(unseen) / len(both), abs=1e-6)
    took = sorted(us for events in servers.values() if (us := handshake_us(events)) is not None)
    assert handshake["handshake_p50"][5] == len(took)
    assert handshake["handshake_p50"][2] == pytest.approx(took[(len(took) + 1) // 2 - 1], abs=1)
