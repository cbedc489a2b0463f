"""`report events`: figures that only events have, of all connections though the events of some alone were kept."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.connections import by_time
from quiclens_questions.failure import CannotRun
from quiclens_questions.report import GROUPS_AT_MOST, Report, ReportQuestion
from quiclens_questions.slow import report_coverage
from quiclens_questions.statements import ask
from quiclens_questions.statistics.estimates import Estimate
from quiclens_questions.statistics.kept import Chances, Kept, ratio, total

# Places in the sums of event_sums.sql.
EVENTS, BYTES_SENT, PACKETS_SENT, PACKETS_LOST, RTT_US, RTT_SAMPLES = range(6)
_TOTALS = (("events", "", EVENTS), ("bytes_sent", "B", BYTES_SENT), ("packets_sent", "", PACKETS_SENT))
# Name, unit, over, under, decimals.
_RATIOS = (("packets_lost", "share", PACKETS_LOST, PACKETS_SENT, 6), ("rtt_mean", "us", RTT_US, RTT_SAMPLES, None))
_CONNECTIONS_AT_MOST = 1_000_000

Row = dict[str, Any]


def events(store: Store, asked: ReportQuestion) -> Report:
    """One row per figure and group, with its 95 % interval and the connections whose events it stands on."""
    groups = ask(store, "event_reach", {**asked.parameters, "limit": GROUPS_AT_MOST}, asked.where, asked.by).dicts()
    some = groups[0] if groups else {"groups": 0, "kept_of_all": 0}
    by_key = {tuple(group["by_values"]): group for group in groups}
    groups = [by_key[key] for key in by_time(list(by_key), asked.by)]
    sums = kept(store, asked)
    columns = (("figure", ""), ("unit", ""), ("value", ""), ("low", ""), ("high", ""), ("samples", ""))
    return Report(
        name="events",
        params=asked.params,
        columns=(*asked.by_columns, *columns),
        rows=[
            [*group["by_values"], *cells]
            for group in groups
            for cells in _figures(group, sums.get(group["by_key"], []))
        ],
        samples=some["kept_of_all"],
        groups=some["groups"],
        groups_shown=len(groups),
        coverage=report_coverage(store, asked.where, asked.window),
    )


def kept(store: Store, asked: ReportQuestion) -> dict[str, list[Kept]]:
    """What the kept events of each group sum up to. More than can be held is an error, never a part of them."""
    parameters = {**asked.parameters, "limit": _CONNECTIONS_AT_MOST}
    rows = ask(store, "event_sums", parameters, asked.where, asked.by).rows
    if len(rows) >= _CONNECTIONS_AT_MOST:
        raise CannotRun("too_many_connections", "too many connections at once", "ask for less with --since or --where")
    found: dict[str, list[Kept]] = defaultdict(list)
    for by_key, weight, sums in rows:
        found[by_key].append(Kept(weight, sums))
    return found


def _figures(group: Row, sums: list[Kept]) -> Iterator[list[Any]]:
    chances = Chances(group["chances"], bool(group["is_all"]))
    yield ["connections", "", group["connections"], None, None, group["kept"]]
    yield ["connections_out_of_reach", "", group["out_of_reach"], None, None, group["kept"]]
    for name, unit, figure in _TOTALS:
        yield _cells(name, unit, total(sums, figure, chances), None, group["kept"])
    for name, unit, over, under, digits in _RATIOS:
        yield _cells(name, unit, ratio(sums, over, under, chances), digits, group["kept"])


def _cells(name: str, unit: str, found: Estimate, digits: int | None, samples: int) -> list[Any]:
    value, low, high = found.rounded(digits)
    return [name, unit, value, None if low is None else max(low, 0), high, samples]
