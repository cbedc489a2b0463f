"""Requests of clients that are sent a Retry, change ids, move or come in 0-RTT find their streams, never another's."""

import json
import os
from pathlib import Path

import pytest

from quiclens_lab import machine
from quiclens_lab.aioquic_pair import simulate
from quiclens_lab.link_check import ID_BAR, TUPLE_BAR, figures_of, link_check, plans

COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", "target/release/quiclens-collector"))


def test_clients_roam_as_their_plans_say() -> None:
    runs = [simulate(plan, with_client_trace=False) for plan in plans(30, seed=1)]
    seen = set()
    for run in runs:
        roaming = run.plan.roaming
        assert roaming is not None and run.is_finished
        ways = {exchange.came_by for exchange in run.exchanges}
        addresses = {way.address for way in ways if way}
        ids = {way.connection_id for way in ways if way}
        moves = roaming.moves_before_turn is not None
        assert addresses == ({roaming.address, roaming.moved_to} if moves else {roaming.address})
        if moves or roaming.new_ids_before_turn is not None:
            assert len(ids) >= 2
        names = [event["name"] for event in run.server.trace.to_dict()["events"]]
        assert names.count("transport:connection_started") == 1
        assert names.count("transport:tuple_assigned") == moves
        seen.add((roaming.is_retried, moves, roaming.new_ids_before_turn is not None, run.plan.is_resumed))
    assert len(seen) == 5


def test_a_wrong_pick_is_seen() -> None:
    truth = {"a": ("c1", 0), "b": ("c1", 4), "c": ("c1", 8)}
    figures = figures_of([("a", "c1", 0, "tuple"), ("b", "c1", 8, "tuple"), ("c", None, None, "ambiguous")], truth)
    assert figures == {"found": 1 / 3, "wrong": 1, "missing": 0, "links": {"tuple": 2, "ambiguous": 1}}


@pytest.mark.skipif(not COLLECTOR.is_file(), reason="the collector is not built")
def test_requests_find_their_streams_by_ids_and_by_tuples_and_never_another_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "kept_folder", lambda kind: tmp_path if kind == "bench-runs" else None)
    answer = link_check(60, seed=2, progress=lambda _done, _total: None, foreign_rows=20_000, keep=True)
    assert json.loads((tmp_path / "link.json").read_text()) == json.loads(json.dumps(answer))
    assert answer["passes"] and answer["commit"] and answer["machine"]
    assert answer["ids"]["found"] >= ID_BAR and answer["tuples"]["found"] >= TUPLE_BAR
    assert answer["table"]["found"] >= ID_BAR
    for figures in (answer["ids"], answer["tuples"], answer["table"]):
        assert (figures["wrong"], figures["missing"]) == (0, 0)
    assert answer["same_path_twice"] > 0 and answer["tuples"]["links"]["ambiguous"] == 2 * answer["same_path_twice"]
    assert min(answer["moved"], answer["retried"], answer["new_ids"], answer["zero_rtt"]) > 0
