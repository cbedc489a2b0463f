"""`report loss`: how often connections lose packets and how long repairs take, as Uber published it (2019)."""

from collections.abc import Iterator, Sequence
from typing import Any

from quiclens_schema.store import Store

from quiclens_api.asking import ask
from quiclens_api.intervals import rounded, wilson
from quiclens_api.questions.connections import EVERYTHING, GROUPS_AT_MOST, Report, by_columns, by_value, params
from quiclens_api.questions.rtt import QUANTILES
from quiclens_api.questions.slow import coverage
from quiclens_api.where import Where

_REPAIR_FIGURES = (
    ("wait_us", "retransmission_delay", "us"),
    ("detection_us", "detection_delay", "us"),
    ("count", "retransmissions", ""),
)

Row = dict[str, Any]


def loss(store: Store, by: str, where: Where, texts: Sequence[str]) -> Report:
    """One row per figure (and value of `by`): the figure, its 95 % interval, and the samples it stands on."""
    dimension = by or EVERYTHING
    connections = ask(store, "loss_connections", {"by": dimension, "limit": GROUPS_AT_MOST}, where).dicts()
    quantiles = {"quantiles": [quantile for _, quantile in QUANTILES]}
    limit = {"limit": GROUPS_AT_MOST * len(_REPAIR_FIGURES)}
    repairs = ask(store, "loss_repairs", {"by": dimension, **quantiles, **limit}, where).dicts()
    found = {(row["by_value"], row["figure"]): row for row in repairs}
    rows = [
        [*by_value(group, by), *cells]
        for group in connections
        for cells in (*_shares(group), *_repairs(group["by_value"], found))
    ]
    columns = (("figure", ""), ("unit", ""), ("value", ""), ("low", ""), ("high", ""), ("samples", ""))
    return Report(
        name="loss",
        params=params(by, texts),
        columns=(*by_columns(by), *columns),
        rows=rows,
        samples=sum(group["connections"] for group in connections),
        coverage=coverage(store, where),
    )


def _shares(group: Row) -> Iterator[list[Any]]:
    lossy = group["with_loss"]
    for figure, hits, total in (
        ("connections_with_loss", lossy, group["connections"]),
        ("of_those_in_handshake", group["with_loss_in_handshake"], lossy),
        ("of_those_in_data", group["with_loss_in_data"], lossy),
    ):
        share = wilson(hits, total)
        yield [figure, "share", *rounded([share.value, share.low, share.high], 6), total]


def _repairs(value: Any, found: dict[tuple[Any, str], Row]) -> Iterator[list[Any]]:
    for column, figure, unit in _REPAIR_FIGURES:
        row = found.get((value, column))
        for index, (name, _) in enumerate(QUANTILES):
            middle, low, high = row["cuts"][index] if row else (None, None, None)
            yield [f"{figure}_{name}", unit, middle, low, high, row["samples"] if row else 0]
