"""Table of runs in which nothing is injected: how much of their time goes to causes that the lab rules out?"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from quiclens_schema.catalogue import CAUSES

from quiclens_lab.truth.quantiles import share_of
from quiclens_lab.truth.samples import Judged, Row, Sample

CLEAN = "clean"
OF_A_WINDOW = ("cwnd_blocked", "pacing")
"""Every stack's window and pacer hold back what does not fit into the first window; some pace that too."""
AT_A_CLIENT = ("remote_wait", "receiving")
"""What a client sees of a server that thinks, and of datagrams that come one by one."""
SMALL = ("clean", "clean_10k")
"""What fits into a first window of ten packets."""
PACED_STACKS = ("noq", "tquic")


def is_clean(sample: Sample) -> bool:
    """Whether nothing is injected into it."""
    return sample.scenario == CLEAN or sample.scenario.startswith(f"{CLEAN}_")


def possible(sample: Sample) -> set[str]:
    """The causes that the lab does not rule out for a clean run; all others had no time of it.

    Losses and probes only where the path lost something, the path's rate only where its bottleneck was busy for a round
    trip on end. A run that does not say what its path did lost nothing and was never busy.
    """
    found = {"network", "queueing", "server_think"}
    if sample.vantage == "client":
        found.update(AT_A_CLIENT)
    if sample.stack in PACED_STACKS or sample.scenario not in SMALL:
        found.update(OF_A_WINDOW)
    if sample.path is not None and sample.path.lost > 0:
        found.update(("loss_recovery", "pto"))
    if sample.path is not None and sample.path.busy_us >= sample.path.rtt_us:
        found.add("bandwidth")
    return found


def nothing_table(judged: Sequence[Judged]) -> dict[str, Any]:
    """The share of time of causes that are ruled out: overall, and by stack, scenario, script and condition."""
    runs = [each for each in judged if each.sample.group == "scenario" and is_clean(each.sample)]
    found = [(each, each.row) for each in runs if each.sample.variant == "with"]
    rows = [(each, row) for each, row in found if row is not None and row.is_complete]
    places = dict.fromkeys(map(_place, runs))
    blamed = _blamed(rows)
    time_us = sum(row.duration_us for _, row in rows)
    return {
        "runs": len(runs),
        "missing": len(runs) - len(rows),
        "share_of_other_causes": share_of(sum(blamed.values()), time_us),
        "worst_run": max((_share_blamed([(each, row)]) or 0.0 for each, row in rows), default=None),
        "causes": {cause: share_of(part, time_us) for cause, part in blamed.most_common() if part},
        "rows": [_figures(place, [each for each in rows if _place(each[0]) == place]) for place in places],
    }


def _place(each: Judged) -> tuple[str, str, str, str, str]:
    of = each.sample
    return (of.stack, of.controller, of.scenario, of.script, of.condition)


def _figures(place: tuple[str, str, str, str, str], rows: Sequence[tuple[Judged, Row]]) -> dict[str, Any]:
    time_us = sum(row.duration_us for _, row in rows)
    names = ("stack", "controller", "scenario", "script", "condition")
    return {
        **dict(zip(names, place, strict=True)),
        "runs": len(rows),
        "share_of_other_causes": _share_blamed(rows),
        "causes": {cause: share_of(part, time_us) for cause, part in _blamed(rows).most_common() if part},
    }


def _blamed(rows: Sequence[tuple[Judged, Row]]) -> Counter[str]:
    """The time of causes that cannot have been there."""
    blamed = Counter[str]()
    for each, row in rows:
        blamed.update({cause: row.parts[cause] for cause in CAUSES if cause not in possible(each.sample)})
    return blamed


def _share_blamed(rows: Sequence[tuple[Judged, Row]]) -> float | None:
    return share_of(sum(_blamed(rows).values()), sum(row.duration_us for _, row in rows))
