"""`report closes`: how connections ended, by reason, code and who closed, with idle timeouts, resets and errors.

Facebook's operators asked (2018) whether timeouts are dead connections or misrouted packets, cluster by cluster.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.clustered import NOTHING_SHARED, Key, Shared, shares
from quiclens_questions.connections import by_time
from quiclens_questions.report import GROUPS_AT_MOST, Report, ReportQuestion
from quiclens_questions.slow import report_coverage
from quiclens_questions.statements import together

WAYS_AT_MOST = 30
"""Ways to end that have a row of their own. Whoever closes may write any reason: as many as connections."""
_OF_ALL = ("closes_logged", "idle_timeouts", "stateless_resets", "errors")
_ENDED_BY, _OTHERWISE = "ended_by", "ended_otherwise"

_Ends = Mapping[Key, Shared]
"""Of one group, by figure, reason, code and who closed."""


def closes(store: Store, asked: ReportQuestion) -> Report:
    """One row per figure and group, and one for each way in which its connections ended: their share of all, with its
    95 % interval by user (else connection). An empty reason and code: no close was logged."""
    given = {**asked.parameters, "ways": WAYS_AT_MOST}
    found, coverage = together(
        lambda: shares(store, "closes", asked, asked.by, given).by_key,
        lambda: report_coverage(store, asked.where, asked.window),
    )
    of_group: dict[Key, dict[Key, Shared]] = {}
    for key, each in found.items():
        of_group.setdefault(key[:-4], {})[key[-4:]] = each
    # The rows are in order of their weight, and so are the groups that they are the first of.
    groups = by_time(list(of_group)[:GROUPS_AT_MOST], asked.by)
    columns = ("figure", ""), ("reason", ""), ("code", ""), ("closed_by", ""), ("connections", "")
    ends = ("share", "share"), ("share_low", "share"), ("share_high", "share"), ("samples", ""), ("clusters", "")
    return Report(
        name="closes",
        params=asked.params,
        columns=(*asked.by_columns, *columns, *ends),
        rows=[[*group, *cells] for group in groups for cells in _rows(of_group[group])],
        samples=sum(_of(ends_of, _OF_ALL[0]).samples for ends_of in of_group.values()),
        coverage=coverage,
        groups=len(of_group),
        groups_shown=len(groups),
    )


def _rows(ends: _Ends) -> Iterator[list[Any]]:
    for figure in _OF_ALL:
        yield _row(figure, (None, None, None), _of(ends, figure))
    met = [(key[1:], each) for key, each in ends.items() if key[0] == _ENDED_BY and each.hits]
    for way, each in sorted(met, key=lambda one: (-(one[1].share.value or 0), str(one[0]))):
        yield _row(_ENDED_BY, way, each)
    if _of(ends, _OTHERWISE).hits:
        yield _row(_OTHERWISE, (None, None, None), _of(ends, _OTHERWISE))


def _of(ends: _Ends, figure: str) -> Shared:
    return ends.get((figure, "", "", ""), NOTHING_SHARED)


def _row(figure: str, way: Key, found: Shared) -> list[Any]:
    return [figure, *way, found.hits, *found.share.rounded(6), found.samples, found.clusters]
