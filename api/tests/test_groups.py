"""Nothing is left out in silence: totals are of all groups, resets are failures, rates are over the exact stretch."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from quiclens_schema import store as stores
from quiclens_schema.store import Store
from serve_process import start
from store_rows import plant

from quiclens_command_line.show.slow import groups_line
from quiclens_command_line.show.written import markdown
from quiclens_questions import over_time as over_time_module
from quiclens_questions.over_time import DrawnGroups, OverTime, over_time
from quiclens_questions.report import GROUPS_AT_MOST, Report
from quiclens_questions.reports import REPORTS, Options, asked_of
from quiclens_questions.where import read

CARRIERS, WITHOUT_QUIC, REQUESTS = 25_000, 4_000, 3_639
DEEP = 40 * GROUPS_AT_MOST

# Two requests of each carrier; of each sixth or so none over QUIC. And 15 seconds of one busy carrier, of which a tenth
# was reset at once. And so many carriers as a report shows, each with forty requests. And twenty carriers of 200
# requests each, beside which one of 40 is slow, and one of a single request, which is slower still.
_ROWS = f"""
INSERT INTO request_versions (
    request_id, started_hour, started_at, source, link, coverage, weight, complete, duration_us,
    carrier, region, protocol, end_is)
SELECT
    concat('many/', toString(number)), toStartOfHour(at), at, 'log', 'none', 'none', 1, true, 100000,
    concat('carrier-', toString(number % {CARRIERS})), 'many',
    if(number % {CARRIERS} < {WITHOUT_QUIC}, 'h2', 'h3'), NULL
FROM
(
    SELECT number, toDateTime64('2026-11-20 10:00:00', 6, 'UTC') + toIntervalMillisecond(number) AS at
    FROM numbers({2 * CARRIERS})
)
UNION ALL
SELECT
    concat('busy/', toString(number)), toStartOfHour(at), at, 'log', 'none', 'none', 1, true,
    if(number % 10 = 0, 10, 50000 + number), 'busy', 'busy', 'h3', if(number % 10 = 0, 'reset', 'acked')
FROM
(
    SELECT
        number,
        toDateTime64('2026-11-20 12:00:00', 6, 'UTC') + toIntervalMicrosecond(number * 15000000 / {REQUESTS}) AS at
    FROM numbers({REQUESTS})
)
UNION ALL
SELECT
    concat('deep/', toString(number)), toStartOfHour(at), at, 'log', 'none', 'none', 1, true,
    1000 + number * 7919 % 99991, concat('carrier-', toString(number % {GROUPS_AT_MOST})), 'deep', 'h3', 'acked'
FROM
(
    SELECT number, toDateTime64('2026-11-20 14:00:00', 6, 'UTC') + toIntervalMillisecond(number) AS at
    FROM numbers({DEEP})
)
UNION ALL
SELECT
    concat('ill/', toString(number)), toStartOfHour(at), at, 'log', 'none', 'none', 1 + number % 3, true,
    multiIf(number < 4000, 50000 + number * 7919 % 9973, number < 4040, 900000 + number, 5000000),
    multiIf(number < 4000, concat('carrier-', toString(number % 20)), number < 4040, 'ill', 'alone'), 'ill', 'h3',
    'acked'
FROM
(
    SELECT number, toDateTime64('2026-11-20 16:00:00', 6, 'UTC') + toIntervalMillisecond(number * 100) AS at
    FROM numbers(4041)
)
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("groups") / "store"
    plant(folder, _ROWS)
    served = start(folder, "--keep-events", "0", "--keep-summaries", "0")
    with stores.open(served.store_url) as opened:
        yield opened
    assert served.stop() == 0


def asked(store: Store, name: str, by: list[str], region: str) -> Report:
    window = (datetime(2026, 11, 20, 12, tzinfo=UTC), datetime(2026, 11, 20, 12, 0, 15, tzinfo=UTC))
    stretch = window if region == "busy" else (None, None)
    return REPORTS[name].answer(store, asked_of(name, by, [f"region={region}"], stretch, Options(), datetime.now(UTC)))


def test_totals_are_those_of_all_groups_not_of_those_with_a_row(store: Store) -> None:
    found = asked(store, "use-rate", ["carrier"], "many")
    assert (found.groups, found.groups_shown, len(found.rows)) == (CARRIERS, GROUPS_AT_MOST, GROUPS_AT_MOST)
    assert found.samples == found.coverage["protocol_known"] == 2 * CARRIERS
    assert found.coverage["groups_without_quic"] == WITHOUT_QUIC


@pytest.mark.parametrize("name", ["tail", "load"])
def test_other_reports_count_the_groups_that_have_no_row(store: Store, name: str) -> None:
    found = asked(store, name, ["carrier"], "many")
    assert (found.groups, found.groups_shown) == (CARRIERS, GROUPS_AT_MOST)
    assert found.samples == 2 * CARRIERS
    said = found.document()
    assert (said["groups"], said["groups_shown"]) == (CARRIERS, GROUPS_AT_MOST)
    assert "1000 of 25000 groups shown" in markdown(found)
    line = groups_line(found.groups, found.groups_shown)
    assert line is not None and line.plain.startswith("1,000 of 25,000 groups are shown")


def test_resets_are_failures_and_change_no_quantile(store: Store) -> None:
    (row,) = asked(store, "tail", [], "busy").dicts()
    resets = -(-REQUESTS // 10)
    assert (row["requests"], row["samples"]) == (REQUESTS, REQUESTS - resets)
    assert row["failed"] == pytest.approx(0.1, abs=1e-3) and row["failed_low"] < 0.1 < row["failed_high"]
    assert row["p50"] == pytest.approx(50_000 + REQUESTS / 2, abs=2)


def test_fifteen_seconds_of_load_are_fifteen_seconds(store: Store) -> None:
    (row, *_) = asked(store, "load", [], "busy").dicts()
    assert row["per_second"] == pytest.approx(REQUESTS / 15, rel=0.005) == pytest.approx(242.6, rel=0.005)
    assert row["stretch_s"] == 15 and row["per_second_low"] is None


@pytest.mark.parametrize(("region", "by", "hour"), [("deep", ("carrier",), 14), ("busy", (), 12)])
def test_a_step_over_time_has_the_intervals_of_its_tail(
    store: Store, monkeypatch: pytest.MonkeyPatch, region: str, by: tuple[str, ...], hour: int
) -> None:
    begin = datetime(2026, 11, 20, hour, tzinfo=UTC)
    where = read([f"region={region}"], datetime.now(UTC))
    question = OverTime(begin, begin + timedelta(hours=1), 3600, by, where, groups=3, has_intervals=True)
    found = over_time(store, question)
    rows = {tuple(row[name] for name in by): row for row in asked(store, "tail", list(by), region).dicts()}
    assert [series["groups"] for series in found["series"]] == ([1, 1, 1, GROUPS_AT_MOST - 3] if by else [1])
    for series in found["series"][:3]:
        row, intervals = rows[tuple(series["group"].values())], series["intervals"]
        assert (
            series["p50"] == [row["p50"]] and intervals is not None and set(intervals) == set(over_time_module.LEVELS)
        )
        for name in ("p50", "p75", "p95", "p99"):
            told = (intervals[name]["low"][0], intervals[name]["high"][0])
            assert told == (row[f"{name}_sampling_low"], row[f"{name}_sampling_high"]), name
        assert intervals["p50"]["low"] != [None]
    assert over_time(store, replace(question, has_intervals=False))["series"][0]["intervals"] is None
    monkeypatch.setattr(over_time_module, "INTERVALS_AT_MOST", 100)
    assert over_time(store, question)["series"][0]["intervals"] is None


@pytest.mark.parametrize(
    ("drawn", "groups"), [(DrawnGroups.LARGEST, 3), (DrawnGroups.SLOWEST, 1), (DrawnGroups.SLOWEST, 2)]
)
def test_groups_without_a_line_of_their_own_are_one_line(store: Store, drawn: DrawnGroups, groups: int) -> None:
    begin = datetime(2026, 11, 20, 16, tzinfo=UTC)
    where = read(["region=ill"], datetime.now(UTC))
    question = OverTime(begin, begin + timedelta(minutes=10), 60, ("carrier",), where, groups, drawn)
    found = over_time(store, question)
    *own, others = found["series"]
    names = [series["group"]["carrier"] for series in own]
    by_drawn = {
        DrawnGroups.LARGEST: ["carrier-0", "carrier-1", "carrier-10"],
        DrawnGroups.SLOWEST: ["ill", "alone"][:groups],
    }
    assert sorted(names, key=str) == sorted(by_drawn[drawn], key=str)
    assert (found["drawn"], found["slow_us"] is None) == (drawn.value, drawn is DrawnGroups.LARGEST)
    assert (others["group"], others["groups"], found["groups"]) == ({}, 22 - groups, 22)
    without = read(["region=ill", *(f"carrier!={name}" for name in names)], datetime.now(UTC))
    (alone,) = over_time(store, replace(question, by=(), where=without))["series"]
    assert {**alone, "groups": others["groups"]} == others  # each count and each quantile of each step


def test_as_many_groups_as_are_shown_have_their_intervals(store: Store) -> None:
    found = asked(store, "tail", ["carrier"], "deep")
    assert (found.groups, found.groups_shown, found.samples) == (GROUPS_AT_MOST, GROUPS_AT_MOST, DEEP)
    rows = found.dicts()
    assert {(row["samples"], row["clusters"]) for row in rows} == {(40, 40)}
    assert all(row["p50_sampling_low"] < row["p50"] < row["p50_sampling_high"] for row in rows)


def test_a_condition_that_leaves_one_group_makes_its_steps_no_coarser(store: Store) -> None:
    begin = datetime(2026, 11, 20, 12, tzinfo=UTC)
    where = read(["region=busy"], datetime.now(UTC))
    alone = OverTime(begin, begin + timedelta(hours=1), 0, (), where)
    by_carrier = over_time(store, replace(alone, by=("carrier",)))
    assert by_carrier["groups"] == 1 and by_carrier["step_s"] == over_time(store, alone)["step_s"] == 30
