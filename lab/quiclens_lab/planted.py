"""`quiclens-lab planted`: do the reports' 95 % intervals hold what was planted, as often as they say?

Every carrier of a planted store is one sample of the same population, so one report by carrier is many experiments,
through the same SQL that users ask. An interval with an open end holds everything beyond it. Widths of tails are
compared with those of a bootstrap that draws clusters, at the level at which it holds the truth as often as they must:
of few clusters a percentile bootstrap's 95 % interval of a tail holds it in 85 % (Efron and Tibshirani, An Introduction
to the Bootstrap, 1993, chapter 14).
"""

import math
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from statistics import NormalDist, median
from typing import Any

from quiclens_questions.report import Report
from quiclens_questions.reports import REPORTS, Options, asked_of
from quiclens_questions.statistics.clusters import needed
from quiclens_questions.statistics.distributions import BEYOND
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store

from quiclens_lab import planted_rows as of
from quiclens_lab.judgement import Judgement

LEAST = 0.925
WIDTH_MOST = 1.3
"""The median width of a tail's intervals, against those of a bootstrap that holds the truth as often as ours must."""
ANSWERED = {"p50": 20, "p75": 40, "p95": 60, "p99": 200}
"""Clusters with which a quantile has an interval in every sample."""
_LEVELS = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_QUANTILES = ("p50", "p75", "p95", "p99")
_BOOTSTRAPPED = 300  # samples of each size
_RESAMPLED = 200
SAMPLES = 1000  # that the bar asks for
_STRATUM = "later_and_rtt_below_500_ms"

Row = dict[str, Any]


def planted(groups: int, seed: int, keep: bool) -> Row:
    """Plant, ask each report, and say how often its intervals hold the truth.

    `passes` where each figure's do in at least 92.5 % of the samples, no tail is without an interval that has clusters
    enough, and none is more than 1.3 times as wide as that of a bootstrap that holds. `biased` is what the comparison
    says of all requests, where no bias is cut out.
    """
    folder = tempfile.TemporaryDirectory(prefix="quiclens-planted-")
    with folder as name, stores.open(f"chdb:{name}/store") as store:
        migrate(store)
        of.plant(store, groups, seed)
        reports = [(_ask(store, report, region), region) for report, region in _ASKED]
        figures = [figure for report, region in reports for figure in _held(report, region)]
        widths = [width for size in of.SIZES for width in _widths(store, size, reports, seed)]
    judgement = Judgement("planted")
    judgement.least("samples", SAMPLES, groups)
    judgement.found |= {
        "groups": groups,
        "seed": seed,
        "figures": figures,
        "widths": widths,
        "biased": _biased(reports[0][0]),
    }
    for missed in _missed(figures, widths):
        judgement.miss(missed)
    return judgement.document(keep, "truth-runs")


_ASKED = (
    ("compare", "users"),
    ("coverage", "users"),
    ("use-rate", "users"),
    ("tail", "requests"),
    *(("tail", f"clusters-{size}") for size in of.SIZES),
    ("load", "requests"),
    ("load", "connections"),
    ("rtt", "connections"),
    ("loss", "connections"),
    ("handshake", "connections"),
    ("goodput", "connections"),
    ("closes", "connections"),
    ("races", "apps"),
    ("grid", "connections"),
)


def _ask(store: Store, name: str, region: str) -> Report:
    options = Options(base="tcp") if name == "compare" else Options()
    asked = asked_of(name, ("carrier",), (f"region={region}",), (None, None), options, datetime.now(UTC))
    return REPORTS[name].answer(store, asked)


def _biased(compared: Report) -> dict[str, float]:
    """The mean difference of each quantile over all requests."""
    found: dict[str, list[float]] = {}
    for row in compared.dicts():
        if row["stratum"] == "all" and row["difference"] is not None:
            found.setdefault(row["figure"], []).append(row["difference"])
    return {figure: round(math.fsum(each) / len(each), 4) for figure, each in found.items()}


def _missed(figures: Sequence[Row], widths: Sequence[Row]) -> Iterator[str]:
    for each in figures:
        name = f"{each['report']} {each['figure']}, {each['region']}"
        if each["held"] < LEAST:
            yield f"{name}: held in {each['held']:.1%}"
        size, quantile = each["region"].removeprefix("clusters-"), each["figure"]
        if size.isdigit() and int(size) >= ANSWERED[quantile] and each["without"]:
            yield f"{name}: without an interval in {each['without']:.1%}"
    for each in widths:
        if each["ratio"] is None or each["ratio"] > WIDTH_MOST:
            of_size = f"tail {each['figure']} of {each['clusters']} clusters"
            yield f"{of_size}: {each['ratio']} times as wide as those of a bootstrap that holds"


def _held(report: Report, region: str) -> Iterator[Row]:
    """For each figure with a truth: how often its interval held it, and how often an end was open."""
    found: dict[str, list[_One]] = {}
    for row in report.dicts():
        for figure, truth, column, (low, high) in _truths(report.name, region, row):
            if row[column] is not None:
                found.setdefault(figure, []).append(_One(truth, row[column], row[low], row[high]))
    for figure, each in found.items():
        yield {
            "report": report.name,
            "region": region,
            "figure": figure,
            "truth": math.fsum(one.truth for one in each) / len(each),
            "mean": round(math.fsum(one.value for one in each) / len(each), 6),
            "samples": len(each),
            "held": round(sum(one.is_held for one in each) / len(each), 4),
            "open": round(sum(one.low is None or one.high is None for one in each) / len(each), 4),
            "without": round(sum(one.low is None and one.high is None for one in each) / len(each), 4),
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


def _truths(name: str, region: str, row: Row) -> Iterator[tuple[str, float, str, tuple[str, str]]]:
    """(figure, truth, column of the value, columns of the interval) of one row of a report."""
    usual = ("low", "high")
    if name == "compare" and row["stratum"] == _STRATUM and row["figure"] != "rtt_p50":
        truth = of.FAILS_QUIC - of.FAILS if row["figure"] == "failed" else of.FASTER - 1
        yield row["figure"], truth, "difference", ("difference_low", "difference_high")
    elif name == "coverage" and row["figure"] in _sessions():
        yield row["figure"], _sessions()[row["figure"]], "share", ("share_low", "share_high")
    elif name == "use-rate":
        yield "use_rate", _use_rate(), "share", ("share_low", "share_high")
    elif name == "tail":
        for quantile in _QUANTILES:
            if region == "requests":
                truth = _quantile(quantile, of.MEDIAN_US, of.SIGMA, 0.0)
            else:
                truth = _quantile(quantile, of.MEDIAN_US, math.hypot(of.SIGMA_USER, of.SIGMA_ALONE))
            if region == "requests" or int(region.removeprefix("clusters-")) >= needed(_LEVELS[quantile]):
                yield quantile, truth, quantile, (f"{quantile}_sampling_low", f"{quantile}_sampling_high")
    elif name == "load" and (row["figure"] == "new connections" or row["size"] in ("to 1 kB", "to 5 kB")):
        truth = of.NEW_PER_SECOND if row["figure"] == "new connections" else of.PER_SECOND / 2
        yield f"{row['figure']} {row['size'] or ''}".strip(), truth, "per_second", ("per_second_low", "per_second_high")
    elif name == "rtt":
        for quantile in _QUANTILES:
            truth = _quantile(quantile, of.RTT_US, math.hypot(of.SIGMA_PATH, of.SIGMA_SAMPLE))
            yield quantile, truth, quantile, (f"{quantile}_low", f"{quantile}_high")
        yield "deviation", _mean(of.DEVIATION_US, of.SIGMA_DEVIATION), "deviation", ("deviation_low", "deviation_high")
    elif name in _BY_FIGURE and row["figure"] in _BY_FIGURE[name]():
        yield row["figure"], _BY_FIGURE[name]()[row["figure"]], "value", usual
    elif name == "closes" and (row["figure"] in _closes() or row["figure"] == "ended_by"):
        figure = row["figure"] if row["figure"] in _closes() else row["reason"] or row["code"]
        yield figure, _closes()[figure], "share", ("share_low", "share_high")
    elif name == "grid":
        for quantile in ("p50", "p90"):
            is_lossy = row["loss"] == "to 2 %"
            lossy = [of.LOSSY_SAMPLED, of.LOSSY] if is_lossy else [1 - of.LOSSY_SAMPLED, 1 - of.LOSSY]
            sampled = of.SAMPLED * lossy[0] / (of.SAMPLED * lossy[0] + (1 - of.SAMPLED) * lossy[1])
            spread = math.hypot(of.SIGMA_CONNECTION, of.SIGMA_REQUEST)
            truth = _quantile(quantile, _slower(row) * of.MEDIAN_US, spread, sampled)
            yield quantile, truth, quantile, (f"{quantile}_low", f"{quantile}_high")


def _quantile(name: str, middle: float, sigma: float, sampled: float = of.SAMPLED) -> float:
    """Of a mixture of two lognormal populations, of which a share comes from servers that trace one of some."""
    level, normal = _LEVELS[name], NormalDist()
    low, high = math.log(middle) - 10 * sigma, math.log(middle * of.SAMPLED_SLOWER) + 10 * sigma
    for _ in range(100):
        at = (low + high) / 2
        below = (1 - sampled) * normal.cdf((at - math.log(middle)) / sigma)
        below += sampled * normal.cdf((at - math.log(middle * of.SAMPLED_SLOWER)) / sigma)
        low, high = (at, high) if below < level else (low, at)
    return math.exp(low)


def _widths(store: Store, size: int, reports: Sequence[tuple[Report, str]], seed: int) -> Iterator[Row]:
    """Of each quantile that so many clusters are enough for, the median width of our intervals and of a bootstrap's,
    and the spread of the estimates themselves."""
    (report,) = [each for each, region in reports if region == f"clusters-{size}"]
    ours = {row["carrier"]: row for row in report.dicts()}
    chosen = sorted(ours)[:_BOOTSTRAPPED]
    rows = store.query(
        "SELECT carrier, user_hash, duration_us, weight FROM requests"
        " WHERE region = {region:String} AND carrier IN {carriers:Array(String)} ORDER BY duration_us",
        {"region": f"clusters-{size}", "carriers": chosen},
    ).rows
    chance = random.Random(seed)
    samples: dict[str, list[tuple[str, int, float]]] = {carrier: [] for carrier in chosen}
    for carrier, user, us, weight in rows:
        samples[carrier].append((user, us, weight))
    drawn = {carrier: _resampled(each, chance) for carrier, each in samples.items()}
    for name in _QUANTILES:
        if size < ANSWERED[name]:
            continue
        found = [_width(*(row[f"{name}_sampling_{end}"] for end in ("low", "high"))) for row in ours.values()]
        estimates = [sorted(each[name] for each in drawn[carrier]) for carrier in chosen]
        truth = _quantile(name, of.MEDIAN_US, math.hypot(of.SIGMA_USER, of.SIGMA_ALONE))
        usual = _bootstrap(estimates, truth, round(BEYOND * _RESAMPLED))
        holding = _bootstrap_that_holds(estimates, truth)
        is_open = math.isinf(median(found))
        yield {
            "figure": name,
            "clusters": size,
            "us": None if is_open else median(found),
            "bootstrap_us": usual.us,
            "bootstrap_held": round(usual.held, 3),
            "holding_bootstrap_level": round(1 - 2 * holding.cut / _RESAMPLED, 3),
            "holding_bootstrap_us": holding.us,
            "ratio": None if is_open else round(median(found) / holding.us, 3),
            "ratio_to_95": None if is_open else round(median(found) / usual.us, 3),
            "spread_ratio_to_95": round(_spread([row[name] for row in ours.values()]) / usual.us, 3),
        }


@dataclass(frozen=True)
class _Bootstrap:
    """Percentile intervals of many samples, each without the `cut` least and the `cut` greatest estimates."""

    cut: int
    us: float  # the median width
    held: float  # the share of the samples in which they held the truth


def _bootstrap(estimates: Sequence[Sequence[float]], truth: float, cut: int) -> _Bootstrap:
    """`estimates` are those of each sample, in order."""
    ends = [(each[cut], each[-1 - cut]) for each in estimates]
    held = sum(low <= truth <= high for low, high in ends) / len(ends)
    return _Bootstrap(cut, median(high - low for low, high in ends), held)


def _bootstrap_that_holds(estimates: Sequence[Sequence[float]], truth: float) -> _Bootstrap:
    """The narrowest of at least 95 % that holds the truth as often as our intervals must; else the widest."""
    for cut in range(round(BEYOND * _RESAMPLED), 0, -1):
        found = _bootstrap(estimates, truth, cut)
        if found.held >= LEAST:
            return found
    return _bootstrap(estimates, truth, 0)


def _spread(values: Sequence[float]) -> float:
    """The width that holds 95 % of the estimates: what an interval takes that knows how they are distributed."""
    ordered = sorted(values)
    return ordered[-1 - round(BEYOND * len(ordered))] - ordered[round(BEYOND * len(ordered))]


def _width(low: float | None, high: float | None) -> float:
    return math.inf if low is None or high is None else high - low


def _resampled(samples: Sequence[tuple[str, int, float]], chance: random.Random) -> list[dict[str, int]]:
    """Quantiles of samples of clusters, drawn with replacement; `samples` are in order of their values."""
    users = sorted({user for user, *_ in samples})
    found = []
    for _ in range(_RESAMPLED):
        times: dict[str, int] = dict.fromkeys(users, 0)
        for user in chance.choices(users, k=len(users)):
            times[user] += 1
        whole = sum(weight * times[user] for user, _, weight in samples)
        left = [(name, _LEVELS[name] * whole) for name in _QUANTILES]
        seen, at = 0.0, {}
        for user, us, weight in samples:
            seen += weight * times[user]
            while left and seen >= left[0][1]:
                at[left.pop(0)[0]] = us
        found.append(at)
    return found


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


def _mean(middle: float, sigma: float, sampled: float = of.SAMPLED) -> float:
    """Of the mixture whose quantiles `_quantile` tells."""
    return middle * math.exp(sigma * sigma / 2) * (1 - sampled + sampled * of.SAMPLED_SLOWER)


@cache
def _losses() -> dict[str, float]:
    lossy = of.SAMPLED * of.LOSSY_SAMPLED + (1 - of.SAMPLED) * of.LOSSY
    sampled = of.SAMPLED * of.LOSSY_SAMPLED / lossy
    rate = of.LOSS_RATE * (1 - sampled) + of.LOSS_RATE_SAMPLED * sampled
    repairs = {f"retransmission_delay_{q}": _quantile(q, of.REPAIR_US, of.SIGMA_REPAIR, sampled) for q in _QUANTILES}
    return {"connections_with_loss": lossy, "of_those_in_handshake": of.LOSSY_HANDSHAKE,
            "of_those_in_data": of.LOSSY_DATA, "packets_lost": lossy * rate, "packets_lost_in_lossy": rate,
            "packets_retransmitted": of.RETRANSMITTED, **repairs}  # fmt: skip


@cache
def _handshakes() -> dict[str, float]:
    took = {f"handshake_{q}": _quantile(q, of.HANDSHAKE_US, of.SIGMA_HANDSHAKE) for q in _QUANTILES}
    return {"handshakes_complete": of.HANDSHAKES_COMPLETE, "connections_with_retry": of.RETRIES,
            "zero_rtt_attempted": of.ZERO_RTT, "zero_rtt_accepted": of.ZERO_RTT_ACCEPTED, **took}  # fmt: skip


@cache
def _goodput() -> dict[str, float]:
    idle = of.IDLE_US * math.exp(of.SIGMA_IDLE**2 / 2)
    # Of the busy time p95 is that of the goodput's p5, and so on: the mixture is turned about.
    slow = of.BYTES * 8e6 / (of.BUSY_US * of.SAMPLED_SLOWER)
    rates = {f"goodput_{q}": _quantile(q, slow, of.SIGMA_BUSY, 1 - of.SAMPLED) for q in _QUANTILES}
    dark = {f"outage_recovery_{q}": _quantile(q, of.OUTAGE_US, of.SIGMA_OUTAGE) for q in _QUANTILES}
    return {"time_idle": idle / (idle + _mean(of.BUSY_US, of.SIGMA_BUSY)), "time_in_cwnd_blocked": of.BLOCKED,
            "connections_with_outage": of.OUTAGES, **rates, **dark,
            **{f"outage_{q}": dark[f"outage_recovery_{q}"] + of.PROBE_AFTER_US for q in _QUANTILES}}  # fmt: skip


@cache
def _closes() -> dict[str, float]:
    """By figure, and by the reason or the code of a way to end."""
    idle = of.SAMPLED * of.IDLE_TIMEOUTS_SAMPLED + (1 - of.SAMPLED) * of.IDLE_TIMEOUTS
    errors = of.SAMPLED * of.ERRORS_SAMPLED + (1 - of.SAMPLED) * of.ERRORS
    return {"idle_timeouts": idle, "errors": errors, "idle_timeout": idle, "0x10c": errors, "0x100": 1 - idle - errors}


@cache
def _races() -> dict[str, float]:
    won = of.SAMPLED * of.QUIC_WINS_SAMPLED + (1 - of.SAMPLED) * of.QUIC_WINS
    failed = (1 - won) * of.FAILS_OF_LOST
    quic = {f"quic_{q}": _quantile(q, of.QUIC_US, of.SIGMA_QUIC, of.SAMPLED * of.QUIC_WINS_SAMPLED / won)
            for q in _QUANTILES}  # fmt: skip
    tcp = {f"tcp_{q}": _quantile(q, of.TCP_US, of.SIGMA_TCP, of.SAMPLED * (1 - of.QUIC_WINS_SAMPLED) / (1 - won))
           for q in _QUANTILES}  # fmt: skip
    return {"won_by_quic": won, "quic_cancelled": 1 - won - failed, "quic_failed": failed,
            "quic_failed_with_handshake_timeout": failed, "ipv6_of_quic": of.IPV6, "second_won_of_quic": of.ADDED,
            "added_mean_of_quic": of.ADDED * of.ADDED_US, **quic, **tcp}  # fmt: skip


_BY_FIGURE: Mapping[str, Callable[[], dict[str, float]]] = {
    "loss": _losses,
    "handshake": _handshakes,
    "goodput": _goodput,
    "races": _races,
}


def _slower(row: Row) -> float:
    factor = of.SLOWER["implementation"] if row["implementation"] == "slower" else 1.0
    factor *= of.SLOWER["rtt"] if row["rtt"] == "to 100 ms" else 1.0
    return factor * (of.SLOWER["loss"] if row["loss"] == "to 2 %" else 1.0)
