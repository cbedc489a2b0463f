"""`report closes`: how connections ended, by reason, code and who closed, with idle timeouts, resets and errors.

Facebook's operators asked (2018) whether timeouts are dead connections or misrouted packets, cluster by cluster.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.clustered import NOTHING_SHARED, Key, Shared, shares
from quiclens_questions.connections import by_time
from quiclens_questions.report import GROUPS_AT_MOST, Report, ReportQuestion
from quiclens_questions.slow import report_coverage
from quiclens_questions.statements import ask, together

WAYS_AT_MOST = 30
"""Ways to end that have a row of their own. Whoever closes may write any reason: as many as connections."""
_OF_ALL = ("closes_logged", "idle_timeouts", "stateless_resets", "errors")
_ENDED_BY, _OTHERWISE = "ended_by", "ended_otherwise"

_Way = tuple[str, str, str]
"""Reason, code, and who closed."""
_Ends = Mapping[int, Shared]
"""Of one group, by the place of the figure in closes.sql, from 1 on."""


def closes(store: Store, asked: ReportQuestion) -> Report:
    """One row per figure and group, and one for each way in which its connections ended: their share of all, with its
    95 % interval by user (else connection). An empty reason and code: no close was logged."""
    rows = ask(store, "closes_ways", {**asked.parameters, "limit": WAYS_AT_MOST}, asked.where).rows
    ways: list[_Way] = [(str(reason), str(code), str(side)) for reason, code, side, _ in rows]
    given = {**asked.parameters, "ways": [int(way) for *_, way in rows]}
    found, coverage = together(
        lambda: shares(store, "closes", asked, asked.by, given).by_key,
        lambda: report_coverage(store, asked.where, asked.window),
    )
    of_group: dict[Key, dict[int, Shared]] = {}
    for (*group, place), each in found.items():
        of_group.setdefault(tuple(group), {})[int(place or 0)] = each
    # The rows are in order of their weight, and so are the groups that they are the first of.
    groups = by_time(list(of_group)[:GROUPS_AT_MOST], asked.by)
    columns = ("figure", ""), ("reason", ""), ("code", ""), ("closed_by", ""), ("connections", "")
    ends = ("share", "share"), ("share_low", "share"), ("share_high", "share"), ("samples", ""), ("clusters", "")
    return Report(
        name="closes",
        params=asked.params,
        columns=(*asked.by_columns, *columns, *ends),
        rows=[[*group, *cells] for group in groups for cells in _rows(of_group[group], ways)],
        samples=sum(ends_of.get(1, NOTHING_SHARED).samples for ends_of in of_group.values()),
        coverage=coverage,
        groups=len(of_group),
        groups_shown=len(groups),
    )


def _rows(ends: _Ends, ways: Sequence[_Way]) -> Iterator[list[Any]]:
    for place, figure in enumerate(_OF_ALL, 1):
        yield _row(figure, (None, None, None), ends.get(place, NOTHING_SHARED))
    rare = len(_OF_ALL) + 1
    met = [(way, ends[place]) for place, way in enumerate(ways, rare + 1) if place in ends and ends[place].hits]
    for way, each in sorted(met, key=lambda one: (-(one[1].share.value or 0), one[0])):
        yield _row(_ENDED_BY, way, each)
    if ends.get(rare, NOTHING_SHARED).hits:
        yield _row(_OTHERWISE, (None, None, None), ends[rare])


def _row(figure: str, way: Key, found: Shared) -> list[Any]:
    return [figure, *way, found.hits, *found.share.rounded(6), found.samples, found.clusters]
