"""`report loss`: how often connections lose packets and how long repairs take, as Uber published it (2019)."""

from collections.abc import Iterator
from typing import Any

from quiclens_schema.store import Store

from quiclens_api.asking import ask
from quiclens_api.intervals import rounded, wilson
from quiclens_api.questions.asked import GROUPS_AT_MOST, Asked, Report
from quiclens_api.questions.rtt import QUANTILES
from quiclens_api.questions.slow import coverage
from quiclens_api.questions.tail import places

# Column of loss_repairs.sql, figure, unit, decimals.
_REPAIR_FIGURES = (
    ("wait_us", "retransmission_delay", "us", None),
    ("count", "retransmissions", "", None),
    ("detection_us", "detection_delay", "us", None),
)
_FIGURES_AT_MOST = 20 * GROUPS_AT_MOST

Row = dict[str, Any]
Found = dict[tuple[str, str, str], Row]


def loss(store: Store, asked: Asked) -> Report:
    """One row per figure and group: the figure, its 95 % interval, and the samples it stands on."""
    window = asked.window
    groups = ask(store, "loss_connections", {**window, "limit": GROUPS_AT_MOST}, asked.where, asked.by).dicts()
    found = _repairs(store, asked)
    columns = (("figure", ""), ("unit", ""), ("value", ""), ("low", ""), ("high", ""), ("samples", ""))
    return Report(
        name="loss",
        params=asked.params,
        columns=(*asked.by_columns, *columns),
        rows=[[*group["by_values"], *cells] for group in groups for cells in _figures(group, found)],
        samples=sum(group["connections"] for group in groups),
        coverage=coverage(store, asked.where, window),
    )


def _repairs(store: Store, asked: Asked) -> Found:
    """Sorted samples at the ranks of their quantiles: first how many there are, then those at the ranks."""
    parameters = {**asked.window, "limit": _FIGURES_AT_MOST}
    counted = ask(store, "loss_repairs", {**parameters, "sizes": [], "ranks": []}, asked.where, asked.by).dicts()
    sizes = sorted({row["samples"] for row in counted})
    cut = {**parameters, "sizes": sizes, "ranks": [places(size) for size in sizes]}
    rows = ask(store, "loss_repairs", cut, asked.where, asked.by).dicts() if sizes else []
    return {(row["by_key"], row["figure"], row["trigger"]): row for row in rows}


def _figures(group: Row, found: Found) -> Iterator[list[Any]]:
    key, lossy = group["by_key"], group["with_loss"]
    yield _share("connections_with_loss", lossy, group["connections"])
    yield _share("of_those_in_handshake", group["with_loss_in_handshake"], lossy)
    yield _share("of_those_in_data", group["with_loss_in_data"], lossy)
    for column, figure, unit, digits in _REPAIR_FIGURES:
        yield from _quantiles(figure, unit, digits, found.get((key, column, "")))
    yield _share("losses_spurious", group["lost_spurious"], group["lost"])
    yield _share("connections_with_pto", group["with_pto"], group["connections"])
    yield _share("ptos_spurious", group["timeouts_spurious"], group["timeouts"])
    by_trigger = [
        (trigger, row) for (at, column, trigger), row in found.items() if (at, column) == (key, "detection_rtt")
    ]
    repairs = sum(row["samples"] for _, row in by_trigger)
    for trigger, row in sorted(by_trigger, key=lambda each: (-each[1]["samples"], each[0])):
        name = trigger or "unknown"
        yield _share(f"lost_by_{name}", row["samples"], repairs)
        yield from _quantiles(f"detection_by_{name}", "rtt", 3, row)


def _share(figure: str, hits: int, total: int) -> list[Any]:
    share = wilson(hits, total)
    return [figure, "share", *rounded([share.value, share.low, share.high], 6), total]


def _quantiles(figure: str, unit: str, digits: int | None, row: Row | None) -> Iterator[list[Any]]:
    for index, (name, _) in enumerate(QUANTILES):
        cuts = row["cuts"][3 * index : 3 * index + 3] if row else [None, None, None]
        yield [f"{figure}_{name}", unit, *rounded(cuts, digits), row["samples"] if row else 0]
