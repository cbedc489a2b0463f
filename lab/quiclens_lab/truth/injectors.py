"""Causes that can be put into any plan, with varying strength: for three at once and for mixed populations."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from quiclens_lab.draws import between, skewed, whole
from quiclens_lab.plan import AimedLoss, ClientLimits, ConnectionPlan, RequestPlan, Transport
from quiclens_lab.removals import target, with_target
from quiclens_lab.scenario_plans import MANY_BYTES, TARGET_REQUEST

HELD_BYTES = 8_000


@dataclass(frozen=True)
class Injector:
    """One cause, and how a plan gets it; the strength is drawn from the seed."""

    name: str
    cause: str
    inject: Callable[[ConnectionPlan, int], ConnectionPlan]


def _changed(plan: ConnectionPlan, change: Callable[[RequestPlan], RequestPlan]) -> ConnectionPlan:
    return with_target(plan, change(target(plan)))


def _think(plan: ConnectionPlan, seed: int) -> ConnectionPlan:
    think_us = int(skewed(80_000, 1_200_000, seed, "injected think"))
    return _changed(plan, lambda request: replace(request, think_us=request.think_us + think_us))


def _pause(plan: ConnectionPlan, seed: int) -> ConnectionPlan:
    pause_us = int(skewed(80_000, 1_200_000, seed, "injected pause"))
    body_bytes = whole(2_000, 20_000, seed, "injected body")
    return _changed(
        plan,
        lambda request: replace(request, method="POST", request_bytes=body_bytes, upload_pause_us=pause_us),
    )


def _dribble(plan: ConnectionPlan, seed: int) -> ConnectionPlan:
    gap_us = int(skewed(10_000, 150_000, seed, "injected gap"))
    return _changed(
        plan, lambda request: replace(request, chunk_bytes=request.response_bytes // 8 + 1, chunk_gap_us=gap_us)
    )


def _stream_credit(plan: ConnectionPlan, _seed: int) -> ConnectionPlan:
    return replace(plan, limits=ClientLimits(stream_bytes=HELD_BYTES, is_stream_held=True))


def _connection_credit(plan: ConnectionPlan, _seed: int) -> ConnectionPlan:
    return replace(plan, limits=ClientLimits(connection_bytes=HELD_BYTES, is_connection_held=True))


def _small_window(plan: ConnectionPlan, _seed: int) -> ConnectionPlan:
    return replace(plan, transport=Transport(is_paced=False, cwnd_cap_bytes=12_000))


def _slow_bottleneck(plan: ConnectionPlan, seed: int) -> ConnectionPlan:
    rate_bps = int(between(800_000, 2_500_000, seed, "injected rate"))
    down = replace(plan.path.down, rate_bps=rate_bps, queue_bytes=MANY_BYTES)
    return replace(plan, path=replace(plan.path, down=down))


def _burst_loss(plan: ConnectionPlan, seed: int) -> ConnectionPlan:
    return replace(plan, strike=AimedLoss(TARGET_REQUEST, "middle", packets=whole(2, 4, seed, "injected packets")))


def _tail_loss(plan: ConnectionPlan, seed: int) -> ConnectionPlan:
    return replace(plan, strike=AimedLoss(TARGET_REQUEST, "tail", packets=whole(1, 3, seed, "injected packets")))


def _blackout(plan: ConnectionPlan, seed: int) -> ConnectionPlan:
    duration_us = int(skewed(150_000, 1_200_000, seed, "injected blackout"))
    return replace(plan, strike=AimedLoss(TARGET_REQUEST, "blackout", duration_us=duration_us))


INJECTORS = {
    each.name: each
    for each in (
        Injector("think", "server_think", _think),
        Injector("pause", "upload", _pause),
        Injector("dribble", "app_limited", _dribble),
        Injector("stream_credit", "stream_flow_control", _stream_credit),
        Injector("connection_credit", "connection_flow_control", _connection_credit),
        Injector("small_window", "cwnd_blocked", _small_window),
        Injector("slow_bottleneck", "bandwidth", _slow_bottleneck),
        Injector("burst_loss", "loss_recovery", _burst_loss),
        Injector("tail_loss", "pto", _tail_loss),
        Injector("blackout", "pto", _blackout),
    )
}
