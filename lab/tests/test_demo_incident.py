"""The demo's incident: whom it strikes and since when, and that the rest is the demo without it."""

from dataclasses import replace

from quiclens_lab.demo_incident import BEGINS_US, BURST, CARRIER, LOSS_RATE, MOVED, SERVER, with_incident
from quiclens_lab.plan import ConnectionPlan
from quiclens_lab.population import population
from quiclens_lab.scenario_plans import WALL_START_US

PLANS = population(400, seed=1)


def is_struck(plan: ConnectionPlan) -> bool:
    return (plan.path.down.loss_rate, plan.path.down.burst) == (LOSS_RATE, BURST)


def test_one_carrier_on_one_server_is_struck_from_one_moment_on() -> None:
    plans = with_incident(PLANS, 1)
    assert plans == sorted(plans, key=lambda plan: plan.wall_start_us) and len(plans) == 400 + 400 // MOVED
    for plan in plans:
        is_met = (plan.dimensions.carrier, plan.dimensions.server) == (CARRIER, SERVER)
        assert is_struck(plan) == (is_met and plan.wall_start_us - WALL_START_US >= BEGINS_US)
    assert sum(map(is_struck, plans)) > 40


def test_others_are_as_they_were_and_some_of_the_place_come_to_the_server() -> None:
    plans = with_incident(PLANS, 1)
    of_seed = {plan.seed: plan for plan in PLANS}
    known = [plan for plan in plans if plan.seed in of_seed]
    assert len(known) == len(PLANS)
    for plan in known:
        assert plan == of_seed[plan.seed] or plan == replace(of_seed[plan.seed], path=plan.path, strike=None)
    moved = [plan for plan in plans if plan.seed not in of_seed]
    assert {(plan.dimensions.server, plan.dimensions.pop) for plan in moved} == {(SERVER, "fra")}
    assert len({plan.dimensions.carrier for plan in moved}) == 2


def test_it_depends_on_the_seed_alone() -> None:
    assert with_incident(PLANS, 1) == with_incident(PLANS, 1) != with_incident(PLANS, 2)
