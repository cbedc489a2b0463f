"""Times, intervals, bars and units: the small pure things."""

import random
from datetime import UTC, datetime

import pytest

from quiclens_api.failure import UsageMistake
from quiclens_api.intervals import (
    Ranks,
    Spread,
    bucket_middle_us,
    clustered_quantile,
    needed,
    quantile_bucket,
    ranks,
    wilson,
)
from quiclens_api.moment import moment, rfc3339
from quiclens_api.show.bars import cells, stacked
from quiclens_api.units import duration, share, size

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("15m", "2026-11-21T07:45:00.000000Z"),
        ("2h", "2026-11-21T06:00:00.000000Z"),
        ("7d", "2026-11-14T08:00:00.000000Z"),
        ("2026-11-20T10:00:00Z", "2026-11-20T10:00:00.000000Z"),
        ("2026-11-20T10:00:00.5+02:00", "2026-11-20T08:00:00.500000Z"),
        ("2026-11-20", "2026-11-20T00:00:00.000000Z"),
    ],
)
def test_times_are_utc(text: str, instant: str) -> None:
    assert rfc3339(moment(text, NOW)) == instant


@pytest.mark.parametrize("text", ["", "soon", "15", "-15m", "15 m", "999999999d", "2026-13-01"])
def test_what_is_no_time_is_never_now(text: str) -> None:
    with pytest.raises(UsageMistake):
        moment(text, NOW)


def test_wilson_is_the_published_interval() -> None:
    found = wilson(10, 100)  # 10 of 100: 0.0552 to 0.1744 in any table of it
    assert found.low == pytest.approx(0.0552, abs=1e-4) and found.high == pytest.approx(0.1744, abs=1e-4)
    assert wilson(0, 0).value is None and wilson(0, 5).low == 0


@pytest.mark.parametrize(
    ("samples", "quantile", "wanted"),
    [
        (10, 0.5, Ranks(5, 2, 9)),  # any table of the sign test
        (100, 0.5, Ranks(50, 40, 61)),
        (5, 0.5, Ranks(3, None, None)),
        (367, 0.99, Ranks(364, 359, None)),  # 0.99^367 > 0.025: even the largest may lie below
        (368, 0.99, Ranks(365, 360, 368)),
        (99, 0.99, None),
        (1, 0.5, None),
    ],
)
def test_ranks_are_the_exact_binomial_interval(samples: int, quantile: float, wanted: Ranks | None) -> None:
    assert ranks(samples, quantile) == wanted


def test_intervals_of_ranks_cover_the_quantile_as_often_as_they_say() -> None:
    random.seed(3)
    found = ranks(200, 0.95)
    assert found is not None and found.low is not None and found.high is not None
    hits = 0
    for _ in range(2_000):
        drawn = sorted(random.random() for _ in range(200))
        hits += drawn[found.low - 1] <= 0.95 <= drawn[found.high - 1]
    assert 0.945 <= hits / 2_000 <= 0.985
    assert [needed(each) for each in (0.5, 0.75, 0.95, 0.99)] == [2, 4, 20, 100]


def test_quantiles_come_from_the_middle_of_buckets() -> None:
    histogram = {100: 50, 200: 49, 300: 1}
    assert [quantile_bucket(histogram, q) for q in (0.5, 0.51, 0.99, 1.0)] == [100, 200, 200, 300]
    assert bucket_middle_us(0) == pytest.approx(1.00995, abs=1e-5)
    assert quantile_bucket({}, 0.5) is None


def test_samples_that_cluster_have_wider_intervals() -> None:
    random.seed(1)
    even, apart = ({bucket: 100 for bucket in range(100, 140)} for _ in range(2))
    # The same samples on 40 connections: each has all buckets alike, or each has one bucket alone.
    total, share_below = 100.0, 0.5
    alike = Spread(40 * (total * share_below) ** 2, 40 * total * total * share_below, 40 * total**2)
    alone = Spread(20 * total**2, 20 * total**2, 40 * total**2)
    narrow, wide = clustered_quantile(even, 0.5, 40, alike), clustered_quantile(apart, 0.5, 40, alone)
    assert narrow.low and narrow.high and wide.low and wide.high
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)
    assert clustered_quantile(even, 0.5, 1, alike).low is None


def test_bars_add_up() -> None:
    random.seed(2)
    for _ in range(200):
        values = [random.choice((0, 1, 5, 1000, 10**6)) for _ in range(random.randint(1, 12))]
        given = cells(values, 72)
        assert sum(given) == (72 if sum(values) else 0)
        assert all((count > 0) == (value > 0) for count, value in zip(given, values, strict=True))
    assert stacked([("network", 3), ("pto", 1)], 8).plain == "██████▓▓"


def test_numbers_are_readable() -> None:
    shown = [duration(us) for us in (None, 0, 812, 4_310, 49_364, 412_000, 1_240_000, 130_000_000)]
    assert shown == ["–", "0 µs", "812 µs", "4.31 ms", "49.4 ms", "412 ms", "1.24 s", "130 s"]
    assert [size(count) for count in (None, 12, 12_320, 999_600, 3e9)] == ["–", "12 B", "12.3 kB", "1.0 MB", "3.0 GB"]
    assert [share(part, 1000) for part in (0, 1, 500, 999, 1000)] == ["0 %", "<1 %", "50 %", ">99 %", "100 %"]
