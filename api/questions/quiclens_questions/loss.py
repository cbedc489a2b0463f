"""`report loss`: how often connections lose packets and how long repairs take, as Uber published it (2019)."""

from collections.abc import Iterator, Mapping
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.clustered import (
    GROUPS_HELD_AT_MOST,
    NOTHING_SHARED,
    Key,
    Sampled,
    Shared,
    sampled,
    too_many_groups,
)
from quiclens_questions.report import GROUPS_AT_MOST, Report, ReportQuestion
from quiclens_questions.rtt import QUANTILES
from quiclens_questions.slow import report_coverage
from quiclens_questions.statements import together
from quiclens_questions.statistics.estimates import Estimate

# Figures of repairs: name, unit, decimals.
_REPAIRS = (("retransmission_delay", "us", None), ("retransmissions", "", None), ("detection_delay", "us", None))
_LEVELS = [quantile for _, quantile in QUANTILES]

Figures = Mapping[tuple[str, str], Sampled]
"""Of one group, by figure and trigger ('' where it has none)."""


def loss(store: Store, asked: ReportQuestion) -> Report:
    """One row per figure and group: the figure, its 95 % interval by user (else connection), and its samples."""
    found, coverage = together(
        lambda: sampled(store, "loss_figures", asked, asked.by, _LEVELS, asked.window, GROUPS_HELD_AT_MOST),
        lambda: report_coverage(store, asked.where, asked.window),
    )
    if found.all > GROUPS_HELD_AT_MOST:
        raise too_many_groups()
    of_group: dict[Key, dict[tuple[str, str], Sampled]] = {}
    for (*group, figure, trigger), each in found.by_key.items():
        of_group.setdefault(tuple(group), {})[(str(figure), str(trigger))] = each
    every = sorted(of_group, key=lambda group: (-_connections(of_group[group]).weight, str(group)))
    groups = every[:GROUPS_AT_MOST]
    columns = (
        ("figure", ""),
        ("unit", ""),
        ("value", ""),
        ("low", ""),
        ("high", ""),
        ("samples", ""),
        ("clusters", ""),
    )
    return Report(
        name="loss",
        params=asked.params,
        columns=(*asked.by_columns, *columns),
        rows=[[*group, *cells] for group in groups for cells in _figures(of_group[group])],
        samples=sum(_connections(of_group[group]).samples for group in every),
        coverage=coverage,
        groups=len(every),
        groups_shown=len(groups),
    )


def _connections(figures: Figures) -> Shared:
    """Every connection is counted in this one."""
    found = figures["connections_with_loss", ""].shared
    assert found is not None
    return found


def _figures(found: Figures) -> Iterator[list[Any]]:
    for figure in ("connections_with_loss", "of_those_in_handshake", "of_those_in_data"):
        yield _share(figure, found.get((figure, "")))
    for figure, unit, digits in _REPAIRS:
        yield from _quantiles(figure, unit, digits, found.get((figure, "")))
    for figure in ("losses_spurious", "connections_with_pto", "ptos_spurious"):
        yield _share(figure, found.get((figure, "")))
    met = [
        (each.samples, trigger, each)
        for (figure, trigger), each in found.items()
        if figure == "detection" and each.samples
    ]
    for _, trigger, told in sorted(met, key=lambda each: (-each[0], each[1])):
        name = trigger or "unknown"
        yield _share(f"lost_by_{name}", told)
        yield from _quantiles(f"detection_by_{name}", "rtt", 3, told)


def _share(figure: str, found: Sampled | None) -> list[Any]:
    told = found.shared if found and found.shared else NOTHING_SHARED
    return [figure, "share", *told.share.rounded(6), told.samples, told.clusters]


def _quantiles(figure: str, unit: str, digits: int | None, found: Sampled | None) -> Iterator[list[Any]]:
    samples = found.samples if found else 0
    for place, (name, _) in enumerate(QUANTILES):
        each = found.quantiles[place] if found else Estimate(None)
        yield [f"{figure}_{name}", unit, *each.rounded(digits), samples, found.clusters if found else 0]
