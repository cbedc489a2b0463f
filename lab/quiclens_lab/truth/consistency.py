"""Table of promises that hold for every row: sums, marks, the bound of `network`, and how much is left unattributed."""

from collections.abc import Iterable, Sequence
from typing import Any

from quiclens_lab.truth.quantiles import quantile, share_of
from quiclens_lab.truth.samples import Judged, Row

SLOWEST_SHARE = 0.05
VANTAGES = ("server", "client")


def consistency_table(judged: Sequence[Judged]) -> dict[str, Any]:
    """Check every row of every run, then the times of the targets."""
    rows = [row for each in judged for row in each.rows]
    wrong_sums = [row for row in rows if sum(row.parts.values()) != row.duration_us]
    return {
        "rows": len(rows),
        "runs_without_target_row": sum(each.row is None for each in judged),
        "targets_incomplete": sum(each.row is not None and not each.row.is_complete for each in judged),
        "parts_do_not_sum": len(wrong_sums),
        "duration_is_not_end_minus_start": sum(row.duration_us != row.end_us - row.start_us for row in rows),
        "parts_below_zero": sum(min(row.parts.values()) < 0 for row in rows),
        "network_above_one_round_trip": _over_a_round_trip(rows),
        "duration_error": _duration_errors(judged),
        "unattributed_of_slowest": unattributed(judged),
    }


def _over_a_round_trip(rows: Iterable[Row]) -> dict[str, int]:
    """Rows whose `network` is more than one minimum round trip, by vantage; without a minimum none can be shown."""
    over = [row for row in rows if row.parts["network"] > (row.min_rtt_us if row.min_rtt_us is not None else 0)]
    return {vantage: sum(row.vantage == vantage for row in over) for vantage in VANTAGES}


def _duration_errors(judged: Iterable[Judged]) -> dict[str, Any]:
    """The server's durations against the simulation's own marks, in microseconds."""
    errors = [
        abs(row.duration_us - each.marked_us)
        for each in judged
        if each.marked_us is not None and (row := each.row_of("server")) is not None
    ]
    return {"runs": len(errors), "p50_us": quantile(errors, 0.5), "max_us": max(errors, default=None)}


def unattributed(judged: Iterable[Judged]) -> dict[str, Any]:
    """The share without a cause of the slowest twentieth's time: overall, by vantage and by scenario."""
    targets = [
        (f"{each.sample.stack} {each.sample.scenario}", row)
        for each in judged
        for vantage in VANTAGES
        if each.sample.group == "scenario" and (row := each.row_of(vantage)) is not None
    ]
    groups: dict[str, list[Row]] = {}
    for scenario, row in targets:
        groups.setdefault(f"{scenario} {row.vantage}", []).append(row)
    by_scenario = {name: share_of_slowest(rows) or 0.0 for name, rows in groups.items()}
    return {
        "overall": share_of_slowest([row for _, row in targets]),
        "by_vantage": {
            vantage: share_of_slowest([row for _, row in targets if row.vantage == vantage]) for vantage in VANTAGES
        },
        "by_scenario": by_scenario,
        "worst_scenario": max(by_scenario.values(), default=None),
    }


def share_of_slowest(rows: Sequence[Row]) -> float | None:
    """`unattributed` in the time of the slowest rows."""
    count = max(1, round(len(rows) * SLOWEST_SHARE))
    slowest = sorted(rows, key=lambda row: row.duration_us, reverse=True)[:count]
    return share_of(sum(row.parts["unattributed"] for row in slowest), sum(row.duration_us for row in slowest))
