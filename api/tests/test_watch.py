"""Cells that became slower: the statement's p against exact fractions, pools, what is left out, and who is asked."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import pytest
from api_ran import Run
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store
from starlette.testclient import TestClient

from quiclens_command_line.show.watch import watch_view
from quiclens_questions.watch import Watch, alert_sql, watch
from quiclens_web.api.app import create_app
from quiclens_web.api.settings import ApiSettings

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
FAST, SLOW, SLOWER = 500, 600, 700  # buckets
Row = dict[str, Any]


def rollup(cell: str, counts: dict[int, int], minutes_ago: int = 60, **more: Any) -> Row:
    at = NOON - timedelta(minutes=minutes_ago)
    samples = sum(counts.values())
    carrier, region, city = [*cell.split("/"), None, None][:3]
    row = {
        "started_hour": at.strftime("%Y-%m-%d %H:00:00"),
        "bucket_at": at.strftime("%Y-%m-%d %H:%M:00"),
        **{"carrier": carrier, "region": region, "city": city, "weight": samples},
        **{"requests": samples, "measured": samples, "duration_histogram": counts},
    }
    return row | more


def changed(cell: str, beyond: int, samples: int = 200) -> list[Row]:
    """A day in which one of a hundred is slow, and a window in which so many are slower than those."""
    before = rollup(cell, {FAST: 9_900, SLOW: 100})
    return [before, rollup(cell, {FAST: samples - beyond, SLOWER: beyond}, minutes_ago=5)]


def fill(store: Store, *rows: Row) -> None:
    lines = "\n".join(json.dumps(row) for row in rows)
    store.command(f"INSERT INTO rollup_versions FORMAT JSONEachRow\n{lines}")


def beta_binomial(beyond: int, samples: int, rank: int, before: int) -> Fraction:
    """P(K >= beyond), counted: of all orders of samples and before, those with so many beyond the rank-th largest."""
    ways = comb(samples + before, samples)
    return sum(
        (
            Fraction(comb(k + rank - 1, k) * comb(samples - k + before - rank, samples - k), ways)
            for k in range(beyond, samples + 1)
        ),
        Fraction(0),
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with stores.open(f"chdb:{tmp_path / 'store'}") as opened:
        migrate(opened)
        yield opened


def found(store: Store, **asked: Any) -> list[Row]:
    return watch(store, Watch(NOON, **asked)).dicts()


@pytest.mark.parametrize("beyond", [9, 12, 30, 200])
def test_the_chance_is_the_exact_beta_binomial(store: Store, beyond: int) -> None:
    fill(store, *changed("a/b/c", beyond))
    (row,) = found(store)
    exact = beta_binomial(beyond, 200, 100, 10_000)
    assert row["p"] == pytest.approx(float(exact), rel=1e-2, abs=1e-300)
    assert (row["samples"], row["samples_before"], row["share"]) == (200, 10_000, beyond / 200)
    assert row["share_before"] == 0 and row["times_more"] is None  # none was beyond the end of that bucket
    assert row["p99_before"] == round(1.02 ** (FAST + 0.5)) and row["p99"] == round(1.02 ** (SLOWER + 0.5))


def test_the_chances_of_all_counts_add_up() -> None:
    assert beta_binomial(0, 30, 5, 400) == 1


def test_what_was_as_frequent_before_is_not_found_however_sure_it_is(store: Store) -> None:
    fill(store, rollup("a/b/c", {FAST: 970_000, SLOW: 30_000, SLOWER: 9_000}))
    fill(store, rollup("a/b/c", {FAST: 98_800, SLOWER: 1_200}, minutes_ago=5))
    report = watch(store, Watch(NOON))
    assert report.rows == [] and report.params["tested"] == 1
    assert "No cell has become slower, " in str(next(watch_view(report)))


def test_of_many_cells_that_did_not_change_few_are_found(store: Store) -> None:
    beyond = {0: 5, 1: 40}
    fill(store, *[row for cell in range(400) for row in changed(f"a/b/{cell}", beyond.get(cell, 2))])
    assert [row["city"] for row in found(store)] == ["1"]


def test_cells_with_few_requests_are_pooled_with_their_likes_before_and_now(store: Store) -> None:
    fill(store, *[rollup(f"a/b/{city}", {FAST: 990, SLOW: 10}) for city in range(10)])
    fill(store, *[rollup(f"a/b/{city}", {FAST: 4, SLOWER: 6}, minutes_ago=5) for city in range(10)])
    fill(store, rollup("a/b/gone", {FAST: 990, SLOW: 10}), *changed("a/b/large", 2), *changed("a/other", 30))
    pooled, known = sorted(found(store), key=lambda row: row["pooled"], reverse=True)
    assert (pooled["carrier"], pooled["region"], pooled["city"], pooled["pooled"]) == ("a", "b", None, 1)
    assert (pooled["cells"], pooled["samples"], pooled["samples_before"]) == (10, 100, 11_000)
    assert (known["region"], known["city"], known["pooled"]) == ("other", None, 0)


def test_what_even_a_pool_has_too_few_of_is_left_out_and_counted(store: Store) -> None:
    fill(store, *changed("a/b/c", 30), rollup("new/b/c", {SLOWER: 50}, minutes_ago=5), rollup("z", {FAST: 3}, 5))
    report = watch(store, Watch(NOON))
    assert [row[0] for row in report.rows] == ["a"]
    assert (report.params["tested"], report.params["left_out"], report.params["left_out_requests"]) == (1, 2, 53)
    assert report.samples == 200 and report.coverage == {"requests": 253, "traced": 0, "weight": 253.0}


def test_requests_that_come_in_clumps_count_as_fewer(store: Store) -> None:
    """The slow ones of the hour before fell on two of twelve stretches; nine more are what one such makes."""
    now = rollup("a/b/c", {FAST: 191, SLOWER: 9}, minutes_ago=5)
    for at_once, dispersion, is_found in ({20: 5, 40: 5}, 4.54, False), (dict.fromkeys(range(10, 65, 5), 1), 1, True):
        store.command("TRUNCATE TABLE rollup_versions")
        counts = {minutes: {FAST: 990, SLOW: 10, SLOWER: at_once.get(minutes, 0)} for minutes in range(10, 70, 5)}
        fill(store, now, *[rollup("a/b/c", each, minutes) for minutes, each in counts.items()])
        report = watch(store, Watch(NOON))
        assert report.params["dispersion"] == pytest.approx(dispersion, rel=0.01)
        assert len(report.rows) == is_found


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


def test_the_api_answers_as_the_command_does(store: Store) -> None:
    fill(store, *changed("a/b/c", 30))
    client = TestClient(create_app(ApiSettings(store)), base_url="http://127.0.0.1:8123")
    answer = client.get("/api/v1/watch", params={"until": NOON.isoformat(), "by": "carrier,city"}).json()
    assert [column["name"] for column in answer["columns"]][:3] == ["carrier", "city", "pooled"]
    assert answer["rows"][0][:2] == ["a", "c"] and answer["samples"] == 200
    for wrong in ({"window": "7m"}, {"baseline": "0m"}, {"by": "path"}, {"by": ""}, {"until": "0001-01-01"}):
        assert client.get("/api/v1/watch", params=wrong).status_code == 422


def test_the_command_says_when_nothing_was_found(run: Run) -> None:
    ran = run("watch", "--until", "2026-11-20T12:00:00Z", "--json")
    assert ran.code == 1 and ran.document["rows"] == [] and ran.document["params"]["tested"] == 0
    assert "No requests from" in run("watch").out
    for words in (("--window", "4m"), ("--by", "carrier,region,city,pop,protocol"), ("--baseline", "tomorrow")):
        assert run("watch", *words, "--json").code == 2
