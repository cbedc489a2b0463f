"""Named scenarios: one connection, a small request to warm it up, then the target request with exactly one cause."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from quiclens_lab.draws import between, skewed, whole
from quiclens_lab.path import LinkSpec, PathSpec
from quiclens_lab.plan import (
    ClientLimits,
    ConnectionPlan,
    Dimensions,
    RequestPlan,
    Strike,
    Transport,
    Turn,
)

WALL_START_US = 1_795_168_800_000_000  # 2026-11-20T10:00:00Z
TARGET_REQUEST = 1
TARGET_STREAM_ID = 4

HERE = Dimensions(
    server="edge-lab-01", cluster="edge-lab", pop="lab", carrier="Lab Line", asn=64511, country="SE",
    region="Stockholm", city="Stockholm", network_type="wifi", app_version="1.0.0", client_network="198.51.100.0/24",
)  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """What is injected into the target request, and which cause quiclens should name."""

    name: str
    cause: str
    says: str
    plan: Callable[[int], ConnectionPlan]


def _path(seed: int, mbps: float = 40, queue_bytes: int = 400_000, rtt_ms: float | None = None) -> PathSpec:
    delay_us = int((rtt_ms or between(30, 80, seed, "rtt")) * 500)
    return PathSpec(
        up=LinkSpec(rate_bps=20_000_000, delay_us=delay_us, queue_bytes=queue_bytes),
        down=LinkSpec(rate_bps=int(mbps * 1_000_000), delay_us=delay_us, queue_bytes=queue_bytes),
    )


def _plan(seed: int, target: RequestPlan, path: PathSpec | None = None) -> ConnectionPlan:
    warm_up = RequestPlan("/warm-up", 2_000, think_us=whole(300, 1_500, seed, "warm-up think"))
    return ConnectionPlan(
        seed=seed,
        wall_start_us=WALL_START_US + seed * 1_000_000,
        authority="www.lab.example",
        path=path or _path(seed),
        dimensions=HERE,
        turns=(Turn((warm_up,)), Turn((target,), gap_us=300_000)),
    )


def _size(seed: int, low: int, high: int) -> int:
    return int(skewed(low, high, seed, "size"))


def _clean(seed: int) -> ConnectionPlan:
    return _plan(seed, RequestPlan("/target", _size(seed, 1_000, 10_000), think_us=whole(200, 2_000, seed, "think")))


def _think(seed: int) -> ConnectionPlan:
    return _plan(
        seed, RequestPlan("/target", _size(seed, 1_000, 10_000), think_us=whole(200_000, 900_000, seed, "think"))
    )


def _burst_loss(seed: int) -> ConnectionPlan:
    strike = Strike(TARGET_REQUEST, "middle", packets=whole(2, 4, seed, "packets"))
    return replace(_plan(seed, RequestPlan("/target", _size(seed, 20_000, 60_000))), strike=strike)


def _tail_loss(seed: int) -> ConnectionPlan:
    strike = Strike(TARGET_REQUEST, "tail", packets=whole(1, 3, seed, "packets"))
    return replace(_plan(seed, RequestPlan("/target", _size(seed, 5_000, 20_000))), strike=strike)


def _blackout(seed: int) -> ConnectionPlan:
    strike = Strike(TARGET_REQUEST, "blackout", duration_us=whole(400_000, 900_000, seed, "blackout"))
    return replace(_plan(seed, RequestPlan("/target", _size(seed, 30_000, 100_000))), strike=strike)


def _stream_credit(seed: int) -> ConnectionPlan:
    limits = ClientLimits(stream_bytes=8_000, is_stream_held=True)
    return replace(_plan(seed, RequestPlan("/target", _size(seed, 60_000, 150_000))), limits=limits)


def _connection_credit(seed: int) -> ConnectionPlan:
    limits = ClientLimits(connection_bytes=8_000, is_connection_held=True)
    return replace(_plan(seed, RequestPlan("/target", _size(seed, 60_000, 150_000))), limits=limits)


def _small_window(seed: int) -> ConnectionPlan:
    path = _path(seed, mbps=100, rtt_ms=between(120, 250, seed, "rtt"))
    transport = Transport(is_paced=False, cwnd_cap_bytes=12_000)
    return replace(_plan(seed, RequestPlan("/target", _size(seed, 80_000, 200_000)), path), transport=transport)


def _slow_bottleneck(seed: int) -> ConnectionPlan:
    path = _path(seed, mbps=between(1.0, 2.5, seed, "rate"), queue_bytes=2_000_000)
    return replace(
        _plan(seed, RequestPlan("/target", _size(seed, 150_000, 300_000)), path), transport=Transport(is_paced=False)
    )


def _upload(seed: int) -> ConnectionPlan:
    path = _path(seed)
    path = replace(path, up=replace(path.up, rate_bps=2_000_000))
    request = RequestPlan("/target", 1_000, method="POST", request_bytes=_size(seed, 80_000, 250_000))
    return _plan(seed, request, path)


def _dribble(seed: int) -> ConnectionPlan:
    request = RequestPlan("/target", 24_000, chunk_bytes=3_000, chunk_gap_us=whole(50_000, 150_000, seed, "gap"))
    return _plan(seed, request)


SCENARIOS: tuple[Scenario, ...] = (
    Scenario("clean", "network", "nothing is injected", _clean),
    Scenario("think", "server_think", "the application takes 200-900 ms", _think),
    Scenario("burst_loss", "loss_recovery", "a few packets in the middle of the response are lost", _burst_loss),
    Scenario("tail_loss", "pto", "the last packets of the response are lost", _tail_loss),
    Scenario("blackout", "pto", "nothing gets through for 400-900 ms, in the middle of the response", _blackout),
    Scenario("stream_credit", "stream_flow_control", "the client holds each stream at 8 kB of credit", _stream_credit),
    Scenario("connection_credit", "connection_flow_control", "the client holds 8 kB in all", _connection_credit),
    Scenario("small_window", "cwnd_blocked", "a window of ten packets on a long fast path", _small_window),
    Scenario("slow_bottleneck", "bandwidth", "1-2.5 Mbit/s behind a deep queue", _slow_bottleneck),
    Scenario("upload", "upload", "a large body over a slow uplink", _upload),
    Scenario("dribble", "app_limited", "the server writes its answer in small pieces, with gaps", _dribble),
)


def scenario_named(name: str) -> Scenario | None:
    """The scenario of this name, or None."""
    return next((scenario for scenario in SCENARIOS if scenario.name == name), None)
