"""Named scenarios: one connection whose target request has exactly one cause, and the same one without it."""

from dataclasses import dataclass
from functools import partial

from quiclens_lab import removals
from quiclens_lab import scenario_plans as plans
from quiclens_lab.plan import ConnectionPlan
from quiclens_lab.removals import Removal
from quiclens_lab.scenario_plans import MakePlan

TARGET_STREAM_ID = 4


@dataclass(frozen=True)
class Scenario:
    """What is injected into the target request, which cause quiclens should name, and in whose trace."""

    name: str
    cause: str
    says: str
    plan: MakePlan
    removal: Removal
    vantage: str = "server"
    stream_id: int = TARGET_STREAM_ID

    def without(self, seed: int) -> ConnectionPlan:
        """The same plan with the cause absent."""
        return self.removal(self.plan(seed))


SCENARIOS: tuple[Scenario, ...] = (
    Scenario("clean", "network", "nothing is injected", plans.clean, removals.nothing),
    Scenario("think", "server_think", "the application takes 200-900 ms", plans.think, removals.think),
    Scenario(
        "burst_loss", "loss_recovery", "a few packets in the middle of the response are lost", plans.burst_loss,
        removals.strike,
    ),
    Scenario("tail_loss", "pto", "the last packets of the response are lost", plans.tail_loss, removals.strike),
    Scenario(
        "blackout", "pto", "nothing gets through for 400-900 ms, in the middle of the response", plans.blackout,
        removals.strike,
    ),
    Scenario(
        "stream_credit", "stream_flow_control", "the client holds each stream at 8 kB of credit", plans.stream_credit,
        removals.credit,
    ),
    Scenario(
        "connection_credit", "connection_flow_control", "the client holds 8 kB in all", plans.connection_credit,
        removals.credit,
    ),
    Scenario(
        "small_window", "cwnd_blocked", "a window of ten packets on a long fast path", plans.small_window,
        removals.window,
    ),
    Scenario(
        "small_window_beside", "cwnd_blocked", "the same, while another stream sends a little all the time",
        plans.small_window_beside, removals.window,
    ),
    Scenario(
        "slow_bottleneck", "bandwidth", "1-2.5 Mbit/s behind a deep queue", plans.slow_bottleneck, removals.bottleneck
    ),
    Scenario("upload", "upload", "a large body over a slow uplink", plans.upload, removals.body),
    Scenario(
        "client_pause", "upload", "the client stops for 300-900 ms in the middle of its body", plans.client_pause,
        removals.body,
    ),
    Scenario(
        "dribble", "app_limited", "the server writes its answer in small pieces, with gaps", plans.dribble,
        removals.pieces,
    ),
    Scenario(
        "competing", "scheduling", "ten larger responses are sent on other streams at the same time", plans.competing,
        removals.competitors,
    ),
    Scenario(
        "zero_rtt_amplification", "amplification", "a 0-RTT request whose client is late to prove its address",
        plans.zero_rtt_amplification, removals.amplification, stream_id=0,
    ),
    Scenario("paced", "pacing", "a pacer far slower than the path, with a large window", plans.paced, removals.pace),
    Scenario(
        "client_gap", "receiver_hol", "an early packet and its first repair are lost, all later bytes are there",
        plans.client_gap, removals.strike, vantage="client",
    ),
)  # fmt: skip


def scenario_named(name: str) -> Scenario | None:
    """The scenario of this name, or None."""
    return next((scenario for scenario in SCENARIOS if scenario.name == name), None)


CLEAN_SIZES: tuple[Scenario, ...] = tuple(
    Scenario(f"clean_{name}", "network", "nothing is injected", partial(plans.clean_of, bytes_), removals.nothing)
    for name, bytes_ in (("10k", 10_000), ("200k", 200_000), ("2m", 2_000_000))
)
"""Nothing injected, by the size of the response: judged by what the path rules out."""
