"""`report loss`: how often connections lose packets and how long repairs take, as Uber published it (2019)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.clustered import Key, Sampled, Shared, sampled, shares
from quiclens_questions.report import GROUPS_AT_MOST, Report, ReportQuestion
from quiclens_questions.rtt import QUANTILES
from quiclens_questions.slow import report_coverage
from quiclens_questions.statements import together
from quiclens_questions.statistics.estimates import Estimate

# Figures of repairs: name, unit, decimals.
_REPAIRS = (("retransmission_delay", "us", None), ("retransmissions", "", None), ("detection_delay", "us", None))
_LEVELS = [quantile for _, quantile in QUANTILES]


@dataclass(frozen=True)
class _LossAnswer:
    """Shares and repairs by the group's key, the figure, and of repairs the trigger; shares of triggers by trigger."""

    shares: Mapping[Key, Shared]
    repairs: Mapping[Key, Sampled]
    triggers: Mapping[Key, Shared]


def loss(store: Store, asked: ReportQuestion) -> Report:
    """One row per figure and group: the figure, its 95 % interval by user (else connection), and its samples."""
    shared, sampled_repairs, coverage = together(
        lambda: shares(store, "loss_shares", asked, asked.by, asked.window),
        lambda: sampled(store, "loss_repairs", asked, asked.by, _LEVELS, asked.window),
        lambda: report_coverage(store, asked.where, asked.window),
    )
    found, repairs = shared.by_key, sampled_repairs.by_key
    triggers = sorted({str(trigger) for *_, figure, trigger in repairs if figure == "detection"})
    by_trigger = {"triggers": triggers}
    told = shares(store, "repair_triggers", asked, asked.by, {**asked.window, **by_trigger}).by_key if triggers else {}
    answer = _LossAnswer(found, repairs, told)
    every = [key[:-1] for key in found if key[-1] == "connections_with_loss"]
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
        rows=[[*group, *cells] for group in groups for cells in _figures(group, answer, triggers)],
        samples=sum(found[(*group, "connections_with_loss")].samples for group in every),
        coverage=coverage,
        groups=len(every),
        groups_shown=len(groups),
    )


def _figures(group: Key, answer: _LossAnswer, triggers: list[str]) -> Iterator[list[Any]]:
    for figure in ("connections_with_loss", "of_those_in_handshake", "of_those_in_data"):
        yield _share(figure, answer.shares.get((*group, figure)))
    for figure, unit, digits in _REPAIRS:
        yield from _quantiles(figure, unit, digits, answer.repairs.get((*group, figure, "")))
    for figure in ("losses_spurious", "connections_with_pto", "ptos_spurious"):
        yield _share(figure, answer.shares.get((*group, figure)))
    met = [
        (trigger, answer.triggers[(*group, trigger)]) for trigger in triggers if (*group, trigger) in answer.triggers
    ]
    for trigger, told in sorted(met, key=lambda each: (-each[1].hits, each[0])):
        if told.hits:
            name = trigger or "unknown"
            yield _share(f"lost_by_{name}", told)
            yield from _quantiles(f"detection_by_{name}", "rtt", 3, answer.repairs.get((*group, "detection", trigger)))


def _share(figure: str, found: Shared | None) -> list[Any]:
    share = found.share if found else Estimate(None)
    return [figure, "share", *share.rounded(6), found.samples if found else 0, found.clusters if found else 0]


def _quantiles(figure: str, unit: str, digits: int | None, found: Sampled | None) -> Iterator[list[Any]]:
    samples = found.samples if found else 0
    for place, (name, _) in enumerate(QUANTILES):
        each = found.quantiles[place] if found else Estimate(None)
        yield [f"{figure}_{name}", unit, *each.rounded(digits), samples, found.clusters if found else 0]
