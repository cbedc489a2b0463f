"""Losses aimed at one response: a first run shows when its packets leave, a second run loses exactly those.

A gap is aimed twice: the second run shows when the lost packet is repaired, a third one loses the repair too.

Runs are repeatable and losses are bins of time, so up to the strike the second run is the first one again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from quiclens_lab.aioquic_pair import ConnectionRun, simulate
from quiclens_lab.errors import LabError
from quiclens_lab.path import Window
from quiclens_lab.plan import AimedLoss, ConnectionPlan

GAP_PACKET = 1  # of the response's packets, the one that is lost with its first repair


@dataclass(frozen=True)
class Departure:
    """A packet with data of the response left the bottleneck; `offset` is that of its first byte."""

    time_us: int
    offset: int


def run_plan(plan: ConnectionPlan, with_client_trace: bool = True) -> ConnectionRun:
    """Simulate a plan; with a strike in it, simulate first without and then with the loss."""
    if plan.strike is None:
        return simulate(plan, with_client_trace)
    departures = response_departures(
        simulate(replace(plan, strike=None), with_client_trace=False), plan.strike.request_number
    )
    hit = struck(plan, aim(plan.strike, [each.time_us for each in departures]))
    if plan.strike.place == "gap":
        hit = _struck_again(plan, hit, departures)
    return simulate(hit, with_client_trace)


def _struck_again(plan: ConnectionPlan, hit: ConnectionPlan, departures: Sequence[Departure]) -> ConnectionPlan:
    """Lose the first repair of the gap as well."""
    assert plan.strike is not None
    lost = departures[GAP_PACKET]
    later = response_departures(simulate(hit, with_client_trace=False), plan.strike.request_number)
    repair = next((each for each in later if each.offset == lost.offset and each.time_us > lost.time_us), None)
    if repair is None:
        raise LabError(f"the gap in request {plan.strike.request_number} was never repaired")
    return struck(replace(hit, strike=plan.strike), Window(repair.time_us, repair.time_us + 1))


def struck(plan: ConnectionPlan, window: Window) -> ConnectionPlan:
    """The plan with a blackout; one that lasts hits both directions, one of a few packets only the responses."""
    assert plan.strike is not None
    down = replace(plan.path.down, blackouts=(*plan.path.down.blackouts, window))
    up = plan.path.up
    if plan.strike.place == "blackout":
        up = replace(up, blackouts=(*up.blackouts, window))
    return replace(plan, strike=None, path=replace(plan.path, up=up, down=down))


def aim(strike: AimedLoss, departures_us: Sequence[int]) -> Window:
    """Choose the stretch of time to lose, from when the response's packets leave the bottleneck."""
    if not departures_us:
        raise LabError(f"request {strike.request_number} has no response to aim at")
    if strike.place == "gap":
        at_us = departures_us[min(GAP_PACKET, len(departures_us) - 1)]
        return Window(at_us, at_us + 1)
    middle = max(0, min(len(departures_us) // 2, len(departures_us) - strike.packets - 4))
    if strike.place == "blackout":
        return Window(departures_us[middle], departures_us[middle] + strike.duration_us)
    hit = departures_us[-strike.packets :] if strike.place == "tail" else departures_us[middle:][: strike.packets]
    return Window(hit[0], hit[-1] + 1)


def response_departures(run: ConnectionRun, request_number: int) -> list[Departure]:
    """When each packet with data of this response left the bottleneck.

    After the handshake one datagram holds one packet, so packets and departures are matched from the end.
    """
    stream_id = next((each.stream_id for each in run.exchanges if each.number == request_number), None)
    events = run.server.trace.to_dict()["events"]
    packets = [event["data"] for event in events if event["name"].endswith(":packet_sent")]
    departures = run.server.departures_us
    offset = len(departures) - len(packets)
    found = []
    for number, packet in enumerate(packets):
        frames = packet["frames"] if packet["header"]["packet_type"] == "1RTT" else ()
        for frame in frames:
            if frame["frame_type"] == "stream" and frame["stream_id"] == stream_id and frame["length"] + frame["fin"]:
                found.append(Departure(departures[number + offset], frame["offset"]))
                break
    return found
