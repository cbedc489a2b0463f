"""`quiclens-lab planted`: do the reports' 95 % intervals hold what was planted, as often as they say?

Every carrier of a planted store is one sample of the same population, so one report by carrier is many experiments,
through the same SQL that users ask. An interval with an open end holds everything beyond it.
"""

import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from quiclens_api.questions.asked import Report
from quiclens_api.reports import KINDS, Options, asked_of
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store

from quiclens_lab import planted_rows as of
from quiclens_lab.machine import commit, keep_document, machine

LEAST, MOST = 0.925, 0.975
_Z = {"p50": 0.0, "p75": 0.674490, "p90": 1.281552, "p95": 1.644854, "p99": 2.326348}
_QUANTILES = ("p50", "p75", "p95", "p99")
_STRATUM = "later_and_rtt_below_500_ms"

Row = dict[str, Any]


def planted(groups: int, seed: int, keep: bool) -> Row:
    """Plant, ask each report, and say how often its intervals hold the truth.

    `passes` where each figure's do in 92.5 to 97.5 % of the samples. `biased` is what the comparison says of all
    requests, where no bias is cut out.
    """
    folder = tempfile.TemporaryDirectory(prefix="quiclens-planted-")
    with folder as name, stores.open(f"chdb:{name}/store") as store:
        migrate(store)
        of.plant(store, groups, seed)
        reports = [_ask(store, report, region) for report, region in _ASKED]
    figures = [figure for report in reports for figure in _held(report)]
    document: Row = {
        "machine": machine(),
        "commit": commit(),
        "groups": groups,
        "seed": seed,
        "figures": figures,
        "biased": _biased(reports[0]),
        "passes": all(LEAST <= figure["held"] <= MOST for figure in figures),
    }
    if keep:
        keep_document("truth-runs", "planted", document)
    return document


_ASKED = (
    ("compare", "users"),
    ("coverage", "users"),
    ("use-rate", "users"),
    ("tail", "requests"),
    ("load", "requests"),
    ("load", "connections"),
    ("rtt", "connections"),
    ("loss", "connections"),
    ("grid", "connections"),
)


def _ask(store: Store, name: str, region: str) -> Report:
    options = Options(base="tcp") if name == "compare" else Options()
    asked = asked_of(name, ("carrier",), (f"region={region}",), (None, None), options, datetime.now(UTC))
    return KINDS[name].answer(store, asked)


def _biased(compared: Report) -> dict[str, float]:
    """The mean difference of each quantile over all requests."""
    found: dict[str, list[float]] = {}
    for row in compared.dicts():
        if row["stratum"] == "all" and row["difference"] is not None:
            found.setdefault(row["figure"], []).append(row["difference"])
    return {figure: round(math.fsum(each) / len(each), 4) for figure, each in found.items()}


def _held(report: Report) -> Iterator[Row]:
    """For each figure with a truth: how often its interval held it, and how often an end was open."""
    found: dict[str, list[_One]] = {}
    for row in report.dicts():
        for figure, truth, column, (low, high) in _truths(report.name, row):
            if row[column] is not None:
                found.setdefault(figure, []).append(_One(truth, row[column], row[low], row[high]))
    for figure, each in found.items():
        yield {
            "report": report.name,
            "figure": figure,
            "truth": math.fsum(one.truth for one in each) / len(each),
            "mean": round(math.fsum(one.value for one in each) / len(each), 6),
            "samples": len(each),
            "held": round(sum(one.is_held for one in each) / len(each), 4),
            "open": round(sum(one.low is None or one.high is None for one in each) / len(each), 4),
        }


@dataclass(frozen=True)
class _One:
    """What one sample said of a truth; an end is None where it is open."""

    truth: float
    value: float
    low: float | None
    high: float | None

    @property
    def is_held(self) -> bool:
        return (self.low is None or self.low <= self.truth) and (self.high is None or self.truth <= self.high)


def _truths(name: str, row: Row) -> Iterator[tuple[str, float, str, tuple[str, str]]]:
    """(figure, truth, column of the value, columns of the interval) of one row of a report."""
    usual = ("low", "high")
    if name == "compare" and row["stratum"] == _STRATUM and row["figure"] != "rtt_p50":
        truth = of.FAILS_QUIC - of.FAILS if row["figure"] == "failed" else of.FASTER - 1
        yield row["figure"], truth, "difference", ("difference_low", "difference_high")
    elif name == "coverage":
        yield row["figure"], _sessions()[row["figure"]], "share", ("share_low", "share_high")
    elif name == "use-rate":
        yield "use_rate", _use_rate(), "share", ("share_low", "share_high")
    elif name == "tail":
        for quantile in _QUANTILES:
            truth = of.MEDIAN_US * math.exp(of.SIGMA * _Z[quantile])
            yield quantile, truth, quantile, (f"{quantile}_sampling_low", f"{quantile}_sampling_high")
    elif name == "load" and (row["figure"] == "new connections" or row["size"] in ("to 1 kB", "to 5 kB")):
        truth = of.NEW_PER_SECOND if row["figure"] == "new connections" else of.PER_SECOND / 2
        yield f"{row['figure']} {row['size'] or ''}".strip(), truth, "per_second", ("per_second_low", "per_second_high")
    elif name == "rtt":
        for quantile in _QUANTILES:
            truth = of.RTT_US * math.exp(math.hypot(of.SIGMA_PATH, of.SIGMA_SAMPLE) * _Z[quantile])
            yield quantile, truth, quantile, (f"{quantile}_low", f"{quantile}_high")
    elif name == "loss" and row["figure"] in _losses():
        yield row["figure"], _losses()[row["figure"]], "value", usual
    elif name == "grid":
        for quantile in ("p50", "p90"):
            spread = math.exp(math.hypot(of.SIGMA_CONNECTION, of.SIGMA_REQUEST) * _Z[quantile])
            yield quantile, _slower(row) * of.MEDIAN_US * spread, quantile, (f"{quantile}_low", f"{quantile}_high")


def _quic() -> float:
    """The share of users who get QUIC."""
    return of.SLOW * of.QUIC_IF_SLOW + (1 - of.SLOW) * of.QUIC_IF_FAST


def _sessions() -> dict[str, float]:
    quic = _quic()
    return {"sessions_all_quic": quic * of.WARM, "sessions_mixed": quic * (1 - of.WARM),
            "sessions_without_quic": 1 - quic}  # fmt: skip


def _use_rate() -> float:
    length = of.LEAST_REQUESTS + (of.MORE_REQUESTS - 1) / 2
    return _quic() * (length - (1 - of.WARM)) / length


def _losses() -> dict[str, float]:
    repairs = {
        f"retransmission_delay_{q}": of.REPAIR_US * math.exp(of.SIGMA_REPAIR * _Z[q])
        for q in ("p50", "p75", "p95", "p99")
    }
    return {"connections_with_loss": of.LOSSY, "of_those_in_handshake": of.LOSSY_HANDSHAKE,
            "of_those_in_data": of.LOSSY_DATA, **repairs}  # fmt: skip


def _slower(row: Row) -> float:
    factor = of.SLOWER["implementation"] if row["implementation"] == "slower" else 1.0
    factor *= of.SLOWER["rtt"] if row["rtt"] == "to 100 ms" else 1.0
    return factor * (of.SLOWER["loss"] if row["loss"] == "to 2 %" else 1.0)
