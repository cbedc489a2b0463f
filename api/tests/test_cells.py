"""Hexagons of a map: those with few requests are counted in larger ones, by day and hour of a time zone."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from quiclens_schema import store as stores
from quiclens_schema.store import Store
from serve_process import start
from store_rows import fill, logged_request

from quiclens_questions.cells import THIN_BELOW, LocalTime, cells
from quiclens_questions.failure import UsageMistake

Row = dict[str, Any]
BEGIN = datetime(2026, 11, 20, 21)  # a Friday; in Kolkata it is Saturday, half past two
# A hexagon of 2 km in Delhi (resolution 7), and others near and far, by how many requests each has.
RESOLUTION = 7
MIDDLE = 0x873DA1149FFFFFF
NEAR, NEARBY = (MIDDLE & ~(0b111 << 24) | digit << 24 for digit in (2, 3))  # siblings
FURTHER = MIDDLE & ~(0b111 << 27) | 3 << 27  # of another parent, of the same grandparent
ALONE = 0x871FA4400FFFFFF  # in Germany
SIZES = {MIDDLE: 60, NEAR: 15, NEARBY: 8, FURTHER: 25, FURTHER & ~(0b111 << 24) | 5 << 24: 6, ALONE: 3}


def parent(cell: int, up: int) -> int:
    """The H3 cell `up` resolutions coarser (https://h3geo.org/docs/core-library/h3Indexing): a smaller resolution, and
    digits that are all ones."""
    for _ in range(up):
        resolution = cell >> 52 & 0xF
        cell = cell & ~(0xF << 52) | resolution - 1 << 52
        cell |= 0b111 << 3 * (15 - resolution)
    return cell


def requests() -> Iterator[Row]:
    drawn = random.Random(3)
    places = [f"{cell:x}" for cell, count in SIZES.items() for _ in range(count)] + [
        "no cell",
        "ffff",
        "",
        "zz" * 40,
        "873da1149zfffff",
    ]
    for number, place in enumerate(places):
        at = BEGIN + timedelta(minutes=30 * (number % 4))
        yield logged_request(str(number), at, drawn.randrange(10_000, 900_000), h3_cell=place)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("cells") / "store"
    fill(folder, {"requests": requests()})
    served = start(folder, "--keep-events", "0", "--keep-summaries", "0")
    with stores.open(served.store_url) as opened:
        yield opened
    assert served.stop() == 0


def expected() -> dict[str, list[int]]:
    """Durations of each cell that is shown, by the rule itself."""
    logged: dict[int, list[int]] = defaultdict(list)
    for row in requests():
        text = row["h3_cell"]
        if text.startswith("87") and "z" not in text:
            logged[int(text, 16)].append(row["duration_us"])
    shown = {cell: cell for cell, each in logged.items() if len(each) >= THIN_BELOW}
    for up in (1, 2, 3):
        left = Counter[int]()
        for cell, each in logged.items():
            if cell not in shown:
                left[parent(cell, up)] += len(each)
        shown |= {
            cell: parent(cell, up) for cell in logged if cell not in shown and left[parent(cell, up)] >= THIN_BELOW
        }
    found: dict[str, list[int]] = defaultdict(list)
    for cell, each in logged.items():
        found[f"{shown.get(cell, cell):x}"] += each
    return found


def test_thin_cells_are_counted_in_larger_ones(store: Store) -> None:
    found = cells(store, None, None)
    wanted = expected()
    assert set(found["h3_cell"]) == set(wanted) and f"{parent(NEAR, 1):x}" in wanted and f"{MIDDLE:x}" in wanted
    for place, cell in enumerate(found["h3_cell"]):
        durations = sorted(wanted[cell])
        assert found["requests"][place] == len(durations), cell
        is_larger = int(cell, 16) >> 52 & 0xF < RESOLUTION
        assert found["in_larger"][place] == (len(durations) if is_larger else 0)
        p95 = durations[-(-len(durations) * 95 // 100) - 1] if len(durations) >= 20 else None
        assert found["p95"][place] == p95
    assert sum(found["requests"]) == sum(SIZES.values()) and found["not_a_cell"] == 5
    alone = found["h3_cell"].index(f"{ALONE:x}")
    assert (found["requests"][alone], found["p50"][alone]) == (3, None)


def test_a_day_and_an_hour_are_those_of_a_time_zone(store: Store) -> None:
    def count(weekday: str, hour: int | None, zone: str) -> int:
        return sum(cells(store, None, None, local=LocalTime.read(weekday, hour, zone))["requests"])

    every = sum(SIZES.values())
    by_minute = Counter(number % 4 for number in range(every))
    assert count("Fri", None, "") == every and count("Sat", None, "") == 0
    assert count("", 21, "") == by_minute[0] + by_minute[1]
    assert count("Sat", None, "Asia/Kolkata") == every and count("Fri", None, "Asia/Kolkata") == 0
    assert [count("", hour, "Asia/Kolkata") for hour in (2, 3, 4)] == [
        by_minute[0],
        by_minute[1] + by_minute[2],
        by_minute[3],
    ]


@pytest.mark.parametrize(("weekday", "hour", "zone"), [("Friday", None, ""), ("", 24, ""), ("", None, "Nowhere")])
def test_what_is_no_day_hour_or_zone_is_a_usage_mistake(weekday: str, hour: int | None, zone: str) -> None:
    with pytest.raises(UsageMistake):
        LocalTime.read(weekday, hour, zone)
