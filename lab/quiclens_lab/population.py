"""The demo's traffic: six carriers, fifty minutes, most requests quick and some slow for a known cause."""

from quiclens_lab.draws import between, choice, digest, fraction, skewed, weighted, whole
from quiclens_lab.networks import CARRIERS, Carrier, Place
from quiclens_lab.path import LinkSpec, PathSpec, Window
from quiclens_lab.plan import AimedLoss, ClientLimits, ConnectionPlan, Dimensions, RequestPlan, Transport, Turn
from quiclens_lab.scenario_plans import WALL_START_US

SPREAD_US = 50 * 60 * 1_000_000
SMALL_CREDIT_VERSION = "5.11.4"  # this release of the app asks for far too little credit
APP_VERSIONS = ((0.6, "5.13.0"), (0.3, "5.12.1"), (0.1, SMALL_CREDIT_VERSION))
THINK_SHARE = 0.06
UNREACHABLE_SHARE = 0.02  # what the server sends never arrives: a handshake that fails
FOREVER = Window(0, 1 << 60)


def population(connections: int, seed: int) -> list[ConnectionPlan]:
    """The plans of a demo, by start time; each depends on the seed and its own number only."""
    return [connection_plan(number, connections, seed) for number in range(connections)]


def connection_plan(number: int, connections: int, demo_seed: int) -> ConnectionPlan:
    """One client's connection."""
    seed = int.from_bytes(digest(demo_seed, "connection", number, size=7), "big")
    carrier = weighted([(each.weight, each) for each in CARRIERS], seed, "carrier")
    place = choice(carrier.places, seed, "place")
    app_version = weighted(APP_VERSIONS, seed, "app version")
    turns = _turns(seed, carrier)
    slot_us = SPREAD_US // max(connections, 1)
    return ConnectionPlan(
        seed=seed,
        wall_start_us=WALL_START_US + number * slot_us + int(between(0, slot_us, seed, "start")),
        authority=choice(("www.shop.example", "m.shop.example"), seed, "authority"),
        path=_path(seed, carrier, place),
        dimensions=_dimensions(seed, carrier, place, app_version),
        turns=turns,
        limits=_limits(app_version),
        transport=_transport(seed, place),
        strike=_strike(seed, carrier, turns),
        is_closed_by_client=fraction(seed, "closed") < 0.8,
        client_skew_us=int(between(-20_000, 20_000, seed, "skew")),
    )


def _path(seed: int, carrier: Carrier, place: Place) -> PathSpec:
    delay_us = int((between(*carrier.rtt_ms, seed, "rtt") + place.extra_rtt_ms) * 500)
    return PathSpec(
        up=LinkSpec(int(carrier.up_mbps * 1_000_000), delay_us, carrier.queue_bytes, carrier.loss_rate / 2),
        down=LinkSpec(
            rate_bps=int(between(*carrier.down_mbps, seed, "rate") * 1_000_000),
            delay_us=delay_us,
            queue_bytes=carrier.queue_bytes,
            loss_rate=carrier.loss_rate,
            burst=carrier.burst,
            blackouts=(FOREVER,) if _is_unreachable(seed) else (),
        ),
    )


def _is_unreachable(seed: int) -> bool:
    return fraction(seed, "unreachable") < UNREACHABLE_SHARE


def _dimensions(seed: int, carrier: Carrier, place: Place, app_version: str) -> Dimensions:
    return Dimensions(
        server=f"edge-{place.pop}-{whole(1, 3, seed, 'server'):02d}",
        cluster=place.cluster,
        pop=place.pop,
        carrier=carrier.name,
        asn=carrier.asn,
        country=place.country,
        region=place.region,
        city=place.city,
        network_type=carrier.network_type,
        app_version=app_version,
        h3_cell=choice(place.h3_cells, seed, "cell"),
        client_network=carrier.client_network,
    )


def _limits(app_version: str) -> ClientLimits:
    if app_version == SMALL_CREDIT_VERSION:
        return ClientLimits(stream_bytes=16_000, is_stream_held=True)
    return ClientLimits()


def _transport(seed: int, place: Place) -> Transport:
    controller = "cubic" if place.cluster == "edge-us" else choice(("reno", "cubic"), seed, "controller")
    return Transport(congestion_controller=controller, is_paced=place.cluster == "edge-sa")


def _strike(seed: int, carrier: Carrier, turns: tuple[Turn, ...]) -> AimedLoss | None:
    """A tunnel or a lost tail, aimed at the largest response of the connection."""
    if _is_unreachable(seed):
        return None
    requests = [request for turn in turns for request in turn.requests]
    target = max(range(len(requests)), key=lambda number: requests[number].response_bytes)
    drawn = fraction(seed, "strike")
    if drawn < carrier.blackout_share:
        return AimedLoss(target, "blackout", duration_us=whole(300_000, 800_000, seed, "blackout"))
    if drawn < carrier.blackout_share + carrier.tail_loss_share:
        return AimedLoss(target, "tail", packets=whole(1, 3, seed, "tail"))
    return None


def _turns(seed: int, carrier: Carrier) -> tuple[Turn, ...]:
    wanted = whole(2, 8, seed, "requests")
    turns: list[Turn] = []
    made = 0
    while made < wanted:
        together = min(wanted - made, weighted(((0.75, 1), (0.15, 2), (0.1, 3)), seed, "together", made))
        requests = tuple(_request(seed, made + each, carrier) for each in range(together))
        gap_us = int(skewed(5_000, 4_000_000, seed, "gap", made)) if made else 0
        turns.append(Turn(requests, gap_us))
        made += together
    return tuple(turns)


def _request(seed: int, number: int, carrier: Carrier) -> RequestPlan:
    kind = weighted(((0.5, "api"), (0.34, "image"), (0.03, "video"), (0.07, "checkout"), (0.06, "feed")), seed, number)
    quick_us = int(skewed(300, 12_000, seed, "quick", number))
    slow_us = whole(200_000, 900_000, seed, "slow", number)
    think_us = slow_us if fraction(seed, "is slow", number) < THINK_SHARE else quick_us
    if kind == "image":
        return RequestPlan(f"/img/{whole(1, 40, seed, 'image', number)}.avif", _bytes(seed, number, 15, 150), quick_us)
    if kind == "video" and carrier.down_mbps[1] > 10:
        return RequestPlan(f"/video/segment-{number}.m4s", whole(400_000, 520_000, seed, "video", number), quick_us)
    if kind == "checkout":
        body = _bytes(seed, number, 1, 60)
        return RequestPlan("/api/checkout", _bytes(seed, number, 1, 4), think_us, method="POST", request_bytes=body)
    if kind == "feed":
        gap_us = whole(15_000, 90_000, seed, "feed gap", number)
        return RequestPlan("/api/feed", 20_000, quick_us, chunk_bytes=5_000, chunk_gap_us=gap_us)
    path = choice(("/api/search", "/api/cart", "/api/home"), seed, "path", number)
    status = weighted(((0.97, 200), (0.02, 404), (0.01, 503)), seed, "status", number)
    return RequestPlan(path, _bytes(seed, number, 3, 60), think_us, status=status)


def _bytes(seed: int, number: int, low_kb: float, high_kb: float) -> int:
    return int(skewed(low_kb * 1000, high_kb * 1000, seed, "bytes", number))
