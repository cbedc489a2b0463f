"""Logs of hosts and apps: the same seed gives the same bytes, and what is planted is in them."""

import json
from pathlib import Path
from typing import Any

import pytest

from quiclens_lab.command_line import main
from quiclens_lab.operations import fleet
from quiclens_lab.operations.command import OPERATIONS
from quiclens_lab.operations.misrouting import MISROUTED_SHARE, misrouting
from quiclens_lab.operations.restarts import HOP_LOSS_SHARE, restarts


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(record) for record in text.split("\x1e") if record]


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(name: str) -> None:
    first, again, other = (OPERATIONS[name](seed) for seed in (1, 1, 2))
    assert [log.text() for log in first.logs] == [log.text() for log in again.logs]
    assert (first.truth, first.lines) == (again.truth, again.lines)
    assert first.truth != other.truth
    assert len({log.file for log in first.logs}) == len(first.logs)


def test_the_command_writes_files_and_prints_the_truth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operations", "--scenario", "racing", "--out", str(tmp_path / "racing")]) == 0
    document = json.loads(capsys.readouterr().out)
    files = list((tmp_path / "racing" / "apps").iterdir())
    assert document["files"] == len(files)
    assert document["events"] == sum(len(records(file.read_text())) - 1 for file in files)
    lines = (tmp_path / "racing" / "access.jsonl").read_text().splitlines()
    assert (
        document["requests"]
        == len(lines)
        == sum(carrier["requests"] for carrier in document["truth"]["carriers"].values())
    )
    assert main(["operations", "--scenario", "racing", "--out", str(tmp_path / "racing")]) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_as_many_packets_are_misrouted_as_planned_and_their_ids_name_the_right_host() -> None:
    made = misrouting(1)
    planted = {(each["meant_for"], each["landed_in"]): each["packets"] for each in made.truth["wrong_host"]}
    assert planted["edge-eu", "edge-us"] / made.truth["addressed"]["edge-eu"] == pytest.approx(MISROUTED_SHARE, rel=0.1)
    names = {host.host_id: host.cluster for host in (*fleet.EUROPE, *fleet.AMERICA, *fleet.ASIA)}
    counted: dict[tuple[str, str], int] = {}
    received = 0
    for log in made.logs:
        for record in records(log.text())[1:]:
            received += record["data"].get("count", 0)
            if record["data"].get("trigger") == "wrong_host":
                pair = names[_host_of(bytes.fromhex(record["data"]["header"]["dcid"]))], log.fields["cluster"]
                counted[pair] = counted.get(pair, 0) + 1
    assert counted == planted
    assert received == sum(made.truth["addressed"].values())


def test_restarts_lose_as_much_between_the_processes_as_planned() -> None:
    for restart in restarts(1).truth["restarts"]:
        lost = restart["forwarded"] - restart["forwarded_received"]
        assert lost / restart["forwarded"] == pytest.approx(HOP_LOSS_SHARE, rel=0.4)


def _host_of(cid: bytes) -> int:
    """As mvfst's DefaultConnectionIdAlgo reads it."""
    version = cid[0] >> 6
    if version == 1:
        return ((cid[0] & 0x3F) << 10) + (cid[1] << 2) + (cid[2] >> 6)
    return int.from_bytes(cid[1:4] if version == 2 else cid[1:5], "big")
