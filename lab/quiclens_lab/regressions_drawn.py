"""Five minutes of a large service, as counts by cell: Zipf's traffic of carriers and cities, most of it in few cells.

No request is made. How many of a cell's earlier requests there are, where the rank-th slowest of them lies, and how
many of the new ones are beyond the end of its bucket are drawn from their distributions. Durations of a cell are
lognormal; each cell has its own. Cells with few requests are pooled as queries/regression_counts.sql does it.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from statistics import NormalDist

from quiclens_questions.watch import SAMPLES_MIN

PER_SECOND, WINDOW_S, BASELINE_S = 3_000, 300, 86_400
CARRIERS, CITIES, REGIONS = 4_500, 600, 20
STRETCHES = 12
REGRESSED = (4, 4)  # carrier and city by rank: 0.1 % of the traffic
_RATIO = math.log(1.02)
_ALONE_FROM = 5.0  # expected requests: a cell with fewer never has SAMPLES_MIN, to one in 100 million
_NORMAL = NormalDist()

Key = tuple[int, ...]


@dataclass(frozen=True)
class ChangeKind:
    """What happens in the one cell that changes, and how many requests of a client follow each other, all alike."""

    name: str
    change: str = ""  # twice: every request takes twice as long; few: as many more slow ones as double its p99
    alike: int = 1


KINDS = (ChangeKind("nothing"), ChangeKind("twice", "twice"), ChangeKind("few", "few"), ChangeKind("alike", "twice", 5))


@dataclass(frozen=True)
class Drawn:
    """One cell's counts, as queries/regression_counts.sql has them."""

    key: Key
    samples: int
    samples_before: int
    rank: int
    beyond: int
    beyond_before: int
    scatter: float
    scatter_alone: float


def draw(random: Random, kind: ChangeKind) -> Iterator[Drawn]:
    """Every cell of one window, pooled where it has few requests; the one without a name, of what is left, too."""
    for key, expected, samples in _pooled(random):
        yield _drawn(random, kind, key, expected, samples)


def _pooled(random: Random) -> Iterator[tuple[Key, float, int]]:
    """Cells as (carrier, region, city), (carrier, region), (carrier,) and (); requests expected, and drawn."""
    rest: dict[Key, list[float]] = defaultdict(lambda: [0.0, 0.0])
    alone, tails = _traffic()
    for key, expected in alone:
        samples = _poisson(random, expected)
        if samples >= SAMPLES_MIN:
            yield key, expected, samples
        else:
            _add(rest, key[:2], expected, samples)
    for key, expected in tails:
        _add(rest, key, expected, _poisson(random, expected))
    while rest:
        above: dict[Key, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for key, (expected, count) in rest.items():
            if count >= SAMPLES_MIN or not key:
                yield key, expected, int(count)
            else:
                _add(above, key[:-1], expected, count)
        rest = above


def _add(rest: dict[Key, list[float]], key: Key, expected: float, samples: float) -> None:
    rest[key][0] += expected
    rest[key][1] += samples


@cache
def _traffic() -> tuple[list[tuple[Key, float]], list[tuple[Key, float]]]:
    """Cells that can stand alone, and of each carrier and region the rest, with the requests expected in the window."""
    of_city = [1 / city / _harmonic(CITIES) for city in range(1, CITIES + 1)]
    alone: list[tuple[Key, float]] = []
    tails: list[tuple[Key, float]] = []
    for carrier in range(1, CARRIERS + 1):
        of_carrier = PER_SECOND * WINDOW_S / carrier / _harmonic(CARRIERS)
        left = [0.0] * REGIONS
        for city, share in enumerate(of_city, start=1):
            if of_carrier * share >= _ALONE_FROM:
                alone.append(((carrier, city % REGIONS, city), of_carrier * share))
            else:
                left[city % REGIONS] += of_carrier * share
        tails += [((carrier, region), expected) for region, expected in enumerate(left) if expected > 0]
    return alone, tails


def _harmonic(count: int) -> float:
    return math.log(count) + 0.5772156649 + 1 / (2 * count)


def _drawn(random: Random, kind: ChangeKind, key: Key, expected: float, samples: int) -> Drawn:
    before = _poisson(random, expected * BASELINE_S / WINDOW_S)
    rank = -(-before // 100)
    if not rank:
        return Drawn(key, samples, before, rank, 0, 0, 0.0, 0.0)
    # The share of all requests that is beyond the rank-th of so many: a beta distribution.
    beyond_rank = random.betavariate(rank / kind.alike, (before - rank + 1) / kind.alike)
    sigma = 0.7 + 0.5 * (hash(key) % 101) / 100
    median = math.log(60_000) + (hash(key) % 89) / 89
    edge = (math.floor((median - sigma * _NORMAL.inv_cdf(beyond_rank)) / _RATIO) + 1) * _RATIO
    beyond_edge = _above((edge - median) / sigma)
    is_changed = kind.change != "" and key[::2] == REGRESSED
    share = _changed(kind.change, edge, median, sigma) if is_changed else beyond_edge
    scatter, scatter_alone = _scatter(random, expected, beyond_edge, kind.alike)
    return Drawn(
        key=key,
        samples=samples,
        samples_before=before,
        rank=rank,
        beyond=_beyond(random, samples, share, kind.alike),
        beyond_before=_binomial(random, rank - 1, beyond_edge / beyond_rank),
        scatter=scatter,
        scatter_alone=scatter_alone,
    )


def _changed(change: str, edge: float, median: float, sigma: float) -> float:
    """The share of requests beyond the threshold once p99 has doubled."""
    if change == "twice":
        return _above((edge - math.log(2) - median) / sigma)
    twice_p99 = _above(_NORMAL.inv_cdf(0.99) + math.log(2) / sigma)
    more = (0.01 - twice_p99) / (1 - twice_p99)
    return more + (1 - more) * _above((edge - median) / sigma)


def _scatter(random: Random, expected: float, share: float, alike: int) -> tuple[float, float]:
    """As in queries/regression_counts.sql, over the stretches before the window."""
    counts = [_poisson(random, expected) for _ in range(STRETCHES)]
    slow = [_beyond(random, count, share, alike) for count in counts]
    mean = sum(slow) / max(sum(counts), 1)
    squares = sum((k - n * mean) ** 2 for k, n in zip(slow, counts, strict=True))
    return squares * STRETCHES / (STRETCHES - 1), sum(counts) * mean * (1 - mean)


def _beyond(random: Random, samples: int, share: float, alike: int) -> int:
    """How many of the samples are beyond a threshold, when so many at a time are alike; those left over are not."""
    return alike * _binomial(random, samples // alike, share)


def _above(z: float) -> float:
    return math.erfc(z / math.sqrt(2)) / 2


def _poisson(random: Random, mean: float) -> int:
    if mean > 50:
        return max(0, round(random.gauss(mean, math.sqrt(mean))))
    end, product, count = math.exp(-mean), random.random(), 0
    while product > end:
        product *= random.random()
        count += 1
    return count


def _binomial(random: Random, draws: int, share: float) -> int:
    """By the gaps between hits (Devroye, "Non-Uniform Random Variate Generation", X.4.3); of many, by the normal."""
    if draws <= 0 or share <= 0:
        return 0
    if share > 0.5:
        return draws - _binomial(random, draws, 1 - share) if share < 1 else draws
    if draws * share > 500:
        spread = math.sqrt(draws * share * (1 - share))
        return min(draws, max(0, round(random.gauss(draws * share, spread))))
    hits, place, log_miss = 0, 0, math.log1p(-share)
    while True:
        place += int(math.log(1 - random.random()) / log_miss) + 1
        if place > draws:
            return hits
        hits += 1
