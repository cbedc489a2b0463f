"""The plans of the named scenarios: a small request to warm the connection up, then the target with one cause."""

from collections.abc import Callable
from dataclasses import replace

from quiclens_lab.draws import between, choice, skewed, whole
from quiclens_lab.path import LinkSpec, PathSpec, Window
from quiclens_lab.plan import (
    START_US,
    AimedLoss,
    ClientLimits,
    ConnectionPlan,
    Dimensions,
    RequestPlan,
    Transport,
    Turn,
)

WALL_START_US = 1_795_168_800_000_000  # 2026-11-20T10:00:00Z
TARGET_REQUEST = 1
MANY_BYTES = 8_000_000  # a window or a queue that never fills
COMPETITORS = 10

HERE = Dimensions(
    server="edge-lab-01", cluster="edge-lab", pop="lab", carrier="Lab Line", asn=64511, country="SE",
    region="Stockholm", city="Stockholm", network_type="wifi", app_version="1.0.0",
    h3_cell="8408867ffffffff", client_network="198.51.100.0/24",
)  # fmt: skip

MakePlan = Callable[[int], ConnectionPlan]


def path(seed: int, mbps: float = 40, queue_bytes: int = 400_000, rtt_ms: float | None = None) -> PathSpec:
    """An ordinary path: 30-80 ms, 20 Mbit/s up."""
    delay_us = int((rtt_ms or between(30, 80, seed, "rtt")) * 500)
    return PathSpec(
        up=LinkSpec(rate_bps=20_000_000, delay_us=delay_us, queue_bytes=queue_bytes),
        down=LinkSpec(rate_bps=int(mbps * 1_000_000), delay_us=delay_us, queue_bytes=queue_bytes),
    )


def plan(seed: int, target: RequestPlan, way: PathSpec | None = None, *beside: RequestPlan) -> ConnectionPlan:
    """A warm-up, then the target; `beside` are requests made at the same moment as the target."""
    warm_up = RequestPlan("/warm-up", 2_000, think_us=whole(300, 1_500, seed, "warm-up think"))
    return ConnectionPlan(
        seed=seed,
        wall_start_us=WALL_START_US + seed * 1_000_000,
        authority="www.lab.example",
        path=way or path(seed),
        dimensions=HERE,
        turns=(Turn((warm_up,)), Turn((target, *beside), gap_us=300_000)),
    )


def size(seed: int, low: int, high: int) -> int:
    """How large a response or a body is."""
    return int(skewed(low, high, seed, "size"))


def clean(seed: int) -> ConnectionPlan:
    """Nothing at all: not even a pacer, which is a cause of its own."""
    request = RequestPlan("/target", size(seed, 1_000, 10_000), think_us=whole(200, 2_000, seed, "think"))
    return replace(plan(seed, request), transport=Transport(is_paced=False))


def clean_of(response_bytes: int, seed: int) -> ConnectionPlan:
    """Nothing at all, with windows of the client that never fill."""
    ample = ClientLimits(connection_bytes=2 * MANY_BYTES, stream_bytes=2 * MANY_BYTES)
    made = plan(seed, RequestPlan("/target", response_bytes))
    return replace(made, limits=ample, transport=Transport(is_paced=False))


def think(seed: int) -> ConnectionPlan:
    return plan(
        seed, RequestPlan("/target", size(seed, 1_000, 10_000), think_us=whole(200_000, 900_000, seed, "think"))
    )


def burst_loss(seed: int) -> ConnectionPlan:
    strike = AimedLoss(TARGET_REQUEST, "middle", packets=whole(2, 4, seed, "packets"))
    return replace(plan(seed, RequestPlan("/target", size(seed, 20_000, 60_000))), strike=strike)


def tail_loss(seed: int) -> ConnectionPlan:
    strike = AimedLoss(TARGET_REQUEST, "tail", packets=whole(1, 3, seed, "packets"))
    return replace(plan(seed, RequestPlan("/target", size(seed, 5_000, 20_000))), strike=strike)


def blackout(seed: int) -> ConnectionPlan:
    strike = AimedLoss(TARGET_REQUEST, "blackout", duration_us=whole(400_000, 900_000, seed, "blackout"))
    return replace(plan(seed, RequestPlan("/target", size(seed, 30_000, 100_000))), strike=strike)


def stream_credit(seed: int) -> ConnectionPlan:
    limits = ClientLimits(stream_bytes=8_000, is_stream_held=True)
    return replace(plan(seed, RequestPlan("/target", size(seed, 60_000, 150_000))), limits=limits)


def connection_credit(seed: int) -> ConnectionPlan:
    limits = ClientLimits(connection_bytes=8_000, is_connection_held=True)
    return replace(plan(seed, RequestPlan("/target", size(seed, 60_000, 150_000))), limits=limits)


def small_window(seed: int) -> ConnectionPlan:
    way = path(seed, mbps=100, rtt_ms=between(120, 250, seed, "rtt"))
    transport = Transport(is_paced=False, cwnd_cap_bytes=12_000)
    return replace(plan(seed, RequestPlan("/target", size(seed, 80_000, 200_000)), way), transport=transport)


def small_window_beside(seed: int) -> ConnectionPlan:
    """Another stream has a little to send all the while: it often goes first when an acknowledgement opens the window,
    and costs next to nothing."""
    alone = small_window(seed)
    target = alone.turns[1].requests[0]
    beside = RequestPlan("/beside", 12_000, chunk_bytes=100, chunk_gap_us=whole(8_000, 15_000, seed, "beside"))
    return replace(alone, turns=(alone.turns[0], replace(alone.turns[1], requests=(target, beside))))


def slow_bottleneck(seed: int) -> ConnectionPlan:
    way = path(seed, mbps=between(1.0, 2.5, seed, "rate"), queue_bytes=2_000_000)
    return replace(
        plan(seed, RequestPlan("/target", size(seed, 150_000, 300_000)), way), transport=Transport(is_paced=False)
    )


def upload(seed: int) -> ConnectionPlan:
    way = path(seed)
    way = replace(way, up=replace(way.up, rate_bps=2_000_000))
    return plan(seed, RequestPlan("/target", 1_000, method="POST", request_bytes=size(seed, 80_000, 250_000)), way)


def client_pause(seed: int) -> ConnectionPlan:
    request = RequestPlan(
        "/target",
        size(seed, 1_000, 10_000),
        method="POST",
        request_bytes=whole(2_000, 20_000, seed, "body"),
        upload_pause_us=whole(300_000, 900_000, seed, "pause"),
    )
    return plan(seed, request)


def dribble(seed: int) -> ConnectionPlan:
    request = RequestPlan("/target", 24_000, chunk_bytes=3_000, chunk_gap_us=whole(50_000, 150_000, seed, "gap"))
    return plan(seed, request)


def competing(seed: int) -> ConnectionPlan:
    """Half of the senders are paced with a large window, half have an ordinary window and no pacer.

    The target is answered a millisecond after the others, so that it never gets ahead of them.
    """
    others = [
        RequestPlan(f"/other/{number}", whole(40_000, 90_000, seed, "other", number)) for number in range(COMPETITORS)
    ]
    target = RequestPlan("/target", size(seed, 15_000, 30_000), think_us=2_000)
    pace_bps = whole(4_000_000, 8_000_000, seed, "pace")
    paced = Transport(pace_bps=pace_bps, initial_window_bytes=MANY_BYTES)
    transport = choice((paced, Transport(is_paced=False)), seed, "transport")
    return replace(plan(seed, target, path(seed, mbps=80, queue_bytes=MANY_BYTES), *others), transport=transport)


def zero_rtt_amplification(seed: int) -> ConnectionPlan:
    """What the client sends next, with the end of its handshake, is lost: until it comes again, 3x is all there is."""
    way = path(seed)
    lost = Window(START_US + way.rtt_us // 2, START_US + 3 * way.rtt_us)
    request = RequestPlan("/target", size(seed, 5_000, 9_000), think_us=whole(200, 1_500, seed, "think"))
    return replace(
        plan(seed, request, replace(way, up=replace(way.up, blackouts=(lost,)))),
        turns=(Turn((request,)),),
        is_resumed=True,
    )


def paced(seed: int) -> ConnectionPlan:
    transport = Transport(pace_bps=whole(1_000_000, 3_000_000, seed, "pace"), initial_window_bytes=MANY_BYTES)
    return replace(plan(seed, RequestPlan("/target", size(seed, 80_000, 200_000))), transport=transport)


def client_gap(seed: int) -> ConnectionPlan:
    transport = Transport(is_paced=False, initial_window_bytes=MANY_BYTES)
    return replace(
        plan(seed, RequestPlan("/target", size(seed, 10_000, 40_000))),
        transport=transport,
        strike=AimedLoss(TARGET_REQUEST, "gap", packets=1),
    )
