"""The demo's incident: from one moment on, a server gets the clients of another one too, and its path to one of their
carriers drops packets."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, islice

from quiclens_lab.draws import between
from quiclens_lab.path import Burst
from quiclens_lab.plan import ConnectionPlan
from quiclens_lab.population import SPREAD_US, connection_plan
from quiclens_lab.scenario_plans import WALL_START_US

CARRIER, SERVER, POP = "Halden Mobile", "edge-fra-02", "fra"
BEGINS_US = 41 * 60 * 1_000_000
"""After the demo's beginning."""
MOVED = 5
"""One more connection for so many of the demo."""
LOSS_RATE, BURST = 0.2, Burst(0.15)


def with_incident(plans: Sequence[ConnectionPlan], seed: int) -> list[ConnectionPlan]:
    """The plans of a demo with the incident in them, by start time."""
    met = [_struck(plan) if _meets(plan) and _after_us(plan) >= BEGINS_US else plan for plan in plans]
    moved = islice(_moved(len(plans), seed), len(plans) // MOVED)
    return sorted([*met, *moved], key=lambda plan: plan.wall_start_us)


def _moved(connections: int, seed: int) -> Iterator[ConnectionPlan]:
    for number in count(connections):
        plan = connection_plan(number, connections, seed)
        if plan.dimensions.pop == POP:
            after_us = int(between(BEGINS_US, SPREAD_US, plan.seed, "incident"))
            dimensions = replace(plan.dimensions, server=SERVER)
            moved = replace(plan, dimensions=dimensions, wall_start_us=WALL_START_US + after_us)
            yield _struck(moved) if _meets(moved) else moved


def _meets(plan: ConnectionPlan) -> bool:
    return (plan.dimensions.carrier, plan.dimensions.server) == (CARRIER, SERVER)


def _after_us(plan: ConnectionPlan) -> int:
    return plan.wall_start_us - WALL_START_US


def _struck(plan: ConnectionPlan) -> ConnectionPlan:
    down = replace(plan.path.down, loss_rate=LOSS_RATE, burst=BURST)
    return replace(plan, path=replace(plan.path, down=down), strike=None)
