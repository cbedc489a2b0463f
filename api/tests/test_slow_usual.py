"""The list of slow requests by what is usual for their carrier, path and size: against the same made in Python."""

import math
import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from quiclens_schema import store as stores
from quiclens_schema.store import Store
from serve_process import start
from store_rows import fill, logged_request

from quiclens_questions import where as conditions
from quiclens_questions.slow import ENOUGH, Cursor, Slow, slow

Row = dict[str, Any]
SINCE = datetime(2026, 11, 20, 12)
UNTIL = SINCE + timedelta(hours=1)
BEFORE = SINCE - timedelta(hours=2)  # what is usual is told from here
ROUNDED = 0.01  # of a brain float


def requests() -> Iterator[Row]:
    """Carriers, paths and sizes with their own usual durations, some of each too rare; one is sampled at two rates."""
    drawn = random.Random(5)

    def one(at: datetime, us: int, carrier: str | None, path: str, size: int | None, **more: Any) -> Row:
        name = f"r{next(numbers):05}"
        return logged_request(name, at, us, carrier=carrier, path=path, response_bytes=size, **more)

    numbers = iter(range(100_000))
    strata = [
        (carrier, path, size)
        for carrier in ("acme", "globex", None)
        for path in ("/film", "/icon")
        for size in (900, 40_000_000)
    ]
    for place, (carrier, path, size) in enumerate(strata):
        middle = 10_000 * 3**place
        for _ in range(60):
            at = BEFORE + timedelta(seconds=drawn.uniform(0, 3 * 3_600))
            is_rare = drawn.random() < 0.3
            us = int(middle * drawn.lognormvariate(1.2 if is_rare else 0, 0.7))
            yield one(at, us, carrier, path, size, weight=20 if is_rare else 1)
        # None of these says what is usual: too early, too late, failed, aborted.
        for at in (BEFORE - timedelta(minutes=5), UNTIL + timedelta(minutes=1)):
            for _ in range(200):
                yield one(at, middle * 1000, carrier, path, size, weight=10)
        for _ in range(100):
            yield one(SINCE + timedelta(minutes=10), 7, carrier, path, size, status=503)
            yield one(SINCE + timedelta(minutes=10), 9, carrier, path, size, complete=False)
    for number in range(ENOUGH - 1):
        yield one(SINCE + timedelta(minutes=number), 900_000_000, "acme", "/rare", 900)
    yield one(SINCE, 4_000_000_000, "acme", "/once", None)
    yield one(SINCE, 1 << 61, "acme", "/film", 900, weight=0)  # 1000 times as much is more than 64 bits hold
    yield {**one(SINCE, 0, "acme", "/film", 900, complete=False), "duration_us": None}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("usual") / "store"
    fill(folder, {"requests": requests()})
    served = start(folder, "--keep-events", "0", "--keep-summaries", "0")
    with stores.open(served.store_url) as opened:
        yield opened
    assert served.stop() == 0


def stratum(row: Row) -> tuple[str, str, int]:
    size = row["response_bytes"]
    return row["carrier"] or "", row["path"], -1 if size is None else math.floor(math.log2(max(1, size)) / 2)


def medians() -> dict[tuple[str, str, int], float]:
    """Of each stratum with enough requests, the weighted median."""
    found = defaultdict(list)
    for row in requests():
        at = datetime.fromisoformat(row["started_at"])
        if BEFORE <= at < UNTIL and row["complete"] and row["status"] < 500:
            found[stratum(row)].append((row["duration_us"], row["weight"]))
    usual = {}
    for name, known in found.items():
        if len(known) < ENOUGH:
            continue
        half, reached = sum(weight for _, weight in known) / 2, 0
        for us, weight in sorted(known):
            reached += weight
            if reached >= half:
                usual[name] = us
                break
    return usual


def asked(**more: Any) -> Slow:
    stretch = {"since": SINCE.replace(tzinfo=UTC), "until": UNTIL.replace(tzinfo=UTC)}
    return Slow(**{"limit": 10_000, "sort": "usual", **stretch, **more})


def test_those_come_first_that_took_the_most_times_as_long_as_is_usual(store: Store) -> None:
    usual = medians()
    rows = {row["request_id"]: row for row in requests()}
    listed = slow(store, asked())["requests"]
    assert {each["request_id"] for each in listed} == {
        name for name, row in rows.items() if SINCE <= datetime.fromisoformat(row["started_at"]) < UNTIL
    }
    for each in listed:
        wanted = usual.get(stratum(rows[each["request_id"]]))
        assert (each["usual_us"] is None) == (wanted is None)
        if wanted is not None:
            assert each["usual_us"] == pytest.approx(wanted, rel=ROUNDED)
    places = [
        -1
        if each["usual_us"] is None or each["duration_us"] is None
        else 1000 * each["duration_us"] // each["usual_us"]
        for each in listed
    ]
    assert places == sorted(places, reverse=True) and places[0] > 3_000
    assert {rows[each["request_id"]]["path"] for each in listed if each["usual_us"] is None} == {"/once", "/rare"}
    first, without = listed[0], next(each for each in listed if each["duration_us"] is None)
    assert first["duration_us"] == 1 << 61 and without["usual_us"], "longest of all, and without a duration behind all"
    assert all(each["usual_us"] is None or each["duration_us"] is None for each in listed[listed.index(without) :])


def test_conditions_choose_what_is_listed_and_not_what_is_usual(store: Store) -> None:
    everything = {each["request_id"]: each["usual_us"] for each in slow(store, asked())["requests"]}
    for text in ("status>=500", "carrier=acme", "duration_us>=100ms"):
        where = conditions.read([text], UNTIL.replace(tzinfo=UTC))
        some = slow(store, asked(where=where))["requests"]
        assert some and len(some) < len(everything), text
        assert all(each["usual_us"] == everything[each["request_id"]] for each in some), text


@pytest.mark.parametrize("sort", ["usual", "duration"])
def test_pages_one_after_the_other_are_the_list(store: Store, sort: str) -> None:
    whole = [each["request_id"] for each in slow(store, asked(sort=sort))["requests"]]
    paged: list[str] = []
    after: Cursor | None = None
    while True:
        page = slow(store, asked(sort=sort, limit=137, after=after))
        paged += [each["request_id"] for each in page["requests"]]
        if page["next"] is None:
            break
        after = Cursor.read(page["next"])
    assert paged == whole


def test_of_each_value_those_are_there_that_the_list_has_first(store: Store) -> None:
    whole = slow(store, asked())["requests"]
    wanted: dict[str | None, list[str]] = defaultdict(list)
    for each in whole:
        if len(wanted[each["carrier"]]) < 3:
            wanted[each["carrier"]].append(each["request_id"])
    found = defaultdict(list)
    for each in slow(store, asked(limit=3, by="carrier"))["requests"]:
        found[each["carrier"]].append(each["request_id"])
    assert found == wanted


def test_without_a_beginning_all_that_was_before_is_usual_and_by_duration_nothing_is(store: Store) -> None:
    everything = slow(store, asked(since=None))["requests"]
    icons = [each for each in everything if each["path"] == "/icon" and each["carrier"] == "acme"]
    assert icons and all((each["usual_us"] or 0) > 5_000_000 for each in icons), "most were the two hundred before"
    assert all(each["usual_us"] is None for each in slow(store, asked(sort="duration"))["requests"])
