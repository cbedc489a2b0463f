"""Reports with a row for each figure and group: what loss, handshake, goodput and races share.

The samples of one statement carry the figure's name, and its trigger where a log may name any, at the end of their key.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.clustered import (
    GROUPS_HELD_AT_MOST,
    NOTHING_SHARED,
    Key,
    Sampled,
    Shared,
    means,
    sampled,
    too_many_groups,
)
from quiclens_questions.connections import by_time
from quiclens_questions.report import GROUPS_AT_MOST, Report, ReportQuestion
from quiclens_questions.rtt import QUANTILES
from quiclens_questions.slow import report_coverage
from quiclens_questions.statements import together
from quiclens_questions.statistics.estimates import Estimate

COLUMNS = (("figure", ""), ("unit", ""), ("value", ""), ("low", ""), ("high", ""), ("samples", ""), ("clusters", ""))
_LEVELS = [quantile for _, quantile in QUANTILES]

Figures = Mapping[tuple[str, str], Sampled]
"""Of one group, by figure and trigger ('' where it has none). A mean stands where others have their quantiles."""
Cells = list[Any]
"""What a row has in `COLUMNS`."""


def figures_report(
    store: Store,
    asked: ReportQuestion,
    name: str,
    statement: str,
    counted_in: str,
    told: Callable[[Figures], Iterator[Cells]],
    parameters: Mapping[str, Any] | None = None,
    averages: str = "",
) -> Report:
    """The rows that `told` makes of each group, those with most connections first. Every connection of a group is
    counted in the share `counted_in`; `parameters` are the statement's own. `averages` names a second statement, whose
    figures are means."""
    given = {**asked.parameters, **(parameters or {})}
    found, averaged, coverage = together(
        lambda: sampled(store, statement, asked, asked.by, _LEVELS, given, GROUPS_HELD_AT_MOST),
        lambda: means(store, averages, asked, asked.by, asked.parameters).by_key if averages else {},
        lambda: report_coverage(store, asked.where, asked.window),
    )
    if found.all > GROUPS_HELD_AT_MOST:
        raise too_many_groups()
    of_means = {key: Sampled(each.samples, 0.0, each.clusters, [each.mean]) for key, each in averaged.items()}
    of_group: dict[Key, dict[tuple[str, str], Sampled]] = {}
    for (*group, figure, trigger), each in {**found.by_key, **of_means}.items():
        of_group.setdefault(tuple(group), {})[(str(figure), str(trigger))] = each
    every = sorted(of_group, key=lambda group: (-shared(of_group[group], counted_in).weight, str(group)))
    groups = by_time(every[:GROUPS_AT_MOST], asked.by)
    return Report(
        name=name,
        params=asked.params,
        columns=(*asked.by_columns, *COLUMNS),
        rows=[[*group, *cells] for group in groups for cells in told(of_group[group])],
        samples=sum(shared(of_group[group], counted_in).samples for group in every),
        coverage=coverage,
        groups=len(every),
        groups_shown=len(groups),
    )


def shared(found: Figures, figure: str, trigger: str = "") -> Shared:
    """What is counted of a figure that is a share; nothing where no sample has it."""
    each = found.get((figure, trigger))
    return each.shared if each and each.shared else NOTHING_SHARED


def share_row(figure: str, told: Shared) -> Cells:
    return [figure, "share", *told.share.rounded(6), told.samples, told.clusters]


def time_share_row(figure: str, told: Shared, connections: int) -> Cells:
    """A share of microseconds, whose samples are the connections."""
    return [figure, "share", *told.share.rounded(6), connections if told.samples else 0, told.clusters]


def mean_row(figure: str, unit: str, digits: int | None, found: Sampled | None) -> Cells:
    """The mean of a statement of `averages`."""
    told = found.quantiles[0] if found else Estimate(None)
    return [figure, unit, *told.rounded(digits), found.samples if found else 0, found.clusters if found else 0]


def quantile_rows(figure: str, unit: str, digits: int | None, found: Sampled | None) -> Iterator[Cells]:
    """A row for each of `QUANTILES`, with `digits` decimals, or whole numbers."""
    samples = found.samples if found else 0
    for place, (name, _) in enumerate(QUANTILES):
        each = found.quantiles[place] if found else Estimate(None)
        yield [f"{figure}_{name}", unit, *each.rounded(digits), samples, found.clusters if found else 0]
