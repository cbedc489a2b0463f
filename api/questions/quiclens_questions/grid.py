"""`report grid`: how long a transfer takes by implementation, round trip and loss, as Bolina published it (2019)."""

from collections.abc import Sequence
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.clustered import QUANTILES_AT_MOST, Sampled, sampled
from quiclens_questions.report import Report, ReportQuestion
from quiclens_questions.slow import report_coverage

SIZE_BOUNDS = (10_000, 100_000, 1_000_000, 10_000_000)
RTT_BOUNDS_US = (10_000, 25_000, 50_000, 100_000, 200_000, 400_000)
LOSS_BOUNDS = (0.0, 0.005, 0.01, 0.02, 0.05)
# As arrayFirstIndex counts: 0 is beyond the last bound.
_SIZES = ("above 10 MB", "to 10 kB", "to 100 kB", "to 1 MB", "to 10 MB")
_RTTS = ("above 400 ms", "to 10 ms", "to 25 ms", "to 50 ms", "to 100 ms", "to 200 ms", "to 400 ms")
_LOSSES = ("above 5 %", "none", "to 0.5 %", "to 1 %", "to 2 %", "to 5 %")
_FIGURES = (("p50", 0.5), ("p90", 0.9))


def grid(store: Store, asked: ReportQuestion) -> Report:
    """One row per cell: median and p90 with intervals by user, else by connection. The round trip is the least that the
    stream saw, the loss that of its connection; only traced requests have both."""
    bounds = {"size_bounds": list(SIZE_BOUNDS), "rtt_bounds_us": list(RTT_BOUNDS_US), "loss_bounds": list(LOSS_BOUNDS)}
    levels = [quantile for _, quantile in _FIGURES]
    found = sampled(store, "grid_durations", asked, asked.by, levels, {**asked.window, **bounds}, QUANTILES_AT_MOST)
    cells = sorted(found.by_key.items(), key=lambda item: _place(item[0]))
    axes = (("implementation", ""), ("handshake", ""), ("size", ""), ("rtt", ""), ("loss", ""))
    quantiles = tuple((name + end, "us") for name, _ in _FIGURES for end in ("", "_low", "_high"))
    return Report(
        name="grid",
        params=asked.params,
        columns=(*asked.by_columns, *axes, *quantiles, ("samples", ""), ("clusters", "")),
        rows=[_row(key, cell) for key, cell in cells],
        samples=found.samples,
        coverage=report_coverage(store, asked.where, asked.window),
        groups=found.all,
        groups_shown=len(cells),
    )


def _place(key: Sequence[str | None]) -> tuple[Any, ...]:
    *words, size, rtt, loss = key
    return (*(word or "" for word in words), *((int(each or 0) or 99) for each in (size, rtt, loss)))


def _row(key: Sequence[str | None], cell: Sampled) -> list[Any]:
    *words, size, rtt, loss = key
    names = [_SIZES[int(size or 0)], _RTTS[int(rtt or 0)], _LOSSES[int(loss or 0)]]
    quantiles = [end for each in cell.quantiles for end in each.rounded()]
    return [*words, *names, *quantiles, cell.samples, cell.clusters]
