"""The twenty kinds of change that `quiclens-lab watch` plants, how many it must find, and what any test can find.

Durations of a cell are lognormal. A kind says which share of requests is slower than a length once it has changed, or
what a share of requests becomes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from quiclens_questions.watch import SHARES
from scipy import special, stats

ALL, TAIL = 0.95, 0.80  # of the windows, found: where everything doubles, where only the tail changes
BASE = dict(zip(SHARES, (0.01, 0.15, 0.40, 0.15, 0.10), strict=True))
"""Shares of requests before anything changes."""
_WINDOWS_BEFORE = 288
CLUSTER = 3.0  # mean requests of a user whose requests are alike: the dispersion is 5


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Durations:
    """Lognormal durations of one cell, in us."""

    median: float
    sigma: float

    def slower(self, us: Floats) -> Floats:
        """The shares that are slower."""
        return np.asarray(special.ndtr(-np.log(np.maximum(us, 1e-9) / self.median) / self.sigma))

    def quantile(self, share: float) -> float:
        """Slower than this is that share."""
        return self.median * math.exp(self.sigma * float(stats.norm.isf(share)))


@dataclass(frozen=True)
class ChangeKind:
    """What happens in the cell, which measure shows it, and in how many windows it must be found."""

    name: str
    measure: str
    least: float
    slower: Callable[[Durations, Floats], Floats] = Durations.slower
    share: float = 0.0
    cluster: float = 1.0


def _times(times: float) -> Callable[[Durations, Floats], Floats]:
    return lambda durations, us: durations.slower(us / times)


def _slowest_times(share: float, times: float) -> Callable[[Durations, Floats], Floats]:
    """The slowest take so many times as long."""

    def slower(durations: Durations, us: Floats) -> Floats:
        edge = durations.quantile(share)
        between = np.maximum(0.0, durations.slower(us) - share)
        return durations.slower(np.maximum(edge, us / times)) + between

    return slower


def _some_longer(share: float, us_longer: float) -> Callable[[Durations, Floats], Floats]:
    """So many, whichever, take so much longer."""
    return lambda durations, us: (1 - share) * durations.slower(us) + share * durations.slower(us - us_longer)


def _p99_twice(durations: Durations, us: Floats) -> Floats:
    """As many more very slow requests as double p99."""
    now = float(durations.slower(np.array(2 * durations.quantile(0.01))))
    more = (0.01 - now) / (1 - now)
    return more + (1 - more) * durations.slower(us)


def _of(measure: str, name: str, share: float) -> ChangeKind:
    return ChangeKind(name, measure, TAIL, share=share)


KINDS = (
    ChangeKind("everything takes twice as long", "duration", ALL, _times(2)),
    ChangeKind("everything takes twice as long, requests alike", "duration", ALL, _times(2), cluster=CLUSTER),
    ChangeKind("the slowest 10 % take twice as long", "duration", TAIL, _slowest_times(0.1, 2)),
    ChangeKind(
        "the slowest 10 % take thrice as long, requests alike", "duration", TAIL, _slowest_times(0.1, 3), 0, CLUSTER
    ),
    ChangeKind("the slowest 5 % take twice as long", "duration", TAIL, _slowest_times(0.05, 2)),
    ChangeKind("the slowest 5 % take thrice as long", "duration", TAIL, _slowest_times(0.05, 3)),
    ChangeKind("the slowest 1 % take thrice as long", "duration", TAIL, _slowest_times(0.01, 3)),
    ChangeKind("the slowest 1 % take ten times as long", "duration", TAIL, _slowest_times(0.01, 10)),
    ChangeKind("p99 doubles by a few very slow requests", "duration", TAIL, _p99_twice),
    ChangeKind("1 % take 500 ms longer", "duration", TAIL, _some_longer(0.01, 5e5)),
    ChangeKind("2 % take 500 ms longer", "duration", TAIL, _some_longer(0.02, 5e5)),
    ChangeKind("5 % take 500 ms longer", "duration", TAIL, _some_longer(0.05, 5e5)),
    ChangeKind("2 % take 3 s longer", "duration", TAIL, _some_longer(0.02, 3e6)),
    _of("failed", "1 point more fail", BASE["failed"] + 0.01),
    _of("failed", "3 points more fail", BASE["failed"] + 0.03),
    _of("failed", "10 points more fail", BASE["failed"] + 0.10),
    _of("handshake", "twice as many wait for a handshake", 2 * BASE["handshake"]),
    _of("not_quic", "QUIC use falls by a third", BASE["not_quic"] + (1 - BASE["not_quic"]) / 3),
    _of("loss", "twice as many lose packets", 2 * BASE["loss"]),
    _of("retransmission", "twice as many wait for a retransmission", 2 * BASE["retransmission"]),
)


def most(kind: ChangeKind, durations: Durations, requests: float, chance: float) -> float:
    """How often a test finds the change that knows the best length to look at beforehand, and of the baseline every
    share that one request in it can show.

    It is the binomial test of so many requests at this chance of a false report, the most powerful one of the share
    beyond a length (Neyman and Pearson, Philosophical Transactions A 231, 1933). Requests that are alike count
    as fewer.
    """
    number = round(requests / (2 * kind.cluster - 1))
    before, now = np.array([BASE.get(kind.measure, 0.0)]), np.array([kind.share])
    if kind.measure == "duration":
        lengths = durations.median * np.exp(durations.sigma * special.ndtri(1 - 10 ** -np.linspace(0.25, 7, 55)))
        before = np.maximum(durations.slower(lengths), 1 / (_WINDOWS_BEFORE * requests))
        now = kind.slower(durations, lengths)
    power = stats.binom.sf(stats.binom.isf(chance, number, before), number, np.minimum(now, 1))
    return float(np.max(np.where(now > before, power, 0)))


def needed(kind: ChangeKind, durations: Durations, chance: float) -> int:
    """How many requests that test needs to find the change as often as asked, to a tenth."""
    requests = 100.0
    while most(kind, durations, requests, chance) < kind.least and requests < 1e6:
        requests *= 1.1
    return round(requests)
