"""Input for benchmarks: a folder of server traces with at least so many events.

Up to `SIMULATED_EVENTS` every event comes from a simulation. Beyond that the simulated traces are told again under
other connection ids and at later times, because a benchmark of the reader needs bytes, not new physics.
"""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from quiclens_lab.aioquic_pair import simulate
from quiclens_lab.demo import DemoSummary
from quiclens_lab.draws import digest, whole
from quiclens_lab.path import Burst, LinkSpec, PathSpec
from quiclens_lab.plan import ConnectionPlan, RequestPlan, Transport, Turn
from quiclens_lab.scenario_plans import HERE, WALL_START_US
from quiclens_lab.traces import document

SIMULATED_EVENTS = 400_000
APART_US = 2_000_000
REQUESTS = 20


def bench_plan(number: int, seed: int) -> ConnectionPlan:
    """A connection of twenty responses over a path with some loss: about ten thousand server events."""
    own_seed = int.from_bytes(digest(seed, "bench", number, size=7), "big")
    delay_us = whole(5_000, 40_000, own_seed, "delay")
    link = LinkSpec(whole(10, 60, own_seed, "rate") * 1_000_000, delay_us, 200_000, 0.002, Burst(0.005))
    sizes = [whole(20_000, 300_000, own_seed, "size", each) for each in range(REQUESTS)]
    requests = [RequestPlan(f"/bench/{each}", size) for each, size in enumerate(sizes)]
    pairs = zip(requests[::2], requests[1::2], strict=True)
    return ConnectionPlan(
        seed=own_seed,
        wall_start_us=WALL_START_US + number * APART_US,
        authority="bench.lab.example",
        path=PathSpec(link, link),
        dimensions=HERE,
        turns=tuple(Turn(pair, gap_us=20_000) for pair in pairs),
        transport=Transport(is_paced=False),
    )


def make_bench_input(folder: Path, events: int, seed: int, progress: Callable[[int, int], None]) -> DemoSummary:
    """Write connection files until they hold the wanted number of events."""
    started = time.monotonic()
    target = folder / "server"
    target.mkdir(parents=True, exist_ok=True)
    written = files = requests = 0
    for content, connection_id in _documents(events, seed):
        trace = content["traces"][0]
        text = json.dumps(content).replace(trace["common_fields"]["ODCID"], connection_id)
        (target / f"{connection_id}.qlog").write_text(text)
        written += len(trace["events"])
        files += 1
        requests += REQUESTS
        progress(min(written, events), events)
        if written >= events:
            break
    return DemoSummary(files, requests, written, files, round(time.monotonic() - started, 3))


def _documents(events: int, seed: int) -> Iterator[tuple[dict[str, Any], str]]:
    """Documents without end, each with the connection id under which to write it."""
    simulated: list[dict[str, Any]] = []
    total = number = 0
    while total < min(events, SIMULATED_EVENTS):
        run = simulate(bench_plan(number, seed), with_client_trace=False)
        content = document(run, run.server)
        simulated.append(content)
        total += len(content["traces"][0]["events"])
        number += 1
        yield content, run.connection_id
    while True:
        for content in simulated:
            _move_later(content, later_ms=len(simulated) * APART_US / 1000)
            yield content, digest(seed, "told again", number).hex()
            number += 1


def _move_later(content: dict[str, Any], later_ms: float) -> None:
    """Tell a trace at a later time. Changes it in place: it is told many times."""
    for event in content["traces"][0]["events"]:
        event["time"] += later_ms
