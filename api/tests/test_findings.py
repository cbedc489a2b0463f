"""What is different about the slow ones: nothing on noise, the planted thing first."""

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from quiclens_schema import store as stores
from quiclens_schema.store import Store
from serve_process import start
from store_rows import plant

from quiclens_questions.different import Different, different, promise
from quiclens_questions.findings import Group, Population, design_effect, found
from quiclens_questions.statistics.distributions import binomial_tail

BASE = datetime(2026, 1, 1, tzinfo=UTC)
RUNS, REQUESTS, CONNECTION = 20, 3_000, 5


@pytest.mark.parametrize(
    ("hits", "draws", "share"), [(3, 10, 0.2), (1, 1, 0.5), (40, 200, 0.15), (0, 9, 0.3), (9, 9, 0.9)]
)
def test_the_binomial_tail_is_the_sum_of_its_terms(hits: int, draws: int, share: float) -> None:
    terms = (math.comb(draws, k) * share**k * (1 - share) ** (draws - k) for k in range(hits, draws + 1))
    assert math.isclose(binomial_tail(hits, draws, share), sum(terms), rel_tol=1e-9)


def test_requests_that_come_together_count_for_less() -> None:
    assert design_effect(1000, 100, 100, 1000, 10_000) == 1.0  # each its own connection's only one: no clusters
    # Ten chosen connections of ten requests, all ten of each chosen.
    assert design_effect(1000, 100, 10 * 100, 10 * 100, 100 * 100) == pytest.approx(10.0)


def test_a_pair_that_explains_it_comes_before_its_conditions() -> None:
    whole = Population(100_000, 5_000, 1.0)
    singles = [Group(("a",), 10_000, 900), Group(("b",), 10_000, 900), Group(("c",), 50_000, 2_500)]
    pairs = [Group(("a", "b"), 1_000, 450), Group(("a", "c"), 5_000, 450)]
    names = [(each.group.names, each.through) for each in found(singles, pairs, 100, whole)]
    assert names[0] == (("a", "b"), ())
    assert (("a", "c"), ()) not in names
    assert (("a",), ("a", "b")) in names


def test_what_stands_out_only_through_a_narrower_one_follows_and_names_it() -> None:
    """A server is slow, so its point of presence, its cluster, and a carrier there seem to be."""
    whole = Population(100_000, 5_000, 1.0)
    server = Group(("server=s1",), 2_000, 1_500)
    pop, cluster = Group(("pop=p1",), 10_000, 1_800), Group(("cluster=k1",), 40_000, 2_900)
    singles = [cluster, pop, server, Group(("carrier=c1",), 10_000, 900)]
    pairs = [
        Group(("cluster=k1", "server=s1"), 2_000, 1_500),
        Group(("pop=p1", "server=s1"), 2_000, 1_500),
        Group(("carrier=c1", "server=s1"), 500, 450),
        Group(("carrier=c1", "pop=p1"), 1_300, 490),
    ]
    names = {each.group.names: each.through for each in found(singles, pairs, 100, whole)}
    assert next(iter(names)) == ("server=s1",)
    assert names[("pop=p1",)] == ("server=s1",) and names[("cluster=k1",)] == ("server=s1",)
    assert names[("carrier=c1", "server=s1")] == () and names[("carrier=c1",)] == ("carrier=c1", "server=s1")
    # A pair of the wider place is there through that of the narrower.
    assert names.get(("carrier=c1", "pop=p1"), ("carrier=c1", "server=s1")) == ("carrier=c1", "server=s1")


def test_a_wide_one_that_is_slow_elsewhere_too_is_no_ones_shadow() -> None:
    whole = Population(100_000, 5_000, 1.0)
    singles = [Group(("pop=p1",), 10_000, 2_500), Group(("server=s1",), 2_000, 900)]
    pairs = [Group(("pop=p1", "server=s1"), 2_000, 900)]
    assert {each.group.names: each.through for each in found(singles, pairs, 100, whole)} == {
        ("pop=p1",): (),
        ("server=s1",): (),
    }


def test_edges_of_one_measured_attribute_are_one_finding() -> None:
    whole = Population(100_000, 5_000, 1.0)
    singles = [
        Group((f"bytes>={edge}",), requests, chosen, scales=("bytes>=",))
        for edge, requests, chosen in ((1, 50_000, 4_000), (2, 25_000, 3_500), (3, 10_000, 2_800), (4, 5_000, 2_000))
    ]
    (finding,) = found(singles, [], 0, whole)
    assert finding.group.names == ("bytes>=4",) and {each.group.names[0] for each in finding.nested} == {
        "bytes>=1",
        "bytes>=2",
        "bytes>=3",
    }


def test_a_symptom_explains_nothing() -> None:
    """Requests that lose packets are slow: that does not clear the server where they do."""
    whole = Population(100_000, 5_000, 1.0)
    lost = Group(("packets_lost>=5",), 3_000, 2_900, scales=("packets_lost>=",), is_symptom=True)
    singles = [Group(("server=s1",), 10_000, 3_100), lost, replace(lost, names=("packets_lost>=1",), requests=9_000)]
    findings = found(singles, [Group(("server=s1", "packets_lost>=5"), 3_000, 2_900)], 0, whole)
    assert [each.through for each in findings] == [(), ()]


def test_a_pair_is_looked_at_though_most_of_the_chosen_have_either() -> None:
    """Nine in ten of the slow have the carrier, nine in ten the server, and four in five both: no more than chance
    among the slow, and far more than among all."""
    whole = Population(100_000, 1_000, 1.0)
    one, other, both = Group(("a",), 20_000, 900), Group(("b",), 20_000, 900), Group(("a", "b"), 4_000, 810)
    everywhere = Group(("c",), 90_000, 990)
    usual = Group(("a", "c"), 18_000, 891)
    assert promise(one, other, both, whole) > promise(one, everywhere, usual, whole)
    assert promise(one, Group(("d",), 30_000, 900), Group(("a", "d"), 20_000, 900), whole) == 0  # a is within d


def test_what_a_trace_alone_tells_is_compared_among_traced_requests() -> None:
    """A tenth is traced, and of those three times as many are chosen as of others."""
    whole, traced = Population(100_000, 5_000, 1.0), (10_000, 1_300)
    every, half = Group(("stack=x",), 10_000, 1_300, traced), Group(("lost>=0",), 5_000, 640, traced)
    more = Group(("lost>=5",), 1_000, 400, traced)
    (finding,) = found([every, half, more], [], 0, whole)
    assert finding.group.names == ("lost>=5",) and finding.share_elsewhere == 0.1
    assert finding.excess == pytest.approx(300)


def test_two_names_of_the_same_requests_are_one_finding() -> None:
    whole = Population(100_000, 5_000, 1.0)
    singles = [Group(("city=x",), 1_000, 450), Group(("pop=x",), 1_000, 450), Group(("app=y",), 1_000, 450)]
    pairs = [Group(("city=x", "pop=x"), 1_000, 450), Group(("app=y", "city=x"), 10, 5)]
    assert [(each.group.names, each.also) for each in found(singles, pairs, 100, whole)] == [
        (("city=x",), ("pop=x",)),
        (("app=y",), ()),
    ]


@pytest.fixture(scope="module")
def populations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Hours of requests: the first RUNS are noise, in the next RUNS a pair of attributes is slow.

    In a process of its own: an engine has one folder.
    """
    folder = tmp_path_factory.mktemp("populations") / "store"
    count = 2 * RUNS * REQUESTS
    dice = "cityHash64(connection, {salt})"
    first, second = (f"(cityHash64(number, {salt}) % 1000003 + 1) / 1000004" for salt in (10, 11))  # Box and Muller
    plant(
        folder,
        f"""
        INSERT INTO request_versions (
            request_id, started_hour, started_at, connection_id, source, link, coverage, weight,
            complete, duration_us, carrier, region, network_type, device, app_version, pop, status, response_bytes)
        SELECT concat(toString(connection), '/', toString(number % {CONNECTION})), toStartOfHour(at), at,
            toString(connection), 'log', 'id', 'full', 1, true,
            toUInt64(exp(10 + 0.6 * sqrt(-2 * log({first})) * cos(2 * pi() * {second})
                + 0.4 * ({dice.format(salt=9)} % 1000 / 500 - 1)
                + if(number >= {count // 2} AND carrier = 'c3' AND device = 'd2', 1.2, 0))),
            concat('c', toString({dice.format(salt=1)} % 8)) AS carrier,
            concat('r', toString({dice.format(salt=2)} % 5)), ['wifi', '4g', '5g'][1 + {dice.format(salt=3)} % 3],
            concat('d', toString({dice.format(salt=4)} % 4)) AS device,
            concat('v', toString({dice.format(salt=5)} % 6)),
            concat('p', toString({dice.format(salt=6)} % 4)), 200, cityHash64(number, 12) % 100000
        FROM (SELECT number, intDiv(number, {CONNECTION}) AS connection,
            toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + toIntervalHour(intDiv(number, {REQUESTS}))
                + toIntervalMillisecond(number % {REQUESTS}) AS at FROM numbers({count}))
        """,
    )
    served = start(folder, "--keep-events", "0", "--keep-summaries", "0")
    with stores.open(served.store_url) as store:
        yield store
    assert served.stop() == 0


def _asked(run: int) -> Different:
    since = BASE + timedelta(hours=run)
    return Different(since=since, until=since + timedelta(hours=1))


def test_noise_is_not_reported(populations: Store) -> None:
    reported = sum(bool(different(populations, _asked(run))["findings"]) for run in range(RUNS))
    assert reported <= 0.05 * RUNS


@pytest.mark.long
def test_a_planted_pair_is_found_first(populations: Store) -> None:
    first = 0
    for run in range(RUNS, 2 * RUNS):
        findings = different(populations, _asked(run))["findings"]
        names = {(each["attribute"], each["value"]) for each in findings[0]["conditions"]} if findings else set()
        first += names == {("carrier", "c3"), ("device", "d2")}
    assert first >= 0.95 * RUNS
