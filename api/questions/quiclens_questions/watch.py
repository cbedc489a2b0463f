"""`/api/v1/watch`: cells that have just become worse, and that chance alone would hardly have found in a week.

The whole test is one statement, queries/watch.sql, which Grafana's alert rule asks too. It has no state: the answer
for a window depends on the rollups of the window and its baseline alone, so that it is the same after a restart.

What is tested. Of each cell six measures: `duration`, and shares of requests: `failed`; `handshake`, that waited for a
handshake; `not_quic`, that went over something else than QUIC; `loss`, that lost a packet; `retransmission`, that
waited for lost data to be sent again or for a probe. A duration is worse if more requests than before are slower than
one of eleven edges, which are the ends of the histogram's buckets in which the slowest 10 % to 0.01 % of the baseline
begin, and of that of the slowest of all. A change of the slowest hundredth alone does not change the share beyond p99;
it changes the share beyond p99.9. The eleven chances make one as Simes does it (Biometrika 73, 1986), which holds for
tests that are positively dependent (Sarkar, Annals of Statistics 26, 1998), as those of nested tails are. It is the
statistic of Berk and Jones (Zeitschrift für Wahrscheinlichkeitstheorie 47, 1979) on a grid; like higher criticism
(Donoho and Jin, Annals of Statistics 32, 2004) it finds a few requests that are far too slow.

The test. k of n requests of the window count, x of m of the baseline. Were all requests on their own, the chance of k
or more would be Fisher's: beta-binomial with x + 1 and m - x, whatever the distribution of durations (Gumbel and von
Schelling, Annals of Mathematical Statistics 21, 1950). Requests of one user or connection are alike, and a day has
hours of its own; both make the shares of windows vary more, by a factor, the dispersion. The beta-binomial
distribution keeps its mean, and its variance is multiplied by the dispersion, so that its tail is as heavy as clusters
make it (Crowder, Applied Statistics 27, 1978). The dispersion is Pearson's over up to 48 stretches of the baseline:
that of all cells, and that of the cell, each with the weight of what is known of it (Efron and Morris, JASA 70, 1975),
never below 1. A request counts for as many as it stands for; all of them are worth the effective sample size (Kish,
"Survey Sampling", 11.7).

Size. The odds must be 1.5 times those of the baseline (`TIMES_MIN`): what is sure and small is not told.

Many tests, again and again. False discoveries among all that is found in a week are 5 % (`RATE`, `RATE_OVER_S`). Of
each window those are found whose false discovery rate is its part of the 5 %, by Benjamini and Hochberg (Journal of
the Royal Statistical Society B 57, 1995) over all tests of the window: a window of five minutes has 1 / 2,016 of it.
This is Batch-BH (Zrnic, Jiang, Ramdas and Jordan, AISTATS 2020) with equal parts and without what it gives back for
discoveries. Those rewards, and LORD++, SAFFRON and ADDIS, need chances that are independent of earlier ones, and a
state. Windows share their baseline, so chances are not independent, and a reward of ten discoveries would lower what a
change needs by one request. With equal parts no independence of windows is needed: the share of false ones of a week
is at most the sum over its windows of V / max(R, 1), whose means sum to 5 %. So it holds for every 2,016 windows,
wherever they begin; with nothing wrong, one week in twenty has a false report. Within a window, tests are positively
dependent at most, where Benjamini and Hochberg's rule holds (Benjamini and Yekutieli, Annals of Statistics 29, 2001).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from quiclens_schema.store import Store

from quiclens_questions.report import Report
from quiclens_questions.statements import ask, sql

BUCKET_S = 300  # of request_rollups
DIMENSIONS = ("carrier", "region", "city", "pop", "protocol", "network_type", "app_version", "server_release")
BY = ("carrier", "region", "city")
BY_AT_MOST = 4  # so many times queries/watch_counts.sql makes cells larger
WINDOW_S, BASELINE_S = BUCKET_S, 86_400
SAMPLES_MIN, SAMPLES_BEFORE_MIN = 20, 1_000  # below these a cell is pooled, or left out
RATE = 0.05  # false discoveries among those found
RATE_OVER_S = 7 * 86_400  # in this time
TIMES_MIN = 1.5
LEVELS = (0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0003, 0.0001, 0.0)
"""Shares of the baseline beyond the edges of durations; nothing of it is beyond the last."""
TRUST_IN_COMMON = 16.0
"""For how many stretches of a cell's own the dispersion of all cells counts."""
SHARES = ("failed", "handshake", "not_quic", "loss", "retransmission")
"""The measures besides `duration`, in the order in which queries/watch_counts.sql has them."""


def judged(window_s: int = WINDOW_S, columns: int = len(BY)) -> dict[str, Any]:
    """What the statement takes besides a time and two lengths."""
    return {
        "samples_min": SAMPLES_MIN,
        "samples_before_min": SAMPLES_BEFORE_MIN,
        "level": level(window_s),
        "times_min": TIMES_MIN,
        "trust_in_common": TRUST_IN_COMMON,
        "columns": columns,
    }


def level(window_s: int) -> float:
    """The part of `RATE` that one window has."""
    return RATE * min(1.0, window_s / RATE_OVER_S)


_PARAMETER = re.compile(r"\{(\w+):[^}]+\}")

Row = dict[str, Any]


@dataclass(frozen=True)
class Watch:
    """The window that ends at the last whole five minutes before `until`, and the stretch before it."""

    until: datetime
    window_s: int = WINDOW_S
    baseline_s: int = BASELINE_S
    by: tuple[str, ...] = BY

    @property
    def ends_at(self) -> datetime:
        return datetime.fromtimestamp(self.until.timestamp() // BUCKET_S * BUCKET_S, UTC)

    @property
    def begins_at(self) -> datetime:
        return self.ends_at - timedelta(seconds=self.window_s)

    @property
    def before_at(self) -> datetime:
        return self.begins_at - timedelta(seconds=self.baseline_s)

    def parameters(self) -> Row:
        until = self.ends_at.strftime("%Y-%m-%d %H:%M:%S")
        lengths = {"window_s": self.window_s, "baseline_s": self.baseline_s, "levels": list(LEVELS)}
        return {"until": until, **lengths, **judged(self.window_s, len(self.by))}


def watch(store: Store, asked: Watch) -> Report:
    """One row per cell and measure found, the surest first; `samples` are the window's requests in tested cells."""
    rows = ask(store, "watch", asked.parameters(), by=asked.by).dicts()
    totals = rows[0] if rows else dict.fromkeys(_TOTALS, 0)
    return Report(
        name="watch",
        params={
            "by": list(asked.by),
            "since": asked.begins_at,
            "until": asked.ends_at,
            "baseline_since": asked.before_at,
            "rate": RATE,
            "rate_over_s": RATE_OVER_S,
            "level": level(asked.window_s),
            "times_min": TIMES_MIN,
            "tests": totals["tests"],
            "tested": totals["cells_tested"],
            "tested_pooled": totals["pools_tested"],
            "left_out": totals["cells_left_out"],
            "left_out_requests": totals["requests_left_out"],
        },
        columns=tuple(_columns(asked.by)),
        rows=[list(_values(cell, asked.by)) for cell in rows if cell["is_found"]],
        samples=totals["requests_tested"],
        coverage={
            "requests": totals["requests_all"],
            "traced": totals["traced_all"],
            "weight": totals["weight_all"],
        },
    )


_TOTALS = (
    "tests",
    "cells_tested",
    "pools_tested",
    "requests_tested",
    "cells_left_out",
    "requests_left_out",
    "requests_all",
    "traced_all",
    "weight_all",
)


def alert_sql(by: Sequence[str], until: str, window_s: int = WINDOW_S, baseline_s: int = BASELINE_S) -> str:
    """The same statement for who cannot bind parameters: `until` is an expression of theirs, the rest our own."""
    lengths = {"window_s": window_s, "baseline_s": baseline_s, "levels": list(LEVELS)}
    values = {"until": until, **lengths, **judged(window_s, len(by))}
    text = sql("watch").replace("/* by */", ", ".join(f"toString(`{column}`)" for column in by))
    return _PARAMETER.sub(lambda found: str(values[found[1]]), text)


def _columns(by: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from ((name, "") for name in by)
    yield from (("pooled", ""), ("cells", ""), ("measure", ""))
    yield from (("p99", "us"), ("p99_before", "us"), ("beyond_us", "us"))
    yield from (
        ("share", "share"),
        ("share_before", "share"),
        ("times_more", ""),
        ("dispersion", ""),
        ("p", ""),
        ("q", ""),
    )
    yield from (("samples", ""), ("samples_before", ""))


def _values(cell: Row, by: Sequence[str]) -> Iterator[Any]:
    """A column that nobody knows is null, and so are the last `pooled` columns, over which the cell was pooled."""
    known = [value or None for value in cell["pool"]]
    yield from (*known, *[None] * (len(by) - len(known)))
    yield from (len(by) - len(known), cell["cells"], cell["measure"])
    yield from (None if cell[name] is None else round(cell[name]) for name in ("p99", "p99_before", "beyond_us"))
    now, before = cell["k"] / cell["n"], cell["x"] / cell["m"]
    yield from (round(now, 6), round(before, 6), round(now / before, 2) if before else None)
    yield round(cell["dispersion"], 3)
    yield from (float(f"{cell[name]:.3g}") for name in ("p", "q"))
    yield from (round(cell["n"]), round(cell["m"]))
