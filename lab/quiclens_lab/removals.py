"""Taking one cause out of a plan: what is left is the same plan without it, for comparison."""

from collections.abc import Callable
from dataclasses import replace

from quiclens_lab.plan import ClientLimits, ConnectionPlan, RequestPlan, Turn
from quiclens_lab.scenario_plans import MANY_BYTES

FAST_BPS = 1_000_000_000

Removal = Callable[[ConnectionPlan], ConnectionPlan]


def with_target(plan: ConnectionPlan, request: RequestPlan) -> ConnectionPlan:
    """The plan with another first request in its last turn."""
    *before, last = plan.turns
    return replace(plan, turns=(*before, replace(last, requests=(request, *last.requests[1:]))))


def target(plan: ConnectionPlan) -> RequestPlan:
    """The first request of the last turn."""
    return plan.turns[-1].requests[0]


def nothing(plan: ConnectionPlan) -> ConnectionPlan:
    return plan


def think(plan: ConnectionPlan) -> ConnectionPlan:
    return with_target(plan, replace(target(plan), think_us=0))


def strike(plan: ConnectionPlan) -> ConnectionPlan:
    return replace(plan, strike=None)


def credit(plan: ConnectionPlan) -> ConnectionPlan:
    return replace(plan, limits=ClientLimits())


def window(plan: ConnectionPlan) -> ConnectionPlan:
    """No cap, and a window that is large from the start."""
    transport = replace(plan.transport, cwnd_cap_bytes=None, initial_window_bytes=MANY_BYTES)
    return replace(plan, transport=transport)


def bottleneck(plan: ConnectionPlan) -> ConnectionPlan:
    """Links of 1 Gbit/s with the same delay."""
    up, down = (replace(link, rate_bps=FAST_BPS) for link in (plan.path.up, plan.path.down))
    return replace(plan, path=replace(plan.path, up=up, down=down))


def body(plan: ConnectionPlan) -> ConnectionPlan:
    """The request without a body."""
    return with_target(plan, replace(target(plan), request_bytes=0, upload_pause_us=0))


def pieces(plan: ConnectionPlan) -> ConnectionPlan:
    """The whole response is written at once."""
    return with_target(plan, replace(target(plan), chunk_bytes=None, chunk_gap_us=0))


def competitors(plan: ConnectionPlan) -> ConnectionPlan:
    *before, last = plan.turns
    return replace(plan, turns=(*before, Turn(last.requests[:1], last.gap_us)))


def amplification(plan: ConnectionPlan) -> ConnectionPlan:
    """A server that is not limited, and a client whose handshake ends in time."""
    path = replace(plan.path, up=replace(plan.path.up, blackouts=()))
    return replace(plan, path=path, transport=replace(plan.transport, is_amplification_limited=False))


def pace(plan: ConnectionPlan) -> ConnectionPlan:
    return replace(plan, transport=replace(plan.transport, is_paced=False, pace_bps=None))
