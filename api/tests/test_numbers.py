"""Times, bars and units: the small pure things."""

import random
from datetime import UTC, datetime

import pytest

from quiclens_command_line.show.bars import cells, stacked
from quiclens_questions.failure import UsageMistake
from quiclens_questions.moment import moment, rfc3339
from quiclens_questions.units import duration, share, size

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("15m", "2026-11-21T07:45:00.000000Z"),
        ("2h", "2026-11-21T06:00:00.000000Z"),
        ("7d", "2026-11-14T08:00:00.000000Z"),
        ("1h30m", "2026-11-21T06:30:00.000000Z"),
        ("-15m", "2026-11-21T07:45:00.000000Z"),
        ("now", "2026-11-21T08:00:00.000000Z"),
        ("now-1d2h", "2026-11-20T06:00:00.000000Z"),
        ("07:59", "2026-11-21T07:59:00.000000Z"),
        ("08:00:01", "2026-11-20T08:00:01.000000Z"),
        ("9:30", "2026-11-20T09:30:00.000000Z"),
        ("2026-11-20 10:30", "2026-11-20T10:30:00.000000Z"),
        ("2026-11-20T10:00:00Z", "2026-11-20T10:00:00.000000Z"),
        ("2026-11-20T10:00:00.5+02:00", "2026-11-20T08:00:00.500000Z"),
        ("2026-11-20", "2026-11-20T00:00:00.000000Z"),
    ],
)
def test_times_are_utc(text: str, instant: str) -> None:
    assert rfc3339(moment(text, NOW)) == instant


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "15",
        "--15m",
        "15 m",
        "15m-",
        "now-",
        "nowish",
        "999999999d",
        "999999999d1h",
        "2026-13-01",
        "25:00",
        "1:60",
    ],
)
def test_what_is_no_time_is_never_now(text: str) -> None:
    with pytest.raises(UsageMistake):
        moment(text, NOW)


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
