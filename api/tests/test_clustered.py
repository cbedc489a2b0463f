"""What the engine sums up of samples, against the same said sample by sample."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from quiclens_schema import store as stores
from quiclens_schema.store import Store

from quiclens_questions import clustered, statements
from quiclens_questions.report import ReportQuestion
from quiclens_questions.statistics.clusters import Clusters, Places, quantile_ends, share

WANTED = [0.5, 0.75, 0.99]


@dataclass(frozen=True)
class Sample:
    """One drawn: `number` of them are alike, of which `hits` count, and they stand for `weight` each."""

    group: str
    cluster: str
    value: int
    weight: float
    number: int
    hits: int

    @property
    def own(self) -> float:
        return self.weight * self.number


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with stores.open(f"chdb:{tmp_path_factory.mktemp('drawn') / 'store'}") as opened:
        opened.command(
            "CREATE TABLE drawn (carrier String, cluster String, value UInt64, weight Float64, number UInt64,"
            " hits UInt64) ENGINE = Memory"
        )
        yield opened


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions whose samples are the rows of `drawn`; `shared` says what a share is of, and `counted` has counts too.
    Only samples below a million have a value in those."""
    drawn = "SELECT /* key columns */ cluster AS sample_cluster, value, weight, number, hits FROM drawn"
    less = drawn.replace("number, hits", "if(value < 1e6, d.number, 0) AS number, hits") + " AS d"
    shared = less.replace(" FROM", ", weight * 2 AS counted_weight, d.number AS counted FROM")
    counted = shared.replace(" FROM", ", [1, toFloat64(d.number), weight] AS counts FROM")
    questions, known = {"drawn": drawn, "less": less, "shared": shared, "counted": counted}, statements.sql
    monkeypatch.setattr(statements, "sql", lambda name: questions.get(name) or known(name))


def drawn(store: Store, samples: Sequence[Sample]) -> list[Sample]:
    store.command("TRUNCATE TABLE drawn")
    columns = list(zip(*((s.group, s.cluster, s.value, s.weight, s.number, s.hits) for s in samples), strict=True))
    kinds = ("Array(String)", "Array(String)", "Array(UInt64)", "Array(Float64)", "Array(UInt64)", "Array(UInt64)")
    arrays = ", ".join(f"{{c{place}:{kind}}} AS a{place}" for place, kind in enumerate(kinds))
    names = ", ".join(f"a{place}" for place in range(len(kinds)))
    store.command(
        f"INSERT INTO drawn SELECT * FROM (SELECT {arrays}) ARRAY JOIN {names}",
        {f"c{place}": list(column) for place, column in enumerate(columns)},
    )
    return list(samples)


def population(seed: int, many: int, weights: Sequence[float], numbers: Sequence[int], values: int) -> list[Sample]:
    chance = random.Random(seed)
    found = []
    for place in range(many):
        group = f"group {place % 3}"
        number = chance.choice(numbers)
        value = min(values, int(chance.lognormvariate(0, 1) * values / 20))
        cluster = f"{group}, {chance.randrange(max(1, many // 20))}"
        found.append(Sample(group, cluster, value, chance.choice(weights), number, chance.randint(0, number)))
    return found


POPULATIONS = {
    "of one weight": population(1, 6_000, [1.0], [1], 10**9),
    "of another weight": population(2, 900, [7.0], [1], 10**9),
    "of many weights": population(3, 6_000, [1.0, 10.0, 0.25], [1], 10**9),
    "counted": population(4, 2_000, [1.0, 3.0], [1, 2, 500], 10**9),
    "with ties": population(5, 3_000, [1.0, 2.0], [1], 40),
    "few": population(6, 9, [1.0, 5.0], [1, 2], 100),
    "one": population(7, 1, [3.0], [2], 100),
}
NOTHING = Sample("none", "none", 1, 2.0, 0, 0)
"""Is there, and counts nothing."""


def summed(samples: Sequence[Sample], cut: float | None = None) -> Clusters:
    """Of samples up to a cut, or of hits."""
    of: dict[str, list[Sample]] = {}
    for each in samples:
        of.setdefault(each.cluster, []).append(each)

    def counted(each: Sample) -> float:
        return each.hits if cut is None else each.number if each.value <= cut else 0

    whole = math.fsum(each.own for each in samples)
    n = [math.fsum(each.own for each in some) for some in of.values()]
    a = [math.fsum(each.weight * counted(each) for each in some) for some in of.values()]
    left = [1 + part / whole + (part / whole) ** 2 for part in n]
    return Clusters(
        len(of),
        whole,
        math.fsum(each.weight**2 * each.number for each in samples),
        math.fsum(part**2 for part in n),
        math.fsum(a),
        math.fsum(each.weight**2 * counted(each) for each in samples),
        math.fsum(hit**2 * rest for hit, rest in zip(a, left, strict=True)),
        math.fsum(hit * part * rest for hit, part, rest in zip(a, n, left, strict=True)),
        math.fsum(part**2 * rest for part, rest in zip(n, left, strict=True)),
    )


def sorted_places(samples: Sequence[Sample]) -> tuple[list[float], list[float]]:
    """Where each sample lies, and its value."""
    whole, below, at, values = math.fsum(each.own for each in samples), 0.0, [], []
    for each in sorted(samples, key=lambda each: each.value):
        at.append((below + each.own / 2) / whole)
        values.append(float(each.value))
        below += each.own
    return at, values


@pytest.mark.parametrize("name", POPULATIONS)
def test_quantiles_and_their_intervals_are_those_of_the_samples(store: Store, asked: None, name: str) -> None:
    samples = drawn(store, POPULATIONS[name])
    found = clustered.sampled(store, "drawn", ReportQuestion(), ("carrier",), WANTED, {})
    groups = {group: [each for each in samples if each.group == group] for group in {each.group for each in samples}}
    assert {key for (key,) in found.by_key} == set(groups) and found.all == len(groups)
    assert found.samples == sum(each.number for each in samples)
    for group, own in groups.items():
        told, whole = found.by_key[(group,)], math.fsum(each.own for each in own)
        assert told.samples == sum(each.number for each in own) and told.weight == pytest.approx(whole)
        assert told.clusters == len({each.cluster for each in own})
        at, values = sorted_places(own)
        places = Places.of(at, values)
        for quantile, estimate in zip(WANTED, told.quantiles, strict=True):
            if estimate.value is None:
                assert told.samples < 1 / min(quantile, 1 - quantile) + 1e-9
                continue
            upto = [math.fsum(each.own for each in own if each.value <= value) for value in values]
            assert estimate.value == next(
                value for value, sum_of in zip(values, upto, strict=True) if sum_of >= quantile * whole * (1 - 1e-9)
            )
            there, median = summed(own, estimate.value), summed(own, told.quantiles[0].value)
            error = math.sqrt(quantile * (1 - quantile) * there.squares) / whole
            for level, end in zip(quantile_ends(quantile, there, median), (estimate.low, estimate.high), strict=True):
                if level is None:
                    assert end is None
                else:
                    around = [places.value(level + side * error / 3) for side in (-1, 1)]
                    assert end is not None
                    assert min(around[0], estimate.value) <= end <= max(around[1], estimate.value)
            assert estimate.low is None or estimate.low <= estimate.value
            assert estimate.high is None or estimate.value <= estimate.high


@pytest.mark.parametrize("name", POPULATIONS)
def test_shares_are_those_of_the_samples(store: Store, asked: None, name: str) -> None:
    samples = drawn(store, [*POPULATIONS[name], NOTHING])
    found = clustered.shares(store, "drawn", ReportQuestion(), ("carrier",), {}).by_key
    assert (NOTHING.group,) not in found
    for group in {each.group for each in samples} - {NOTHING.group}:
        own, told = [each for each in samples if each.group == group], found[(group,)]
        expected = share(summed(own))
        assert told.share.rounded(9) == [pytest.approx(each, abs=1e-9) for each in expected.ends]
        assert (told.samples, told.hits) == (sum(each.number for each in own), sum(each.hits for each in own))
        assert told.clusters == len({each.cluster for each in own})


@pytest.mark.parametrize("name", POPULATIONS)
def test_quantiles_a_share_and_counts_are_told_at_once(store: Store, asked: None, name: str) -> None:
    """The quantiles are those that are told alone; the share is of all samples, also of those that have no value;
    counts are of everything there is, and each of their groups is there."""
    samples = drawn(store, [*POPULATIONS[name], NOTHING])
    by = ("carrier",)
    alone = clustered.sampled(store, "less", ReportQuestion(), by, WANTED, {})
    for question in ("shared", "counted"):
        found = clustered.sampled(store, question, ReportQuestion(), by, WANTED, {})
        assert found.samples == alone.samples
        for group in {each.group for each in samples} - {NOTHING.group}:
            own, told = [each for each in samples if each.group == group], found.by_key[(group,)]
            expected = share(summed(own))
            assert told.shared is not None and told.shared.weight == pytest.approx(2 * sum(each.own for each in own))
            assert told.shared.share.rounded(9) == [pytest.approx(each, abs=1e-9) for each in expected.ends]
            counted, hits = sum(each.number for each in own), sum(each.hits for each in own)
            assert (told.shared.samples, told.shared.hits) == (counted, hits)
            assert told.shared.clusters == len({each.cluster for each in own})
            same = alone.by_key.get((group,))
            assert [each.ends for each in told.quantiles] == (
                [tuple(map(pytest.approx, each.ends)) for each in same.quantiles]
                if same
                else [(None,) * 3] * len(WANTED)
            )
            if question == "counted":
                weights = math.fsum(each.weight for each in own)
                assert list(told.counts) == [pytest.approx(each) for each in (len(own), counted, weights)]
    told = found.by_key[(NOTHING.group,)]
    assert list(told.counts) == [1, 0, 2.0] and told.clusters == 0
    assert told.shared is not None and told.shared.share.value is None
    every = [each.counts for each in found.by_key.values()]
    assert list(found.counts) == [pytest.approx(math.fsum(each)) for each in zip(*every, strict=True)]
    first = clustered.sampled(store, "counted", ReportQuestion(), by, WANTED, {}, most=1)
    assert first.all == len(every) and list(first.counts) == list(found.counts)
    (most,) = first.by_key.values()
    assert most.counts[0] == max(each[0] for each in every)


def test_requests_that_all_ran_into_one_limit_have_the_interval_of_all(store: Store, asked: None) -> None:
    """Sums of weights that are no whole numbers differ in their last bits, by the order in which they are made."""
    chance = random.Random(8)
    samples = []
    for place in range(300 * 100):
        group, value = f"group {place % 300}", 30 if chance.random() < 0.6 else chance.randrange(30)
        weight = chance.choice([1 / 0.3, 1 / 0.07, 1.1])
        samples.append(Sample(group, f"{group}, {chance.randrange(40)}", value, weight, 1, 0))
    drawn(store, samples)
    found = clustered.sampled(store, "drawn", ReportQuestion(), ("carrier",), WANTED, {})
    assert len(found.by_key) == 300
    for told in found.by_key.values():
        for estimate in told.quantiles:
            assert estimate.value is not None and (estimate.low or 0) <= estimate.value <= (estimate.high or 30)


def test_without_samples_there_are_no_groups(store: Store, asked: None, tmp_path: Path) -> None:
    store.command("TRUNCATE TABLE drawn")
    assert not clustered.sampled(store, "drawn", ReportQuestion(), (), WANTED, {}).by_key
    assert not clustered.shares(store, "drawn", ReportQuestion(), (), {}).by_key
