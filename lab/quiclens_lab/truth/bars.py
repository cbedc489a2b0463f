"""The bars: what each table must reach."""

from typing import Any

from quiclens_lab.bar import Bar

LEAST_INTERVALS = 400
"""Of one stack and cause; fewer do not tell whether they hold."""

Tables = dict[str, dict[str, Any]]


def bars_of(tables: Tables, slack: float = 0.0) -> list[Bar]:
    """Every bar of the tables that were made; shares and errors may miss it by the slack."""
    bars = []
    if injection := tables.get("injection"):
        bars.append(Bar("the injected cause is the top part", injection["share_right"], 0.95 - slack, True))
    if decisive := tables.get("decisive"):
        says = "the cause makes 40 % of the duration and is the top part"
        bars.append(Bar(says, decisive["share_right"], 0.97 - slack, True))
        for kind in ("pairs", "scripts"):
            bars += [
                Bar(f"{says}, {name}", of["share_right"], 0.90 - slack, True) for name, of in decisive[kind].items()
            ]
    if nothing := tables.get("nothing"):
        blamed = nothing["share_of_other_causes"]
        bars.append(Bar("nothing injected: time of causes that are ruled out", blamed, 0.02 + slack, False))
        worst = max((row["share_of_other_causes"] or 0.0 for row in nothing["rows"]), default=None)
        bars.append(Bar("the same, worst stack, size and condition", worst, 0.02 + slack, False))
    if savings := tables.get("counterfactual"):
        bars.append(Bar("median error of saves", savings["median_error"], 0.15 + slack, False))
        bars += _intervals(savings, slack)
    if order := tables.get("order"):
        bars.append(Bar("three causes in the right order", order["share_right"], 0.90, True))
    if percentiles := tables.get("p99"):
        bars.append(Bar("predicted p99, worst cause", percentiles["worst_p99_error"], 0.15, False))
    return bars + _consistency(tables["consistency"])


def _intervals(table: dict[str, Any], slack: float) -> list[Bar]:
    says = "95 % intervals of savings hold the true one"
    share, width = table["share_in_interval"], table["median_half_width"]
    bars = [Bar(says, share, 0.94 - slack, True), Bar(f"{says}, not too often", share, 0.98 + slack, False)]
    bars.append(Bar("intervals of savings: median half-width, of the saving", width, 0.30, False))
    return bars + [
        Bar(f"{says}, {name}", of["share_in_interval"], 0.93 - slack, True)
        for name, of in table["stacks_and_causes"].items()
        if of["intervals"] >= LEAST_INTERVALS
    ]


def _consistency(table: dict[str, Any]) -> list[Bar]:
    wrong = table["parts_do_not_sum"] + table["duration_is_not_end_minus_start"] + table["parts_below_zero"]
    unattributed = table["unattributed_of_slowest"]
    over = sum(table["network_above_one_round_trip"].values())
    bars = [
        Bar("rows whose parts do not sum to the duration", wrong, 0, False),
        Bar("targets without a complete row", _missing(table), 0, False),
        Bar("rows with more network than one round trip", over, 0, False),
    ]
    if unattributed["overall"] is not None:
        says = "unattributed of the slowest 5 %"
        bars.append(Bar(says, unattributed["overall"], 0.05, False))
        bars += [
            Bar(f"{says}, {vantage}", share, 0.05, False)
            for vantage, share in unattributed["by_vantage"].items()
            if share is not None
        ]
        bars.append(Bar(f"{says}, worst scenario", unattributed["worst_scenario"], 0.05, False))
    return bars


def _missing(table: dict[str, Any]) -> int:
    return int(table["runs_without_target_row"] + table["targets_incomplete"])
