"""A week of a large service, as counts by cell: Zipf's traffic of carriers and cities, most of it in few cells.

No request is made. Of each cell and window it is drawn how many requests there are, how many of them are slower than
each edge, and how many count in each share. Durations are lognormal, each cell has its own. The baseline rolls: it is
the 288 windows before. Requests are on their own, as are those of planted cells unless their kind says otherwise; or,
in a service that is `uneven`, every second cell's come in clusters that are alike, and over the day all odds swing by a
tenth up and down. Cells with few requests are pooled as queries/watch_counts.sql does it, by what they expect.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from quiclens_questions.watch import LEVELS, SAMPLES_MIN, SHARES
from scipy import stats

from quiclens_lab.watch_kinds import BASE, ChangeKind, Durations

PER_SECOND, WINDOW_S = 3_000, 300
CARRIERS, CITIES, REGIONS = 4_500, 600, 20
WINDOWS_BEFORE, STRIDE, STRETCHES = 288, 6, 48  # a day, of which every sixth window shows the dispersion
SWING, ALIKE = 0.1, 1.5  # of the odds over a day; mean size of a cluster in every second cell
PLANTED = 0.001  # of the traffic, of a cell that changes
SIGMAS = (0.7, 0.825, 0.95, 1.075, 1.2)
_RATIO = math.log(1.02)
_TESTS = len(LEVELS) + len(SHARES)
_OF_PARTS = np.array([name in ("handshake", "loss", "retransmission") for name in SHARES])

Key = tuple[str, ...]
Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """What does not change from window to window: names, requests expected in a window, and true shares."""

    keys: list[Key]
    expected: Floats
    cluster: Floats  # mean size
    swing: float
    edges: Counts  # buckets, by cell and level
    slower: Floats  # than the edges, the shares
    shares: Floats

    def only(self, kept: Counts) -> "Cells":
        """Those at these places."""
        keys = [self.keys[place] for place in kept]
        of = (
            self.expected[kept],
            self.cluster[kept],
            self.swing,
            self.edges[kept],
            self.slower[kept],
            self.shares[kept],
        )
        return Cells(keys, *of)


def durations(place: int) -> Durations:
    """Those of the cell at this place."""
    return Durations(60_000 * math.exp((place * 37 % 89) / 89), SIGMAS[place % len(SIGMAS)])


def cells(kinds: tuple[ChangeKind, ...] = (), is_uneven: bool = False) -> Cells:
    """The pools of the service, and behind them, for each kind, one cell of 0.1 % of the traffic for each sigma."""
    keys, expected = _pooled()
    planted = [(f"planted {kind.name}", "", str(place)) for kind in kinds for place in range(len(SIGMAS))]
    cluster = np.where(np.arange(len(keys)) % 2 == 0, 1.0, ALIKE if is_uneven else 1.0)
    rates = [PLANTED * PER_SECOND * WINDOW_S] * len(planted)
    clusters = [kind.cluster for kind in kinds for _ in SIGMAS]
    # The planted cells begin at a multiple of the number of sigmas, so that each kind has all of them.
    first = -(-len(keys) // len(SIGMAS)) * len(SIGMAS)
    places = [*range(len(keys)), *range(first, first + len(planted))]
    medians = np.array([durations(place).median for place in places])
    sigmas = np.array([durations(place).sigma for place in places])
    # Beyond the slowest request of the baseline is, on average, one of as many.
    levels = np.maximum(np.array(LEVELS)[None, :], 1 / (WINDOWS_BEFORE * np.array([*expected, *rates])[:, None]))
    at = np.log(medians)[:, None] + sigmas[:, None] * stats.norm.isf(levels)
    edges = np.floor(at / _RATIO)
    slower = stats.norm.sf(((edges + 1) * _RATIO - np.log(medians)[:, None]) / sigmas[:, None])
    differ = np.exp(0.3 * stats.norm.ppf((np.arange(len(places)) * 61 % 97 + 0.5) / 97))
    base = np.array(list(BASE.values()))
    shares = np.where(
        (np.arange(len(places)) < len(keys))[:, None], _odds(base[None, :], differ[:, None]), base[None, :]
    )
    return Cells(
        keys=[*keys, *planted],
        expected=np.array([*expected, *rates]),
        cluster=np.concatenate([cluster, clusters]),
        swing=SWING if is_uneven else 0.0,
        edges=edges.astype(np.int64),
        slower=slower,
        shares=shares,
    )


def _pooled() -> tuple[list[Key], list[float]]:
    """(carrier, region, city), (carrier, region), (carrier,) that expect enough requests; the rest is left out."""
    found: list[tuple[Key, float]] = []
    rest: dict[Key, float] = defaultdict(float)
    of_city = [1 / city / _harmonic(CITIES) for city in range(1, CITIES + 1)]
    for carrier in range(1, CARRIERS + 1):
        of_carrier = PER_SECOND * WINDOW_S / carrier / _harmonic(CARRIERS)
        for city, share in enumerate(of_city, start=1):
            key: Key = (str(carrier), str(city % REGIONS), str(city))
            if of_carrier * share >= SAMPLES_MIN:
                found.append((key, of_carrier * share))
            else:
                rest[key[:2]] += of_carrier * share
    while rest:
        above: dict[Key, float] = defaultdict(float)
        for key, rate in rest.items():
            if rate >= SAMPLES_MIN:
                found.append((key, rate))
            elif len(key) > 1:
                above[key[:-1]] += rate
        rest = above
    return [key for key, _ in found], [rate for _, rate in found]


def _harmonic(count: int) -> float:
    return math.log(count) + 0.5772156649 + 1 / (2 * count)


def _odds(share: Floats, times: Floats | float) -> Floats:
    """The share whose odds are so many times as large."""
    return np.asarray(share * times / (1 - share + share * times))


@dataclass(frozen=True)
class Drawn:
    """Of each cell: what counts and what of it is tested, by test."""

    hits: Counts
    of: Counts

    def only(self, kept: Counts) -> "Drawn":
        """Those of the cells at these places."""
        return Drawn(self.hits[kept], self.of[kept])

    def with_others(self, places: list[int], others: list["Drawn"]) -> "Drawn":
        """The counts of the cells at these places are others."""
        hits, of = self.hits.copy(), self.of.copy()
        for place, other in zip(places, others, strict=True):
            hits[place], of[place] = other.hits[0], other.of[0]
        return Drawn(hits, of)


def draw(
    random: np.random.Generator, expected: Floats, cluster: Floats, slower: Floats, shares: Floats, swing: float
) -> Drawn:
    """One window. Clusters are drawn, then how many requests each has: a geometric number of that mean size."""
    clusters = random.poisson(expected / cluster)
    beyond = np.empty_like(slower, dtype=np.int64)
    left, last = clusters, np.ones(len(expected))
    for level in range(slower.shape[1]):
        share = _odds(slower[:, level], swing)
        left = random.binomial(left, np.minimum(1.0, share / last))
        beyond[:, level], last = left, np.maximum(share, 1e-300)
    steps = -np.diff(np.column_stack([clusters, beyond, np.zeros(len(expected), dtype=np.int64)]), axis=1)
    sized = _sized(random, steps, cluster)
    of_all = sized.sum(axis=1)
    hits_durations = np.cumsum(sized[:, :0:-1], axis=1)[:, ::-1]
    hits_shares = np.empty((len(expected), len(SHARES)), dtype=np.int64)
    of_shares = np.empty_like(hits_shares)
    not_quic = _shared(random, of_all, _odds(shares[:, SHARES.index("not_quic")], swing), cluster)
    for place, name in enumerate(SHARES):
        of = of_all - not_quic if _OF_PARTS[place] else of_all
        of_shares[:, place] = of
        hits_shares[:, place] = (
            not_quic if name == "not_quic" else _shared(random, of, _odds(shares[:, place], swing), cluster)
        )
    of_durations = np.repeat(of_all[:, None], slower.shape[1], axis=1)
    return Drawn(np.hstack([hits_durations, hits_shares]), np.hstack([of_durations, of_shares]))


def _sized(random: np.random.Generator, clusters: Counts, cluster: Floats) -> Counts:
    """How many requests so many clusters have."""
    of = np.broadcast_to((1 / cluster).reshape(-1, *[1] * (clusters.ndim - 1)), clusters.shape)
    is_more = (clusters > 0) & (of < 1)
    sized = clusters.copy()
    sized[is_more] += random.negative_binomial(clusters[is_more], of[is_more])
    return sized


def _shared(random: np.random.Generator, of: Counts, share: Floats, cluster: Floats) -> Counts:
    """How many of the requests count, where those of a cluster all count or all do not."""
    clusters = np.ceil(of / cluster).astype(np.int64)
    that_count = random.binomial(clusters, share)
    hits, others = _sized(random, that_count, cluster), _sized(random, clusters - that_count, cluster)
    return np.asarray(np.rint(of * (hits / np.maximum(1, hits + others))), dtype=np.int64)


@dataclass(frozen=True)
class DrawnWindow:
    """A window with its baseline, and the sums over stretches that its dispersion is made of."""

    number: int
    swing: float
    now: Drawn
    before: Drawn
    scatter: Floats
    scatter_alone: Floats

    def only(self, kept: Counts, now: Drawn) -> "DrawnWindow":
        """The cells at these places, with these counts in the window."""
        of = (now.only(kept), self.before.only(kept), self.scatter[kept], self.scatter_alone[kept])
        return DrawnWindow(self.number, self.swing, *of)


class Week:
    """Windows one after the other; each has the 288 before it as its baseline."""

    def __init__(self, service: Cells, seed: int) -> None:
        self._cells = service
        self._random = np.random.default_rng(seed)
        count = len(service.keys)
        self._ring = [self._draw(number) for number in range(WINDOWS_BEFORE)]
        self._hits = sum((each.hits for each in self._ring), np.zeros((count, _TESTS), dtype=np.int64))
        self._of = sum((each.of for each in self._ring), np.zeros((count, _TESTS), dtype=np.int64))
        self._squares = [np.zeros((5, count, _TESTS)) for _ in range(STRIDE)]
        for number, each in enumerate(self._ring):
            self._squares[number % STRIDE] += _squares(each)

    def windows(self, count: int) -> Iterator[DrawnWindow]:
        """So many windows, the first of which has the first day before it."""
        for number in range(WINDOWS_BEFORE, WINDOWS_BEFORE + count):
            now = self._draw(number)
            scatter, alone = _scatter(self._squares[(number - 1) % STRIDE])
            yield DrawnWindow(
                number - WINDOWS_BEFORE, self._swing(number), now, Drawn(self._hits, self._of), scatter, alone
            )
            oldest = self._ring[number % WINDOWS_BEFORE]
            self._ring[number % WINDOWS_BEFORE] = now
            self._hits = self._hits + now.hits - oldest.hits
            self._of = self._of + now.of - oldest.of
            self._squares[number % STRIDE] += _squares(now) - _squares(oldest)

    def _draw(self, number: int) -> Drawn:
        each = self._cells
        drawn = draw(self._random, each.expected, each.cluster, each.slower, each.shares, self._swing(number))
        return Drawn(drawn.hits.astype(np.int32), drawn.of.astype(np.int32))  # a day of them is kept

    def _swing(self, number: int) -> float:
        return math.exp(self._cells.swing * math.sin(2 * math.pi * number / WINDOWS_BEFORE))


def _squares(drawn: Drawn) -> Floats:
    k, n = drawn.hits.astype(np.float64), drawn.of.astype(np.float64)
    return np.stack([k, n, k * k, k * n, n * n])


def _scatter(sums: Floats) -> tuple[Floats, Floats]:
    """As in queries/watch_counts.sql."""
    k, n, kk, kn, nn = sums
    share = np.divide(k, n, out=np.zeros_like(k), where=n > 0)
    scatter = np.maximum(0, kk - 2 * share * kn + share * share * nn) * STRETCHES / (STRETCHES - 1)
    return scatter, k * (1 - share)


def changed(random: np.random.Generator, kind: ChangeKind, service: Cells, place: int, swing: float) -> Drawn:
    """The counts of one planted cell, once it has changed."""
    of_cell = planted_durations(service, place)
    slower = kind.slower(of_cell, np.exp((service.edges[place] + 1) * _RATIO))
    shares = service.shares[place].copy()
    if kind.measure != "duration":
        shares[SHARES.index(kind.measure)] = kind.share
    of = slice(place, place + 1)
    slower_now = np.minimum.accumulate(slower[None, :], axis=1)
    return draw(random, service.expected[of], service.cluster[of], slower_now, shares[None, :], swing)


def planted_durations(service: Cells, place: int) -> Durations:
    """Those of a planted cell: as `cells` made them."""
    keys = sum(not key[0].startswith("planted ") for key in service.keys)
    return durations(-(-keys // len(SIGMAS)) * len(SIGMAS) + place - keys)


def columns(service: Cells, window: DrawnWindow) -> dict[str, Any]:
    """As queries/watch_counts.sql has them, by name."""
    return {
        "pool": service.keys,
        "requests": window.now.of[:, 0],
        "edges": service.edges,
        "of": window.now.of,
        "of_before": window.before.of,
        "hits": window.now.hits,
        "hits_before": window.before.hits,
        "scatter": window.scatter,
        "scatter_alone": window.scatter_alone,
    }
