"""What is simulated for each table: scenarios, three causes at once, and populations with and without one cause."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from quiclens_lab import removals
from quiclens_lab.draws import digest, fraction, skewed
from quiclens_lab.path import CONSTANT, LinkSpec, PathSpec
from quiclens_lab.plan import AimedLoss, ConnectionPlan, RequestPlan, Transport
from quiclens_lab.scenario_plans import MANY_BYTES, TARGET_REQUEST, path, plan, size
from quiclens_lab.scenarios import TARGET_STREAM_ID, Scenario
from quiclens_lab.truth.injectors import INJECTORS, Injector
from quiclens_lab.truth.nothing import is_clean
from quiclens_lab.truth.samples import LATE_TIMERS, Job, Sample

STACK = "aioquic"
COMBINATIONS = (
    ("think", "stream_credit", "tail_loss"),
    ("think", "pause", "burst_loss"),
    ("think", "pause", "blackout"),
    ("think", "small_window", "tail_loss"),
    ("think", "slow_bottleneck", "blackout"),
    ("think", "dribble", "blackout"),
    ("pause", "dribble", "tail_loss"),
    ("pause", "connection_credit", "blackout"),
)
POPULATION_CAUSES = ("think", "pause", "dribble", "stream_credit", "blackout", "slow_bottleneck")
INJECTED_SHARE = 0.3
STRUCK_SHARE = 0.15
POPULATION_SEED = 20_000
UNHINDERED = Transport(is_paced=False, initial_window_bytes=MANY_BYTES)
ORDINARY = Transport(is_paced=False)  # a window that grows: all at once would only fill the queue of a slow path
NOBODY = "nobody"  # the scenario name of a population's members without any injection


@dataclass(frozen=True)
class Way:
    """What a scenario's runs have in common that is not of the scenario."""

    controller: str = "reno"
    script: str = CONSTANT
    condition: str = ""

    def of(self, plan: ConnectionPlan) -> ConnectionPlan:
        """The plan with all of it, but for sizes without the tag: those are the log's alone."""
        return replace(
            plan,
            transport=replace(plan.transport, congestion_controller=self.controller),
            path=replace(plan.path, script=self.script),
            has_late_timers=LATE_TIMERS in self.condition.split(),
        )


USUAL = Way()


def scenario_jobs(
    scenarios: Sequence[Scenario], seeds: range, with_comparison: bool, way: Way = USUAL
) -> Iterator[Job]:
    """Each scenario with its cause and, for the comparison, without it; nothing can be taken out of a clean run."""
    for scenario in scenarios:
        for seed in seeds:
            sample = Sample(
                "scenario", STACK, scenario.name, scenario.cause, scenario.vantage, seed, "with", scenario.stream_id,
                controller=way.controller, script=way.script, condition=way.condition,
            )  # fmt: skip
            yield Job(sample, way.of(scenario.plan(seed)))
            if with_comparison and not is_clean(sample):
                yield Job(replace(sample, variant="without"), way.of(scenario.without(seed)))


def three_jobs(seeds: int) -> Iterator[Job]:
    """Each combination with all of its causes, then without each one."""
    for names in COMBINATIONS:
        injectors = [INJECTORS[name] for name in names]
        transport = ORDINARY if "slow_bottleneck" in names else UNHINDERED
        for seed in range(1, max(1, seeds // 4) + 1):
            sample = Sample("three", STACK, "+".join(names), "", "server", seed, "with", TARGET_STREAM_ID)
            yield Job(sample, three_plan(injectors, seed, transport))
            for left_out in injectors:
                others = [each for each in injectors if each is not left_out]
                without = replace(sample, variant="without", cause=left_out.cause)
                yield Job(without, three_plan(others, seed, transport))


def three_plan(injectors: Sequence[Injector], seed: int, transport: Transport) -> ConnectionPlan:
    """A request that only the given causes hold back; two such plans differ in their causes alone."""
    made = plan(seed, RequestPlan("/target", size(seed, 30_000, 120_000)), path(seed, 100, MANY_BYTES))
    made = replace(made, transport=transport)
    for injector in injectors:
        made = injector.inject(made, seed)
    return made


def population_jobs(seeds: int) -> Iterator[Job]:
    """A population of ordinary requests, then, for each cause, those members again that have it.

    Every request thinks, so without think time all members are others.
    """
    members = range(2 * seeds)
    for number in members:
        yield Job(_member(NOBODY, "", number, "without"), member_plan(number))
    for name in POPULATION_CAUSES:
        injector = INJECTORS[name]
        for number in members:
            if is_injected(name, number):
                yield Job(_member(name, injector.cause, number, "with"), injector.inject(member_plan(number), number))
    for number in members:
        thoughtless = removals.think(member_plan(number))
        yield Job(_member("think", INJECTORS["think"].cause, number, "without"), thoughtless)


def _member(scenario: str, cause: str, number: int, variant: str) -> Sample:
    return Sample("population", STACK, scenario, cause, "server", number, variant, TARGET_STREAM_ID)


def is_injected(name: str, number: int) -> bool:
    """Whether this member of the population has the cause of this name."""
    return fraction(POPULATION_SEED, "injected", name, number) < INJECTED_SHARE


def member_plan(number: int) -> ConnectionPlan:
    """An ordinary request: some are large or far away, all think, some lose a few packets in the middle.

    Nothing in it is of a cause that is taken out, but for think time; a request has one strike at most.
    """
    seed = int.from_bytes(digest(POPULATION_SEED, "member", number, size=6), "big")
    delay_us = int(skewed(7_500, 75_000, seed, "delay"))
    way = PathSpec(
        up=LinkSpec(10_000_000, delay_us, 400_000),
        down=LinkSpec(int(skewed(20_000_000, 100_000_000, seed, "rate")), delay_us, 400_000),
    )
    think_us = int(skewed(500, 120_000, seed, "think"))
    made = plan(number, RequestPlan("/target", int(skewed(4_000, 150_000, seed, "size")), think_us=think_us), way)
    is_struck = fraction(seed, "struck") < STRUCK_SHARE and not is_injected("blackout", number)
    return replace(made, seed=seed, strike=AimedLoss(TARGET_REQUEST, "middle", packets=2) if is_struck else None)
