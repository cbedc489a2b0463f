"""Cells that became worse: the statement's chance against scipy's, each measure, pools, weights, and who is asked."""

import json
import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store
from scipy import stats
from starlette.testclient import TestClient

from quiclens_questions.statements import sql
from quiclens_questions.watch import RATE, RATE_OVER_S, SHARES, Watch, alert_sql, judged, level, watch
from quiclens_web.api.app import create_app
from quiclens_web.api.settings import ApiSettings

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
FAST, SLOW, SLOWER = 500, 600, 700  # buckets
Row = dict[str, Any]


def rollup(cell: str, counts: dict[int, int], minutes_ago: int = 60, weight: float = 1, **more: Any) -> Row:
    """Five minutes of requests, each of which stands for so many."""
    at = NOON - timedelta(minutes=minutes_ago)
    samples = sum(counts.values())
    carrier, region, city = [*cell.split("/"), None, None][:3]
    sums = {"weight": samples * weight, "weight_squares": samples * weight**2}
    sums |= {f"{of}_weight_squares": samples * weight**2 for of in ("measured", "ended", "parts")}
    row = {
        "started_hour": at.strftime("%Y-%m-%d %H:00:00"),
        "bucket_at": at.strftime("%Y-%m-%d %H:%M:00"),
        **{"carrier": carrier, "region": region, "city": city, "protocol": "h3"},
        **{"requests": samples, "measured": samples, "traced": samples, "ended_weight": samples * weight},
        "parts_weight": samples * weight,
        "duration_histogram": {bucket: count * weight for bucket, count in counts.items()},
    }
    return row | sums | more


def day(cell: str, **more: Any) -> Iterator[Row]:
    """A day in which one of a hundred is slow: 100 requests in each five minutes."""
    return (rollup(cell, {FAST: 99, SLOW: 1}, minutes, **more) for minutes in range(10, 1445, 5))


def changed(cell: str, beyond: int, samples: int = 200) -> list[Row]:
    """That day, and a window in which so many are slower than those."""
    return [*day(cell), rollup(cell, {FAST: samples - beyond, SLOWER: beyond}, minutes_ago=5)]


def fill(store: Store, *rows: Row) -> None:
    lines = "\n".join(json.dumps(row) for row in rows)
    store.command(f"INSERT INTO rollup_versions FORMAT JSONEachRow\n{lines}")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with stores.open(f"chdb:{tmp_path / 'store'}") as opened:
        migrate(opened)
        yield opened


def found(store: Store, **asked: Any) -> list[Row]:
    return watch(store, Watch(NOON, **asked)).dicts()


def chances(
    store: Store, counts: Iterable[tuple[int, int, int, int]], dispersion: float = 1, times: float = 1
) -> list[float]:
    """What the statement says of k of n in the window and x of m before it, once the dispersion is known."""
    sizes = [0.0] * len(SHARES)
    lines: list[Row] = [
        {
            "pool": [f"{place:05}"],
            "of": [n, *sizes],
            "of_before": [m, *sizes],
            "hits": [k, *sizes],
            "hits_before": [x, *sizes],
        }
        for place, (k, n, x, m) in enumerate(counts)
    ]
    store.command(
        "CREATE OR REPLACE TABLE counts (pool Array(String), cells UInt64 DEFAULT 1, requests UInt64 DEFAULT 1,"
        " traced UInt64, weight Float64, edges Array(UInt16) DEFAULT [1], p99_bucket UInt16, p99_bucket_before UInt16,"
        " of Array(Float64), of_before Array(Float64), hits Array(Float64), hits_before Array(Float64),"
        f" scatter Array(Float64) DEFAULT arrayMap(_ -> {float(dispersion)}, of),"
        " scatter_alone Array(Float64) DEFAULT arrayMap(_ -> 1., of), stretches UInt32 DEFAULT 1000000000)"
        " ENGINE = Memory"
    )
    store.command("INSERT INTO counts FORMAT JSONEachRow\n" + "\n".join(map(json.dumps, lines)))
    text = sql("watch").replace(f"(\n{sql('watch_counts')}\n)", "counts")
    bound = judged(columns=1) | {"level": 1.0, "times_min": times, "samples_before_min": 1, "samples_min": 1}
    told = {row["pool"][0]: row["p"] for row in store.query(text, bound).dicts() if row["measure"] == "duration"}
    return [told[line["pool"][0]] for line in lines]


def drawn_counts(seed: int) -> Iterator[tuple[int, int, int, int]]:
    numbers = random.Random(seed)
    for _ in range(500):
        n, m = numbers.randint(20, 3_000), numbers.randint(1_000, 300_000)
        share = 10 ** numbers.uniform(-4, -0.2)
        k = min(n, round(n * share + numbers.uniform(1, 9) * (n * share) ** 0.5) + numbers.randint(0, 9))
        yield max(1, k), n, min(m - 1, round(m * share)), m


def test_the_chance_is_fishers_from_above_where_requests_are_on_their_own(store: Store) -> None:
    counts = list(drawn_counts(1))
    for (k, n, x, m), p in zip(counts, chances(store, counts), strict=True):
        exact = stats.hypergeom.sf(k - 1, n + m, k + x, n)
        assert p >= exact * (1 - 1e-6)
        if p < 1e-4 and exact > 1e-250:
            assert p <= exact * 1.2, (k, n, x, m)


@pytest.mark.parametrize("dispersion", [1.3, 4])
def test_with_clusters_it_is_the_beta_binomial_of_that_variance(store: Store, dispersion: float) -> None:
    counts = list(drawn_counts(2))
    for (k, n, x, m), p in zip(counts, chances(store, counts, dispersion), strict=True):
        both = (n - 1) / (dispersion * (1 + (n - 1) / (m + 2)) - 1) - 1
        a, b = both * (x + 1) / (m + 1), both * (m - x) / (m + 1)
        if min(both, b) < 1:
            continue
        exact = stats.betabinom(n, a, b)
        terms = float(exact.pmf(range(k, min(n, k + 3_000) + 1)).sum())
        assert p >= min(1, terms) * (1 - 1e-6), (k, n, x, m)
        if p < 1e-6 and terms > 1e-250:
            assert p <= terms * 2.5
        if dispersion > 1:
            assert exact.var() == pytest.approx(
                dispersion * n * a / both * b / both * (1 + (n - 1) / (m + 2)), rel=1e-6
            )


def test_without_a_change_chances_are_no_smaller_than_they_say(store: Store) -> None:
    numbers = random.Random(3)
    counts = []
    for _ in range(20_000):
        share = numbers.choice([0.001, 0.01, 0.1])
        k, x = (int(stats.binom.ppf(numbers.random(), of, share)) for of in (900, 20_000))
        counts.append((k, 900, x, 20_000))
    told = chances(store, counts)
    for chance in (0.05, 0.01, 0.001):
        assert sum(p <= chance for p in told) / len(told) <= chance * 1.1 + 2e-4


def test_a_week_of_windows_has_the_whole_rate_and_a_longer_window_more_of_it() -> None:
    assert level(300) * (RATE_OVER_S / 300) == pytest.approx(RATE)
    assert level(3_600) == pytest.approx(12 * level(300)) and level(10 * RATE_OVER_S) == RATE


def test_a_change_of_the_slowest_hundredth_alone_is_found_beyond_them(store: Store) -> None:
    """Before and now one of a hundred is slower than the others; now these take longer."""
    fill(store, *changed("a/b/c", 9, samples=900))
    (row,) = found(store)
    assert (row["measure"], row["samples"], row["samples_before"]) == ("duration", 900, 28_700)
    assert (row["share"], row["share_before"], row["times_more"]) == (0.01, 0, None)
    assert row["beyond_us"] == round(1.02 ** (SLOW + 1)) and row["dispersion"] == 1
    assert row["p99_before"] == round(1.02 ** (FAST + 0.5)) == row["p99"]  # one of a hundred is slower than p99


@pytest.mark.parametrize(
    ("measure", "column"),
    [(name, f"{name}_weight") for name in ("failed", "handshake", "loss", "retransmission")],
)
def test_a_share_that_rises_is_found(store: Store, measure: str, column: str) -> None:
    now = rollup("a/b/c", {FAST: 297, SLOW: 3}, 5, **{column: 60})
    fill(store, *day("a/b/c", **{column: 5}), now, *day("a/b/d", **{column: 5}))
    (row,) = found(store)
    assert (row["city"], row["measure"], row["share"], row["share_before"]) == ("c", measure, 0.2, 0.05)
    assert row["beyond_us"] is None and row["times_more"] == 4


def test_quic_use_that_falls_is_found(store: Store) -> None:
    for protocol, now in ("h3", 100), ("h2", 200), (None, 50):
        fill(store, *day("a/b/c", protocol=protocol), rollup("a/b/c", {FAST: now}, 5, protocol=protocol))
    (row,) = found(store)
    assert (row["measure"], row["share"], row["share_before"], row["samples"]) == ("not_quic", 0.666667, 0.5, 300)
    assert found(store, by=("carrier", "protocol")) == []  # a cell of one protocol has no share


def test_a_cell_in_which_all_fail_is_no_cell_without_requests(store: Store) -> None:
    all_fail = rollup("a/b/c", {}, 5, requests=200, ended_weight=200, ended_weight_squares=200, failed_weight=200)
    fill(store, *day("a/b/c"), all_fail)
    (row,) = found(store)
    assert (row["measure"], row["pooled"], row["share"], row["p99"]) == ("failed", 0, 1, None)


def test_what_was_as_frequent_before_is_not_found_however_sure_it_is(store: Store) -> None:
    fill(store, *(rollup("a/b/c", {FAST: 97_000, SLOWER: 1_000}, minutes) for minutes in range(10, 1445, 5)))
    fill(store, rollup("a/b/c", {FAST: 96_600, SLOWER: 1_400}, minutes_ago=5))
    report = watch(store, Watch(NOON))
    assert report.rows == [] and report.params["tested"] == 1


def test_of_many_cells_that_did_not_change_few_are_found(store: Store) -> None:
    beyond = {0: 3, 1: 40}
    fill(store, *[row for cell in range(100) for row in changed(f"a/b/{cell}", beyond.get(cell, 1))])
    report = watch(store, Watch(NOON))
    assert [row["city"] for row in report.dicts()] == ["1"]
    assert (report.params["tested"], report.params["tests"]) == (100, 600)


def test_requests_count_for_as_many_as_they_stand_for(store: Store) -> None:
    """Half of the requests stand for one, half for nine, and those are slower: 200 of them are worth 122."""
    for weight, slow in (1, 0), (9, 30):
        fill(store, *day("a/b/c", weight=weight, network_type=str(weight)))
        now = {FAST: 100 - slow, SLOWER: slow}
        fill(store, rollup("a/b/c", now, 5, weight=weight, network_type=str(weight)))
    (row,) = found(store)
    assert (row["share"], row["samples"]) == (0.27, round(1_000**2 / (100 + 8_100)))


def test_the_same_weight_everywhere_changes_nothing(store: Store) -> None:
    fill(store, *changed("a/b/c", 30))
    once = found(store)
    store.command("TRUNCATE TABLE rollup_versions")
    now = rollup("a/b/c", {FAST: 170, SLOWER: 30}, 5, weight=10)
    fill(store, *day("a/b/c", weight=10), now)
    assert found(store) == once


def test_cells_with_few_requests_are_pooled_with_their_likes_before_and_now(store: Store) -> None:
    fill(store, *[row for city in range(10) for row in day(f"a/b/{city}")])
    fill(store, *[rollup(f"a/b/{city}", {FAST: 4, SLOWER: 6}, minutes_ago=5) for city in range(10)])
    fill(store, *day("a/b/gone"), *changed("a/b/large", 2), *changed("a/other", 30))
    pooled, known = sorted(found(store), key=lambda row: row["pooled"], reverse=True)
    assert (pooled["carrier"], pooled["region"], pooled["city"], pooled["pooled"]) == ("a", "b", None, 1)
    assert (pooled["cells"], pooled["samples"], pooled["samples_before"]) == (10, 100, 11 * 28_700)
    assert (known["region"], known["city"], known["pooled"]) == ("other", None, 0)


def test_what_even_a_pool_has_too_few_of_is_left_out_and_counted(store: Store) -> None:
    fill(store, *changed("a/b/c", 30), rollup("new/b/c", {SLOWER: 50}, minutes_ago=5), rollup("z", {FAST: 3}, 5))
    report = watch(store, Watch(NOON))
    assert [row[0] for row in report.rows] == ["a"]
    assert (report.params["tested"], report.params["left_out"], report.params["left_out_requests"]) == (1, 2, 53)
    assert report.samples == 200 and report.coverage == {"requests": 253, "traced": 253, "weight": 253.0}


def test_requests_that_come_in_clusters_are_expected_to_do_so_again(store: Store) -> None:
    """Of a cell whose slow requests came 24 at once, every second hour, 24 more are nothing new."""
    fill(store, *day("a/b/even"), rollup("a/b/even", {FAST: 176, SLOWER: 24}, minutes_ago=5))
    fill(store, *day("a/b/uneven"), rollup("a/b/uneven", {FAST: 176, SLOWER: 24}, minutes_ago=5))
    bursts = [rollup("a/b/uneven", {SLOWER: 24}, minutes, pop="x") for minutes in range(10, 1445, 120)]
    fill(store, *bursts)
    assert [row["city"] for row in found(store)] == ["even"]


def test_the_window_ends_with_whole_five_minutes_and_others_columns_make_other_cells(store: Store) -> None:
    fill(store, *changed("a/b/c", 30), rollup("a/b/c", {FAST: 5_000}, minutes_ago=0))
    assert found(store) == watch(store, Watch(NOON + timedelta(minutes=4, seconds=59))).dicts()
    (row,) = found(store, by=("carrier", "app_version"))
    assert (row["carrier"], row["app_version"], row["pooled"]) == ("a", None, 0)


def test_the_alert_asks_the_same(store: Store) -> None:
    fill(store, *changed("a/b/c", 30), *changed("a/b/d", 2))
    until = f"toDateTime({int(NOON.timestamp())})"
    asked = f"SELECT countIf(is_found) AS found FROM ({alert_sql(('carrier', 'region', 'city'), until)})"
    assert store.query(asked).one() == (1,)


def test_the_api_answers_as_the_question_does(store: Store) -> None:
    fill(store, *changed("a/b/c", 30))
    client = TestClient(create_app(ApiSettings(store)), base_url="http://127.0.0.1:8123")
    answer = client.get("/api/v1/watch", params={"until": NOON.isoformat(), "by": "carrier,city"}).json()
    assert [column["name"] for column in answer["columns"]][:3] == ["carrier", "city", "pooled"]
    assert answer["rows"][0][:2] == ["a", "c"] and answer["samples"] == 200
    too_many = "carrier,region,city,pop,protocol"
    by = ({"by": each} for each in ("path", "", too_many))
    for wrong in ({"window": "7m"}, {"baseline": "0m"}, *by, {"until": "0001-01-01"}):
        assert client.get("/api/v1/watch", params=wrong).status_code == 422
