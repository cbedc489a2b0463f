"""Records of one microsecond that speak of different packets and streams may stand in any order: no part changes."""

import itertools
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quiclens_lab.machine import collector_binary
from quiclens_lab.scenarios import scenario_named
from quiclens_lab.strikes import run_plan
from quiclens_lab.traces import document
from quiclens_lab.truth.collector import judge
from quiclens_lab.truth.samples import Row

pytestmark = pytest.mark.skipif(not collector_binary().is_file(), reason="the collector is not built")


def streams_of(event: dict[str, Any]) -> set[int]:
    """The streams of a sent packet; empty for everything else."""
    if not event["name"].endswith(":packet_sent"):
        return set()
    return {frame["stream_id"] for frame in event["data"]["frames"] if frame["frame_type"] == "stream"}


def may_change_places(one: dict[str, Any], other: dict[str, Any]) -> bool:
    a, b = streams_of(one), streams_of(other)
    return one["time"] == other["time"] and bool(a) and bool(b) and not a & b


def swapped(content: dict[str, Any], seed: int) -> tuple[dict[str, Any], int]:
    """The document with pairs of equal time exchanged at random, and how many were."""
    changed = json.loads(json.dumps(content))
    events = changed["traces"][0]["events"]
    packets = [at for at, event in enumerate(events) if event["name"].endswith(":packet_sent")]
    draw, swaps = random.Random(seed), 0
    for before, after in itertools.pairwise(packets):
        if may_change_places(events[before], events[after]) and draw.random() < 0.5:
            events[before], events[after] = events[after], events[before]
            swaps += 1
    return changed, swaps


def parts_of(content: dict[str, Any], folder: Path) -> dict[int, Row]:
    folder.mkdir()
    (folder / "trace.qlog").write_text(json.dumps(content))
    (rows,) = judge(collector_binary(), [folder]).values()
    return {row.stream_id: row for row in rows}


@pytest.mark.parametrize("seed", range(1, 7))
def test_swapping_packets_of_different_streams_at_one_time_changes_no_part(seed: int, tmp_path: Path) -> None:
    scenario = scenario_named("competing")
    assert scenario is not None
    plan = scenario.plan(seed)
    run = run_plan(replace(plan, transport=replace(plan.transport, is_paced=False)))
    content = document(run, run.server)
    other, swaps = swapped(content, seed)
    assert swaps > 0
    before, after = parts_of(content, tmp_path / "before"), parts_of(other, tmp_path / "after")
    assert {stream: row.parts for stream, row in before.items()} == {stream: row.parts for stream, row in after.items()}
