"""Every query of every dashboard, as the plugin sends it, on the hour of its page's data over HTTP."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from demo_store import Demo
from expanding import Window, expand
from quiclens_schema.store import Result
from reading import PanelQuestion, queries

from quiclens_dashboards.ask import chosen

QUERIES = list(queries())
PANELS = [asked for asked in QUERIES if asked.kind != "variable"]

# What the demo cannot have, or must not.
EMPTY = {
    "pipeline: Gaps": "no event of the demo's hour is missing; the day before is asked below",
}
# Columns that are null in the demo's hour.
NULL = {
    "tail_latency: QUIC and TCP by ${by}": {"tcp_p95": "no carrier has 20 requests over TCP"},
    "tail_latency: Worst cells": {"p99": "no cell has 100 requests"},
}
HOSTILE = [
    "back\\",
    "\\' OR 1 = 1 --",
    "it's",
    "a&var-carrier=b",
    "100 %25",
    "$__fromTime",
    "${by:raw}",
    "a,b",
    "(",
    "é",
    "+ ",
]
# Not by time: how the tables are kept, not what is in them.
WHOLE = {"pipeline: Dropped days", "pipeline: Disk", "pipeline: Rejects"}


def run(demo: Demo, asked: PanelQuestion, window: Window | None = None, **choices: str | list[str]) -> Result:
    sql = expand(asked.sql, {**asked.variables, **choices}, window or demo.window_of(asked.page))
    assert "$" not in sql, sql
    return demo.store.query(sql)


@pytest.mark.parametrize("asked", QUERIES, ids=str)
def test_a_query_runs_and_has_what_its_panel_needs(demo: Demo, asked: PanelQuestion) -> None:
    result = run(demo, asked)
    types = dict(zip(result.columns, result.types, strict=True))
    assert (len(result.rows) == 0) == (str(asked) in EMPTY), result.rows[:3]
    if asked.kind == "variable":
        assert len(result.columns) == 1
    elif asked.format == 0:
        numbers = [name for name in result.columns[1:] if re.search("Int|Float", types[name])]
        labels = [name for name in result.columns[1:] if name not in numbers]
        assert result.columns[0] == "time" and types["time"].startswith("DateTime"), types
        assert numbers and all("String" in types[name] for name in labels), types
        assert [row[0] for row in result.rows] == sorted(row[0] for row in result.rows)
        since = demo.window_of(asked.page).since
        assert since <= min(row[0] for row in result.rows).replace(tzinfo=since.tzinfo)
    elif asked.kind == "stat":
        assert len(result.rows) == 1
        assert all(re.search("Int|Float", kind) for kind in types.values()), types
    assert not any(re.search("Array|Map|Tuple|AggregateFunction", kind) for kind in types.values()), types


@pytest.mark.parametrize("name", HOSTILE)
def test_a_value_chooses_its_rows_whatever_stands_in_it(demo: Demo, name: str) -> None:
    rows = "(SELECT CAST(arrayJoin({names:Array(String)}) AS LowCardinality(Nullable(String))) AS carrier)"
    text = expand(f"SELECT carrier FROM {rows} WHERE {chosen('carrier')}", {"carrier": [name], "by": "x"}, demo.window)
    found = [row[0] for row in demo.store.query(text, {"names": [*HOSTILE, "b"]}).rows]
    assert found == [name]


@pytest.mark.parametrize("asked", PANELS, ids=str)
def test_no_column_of_a_panel_is_always_null(demo: Demo, asked: PanelQuestion) -> None:
    result = run(demo, asked)
    null = {name for place, name in enumerate(result.columns) if all(row[place] is None for row in result.rows)}
    assert str(asked) in EMPTY or null == set(NULL.get(str(asked), {}))


@pytest.mark.parametrize("asked", QUERIES, ids=str)
def test_a_query_reads_its_window_and_not_the_days_before(demo: Demo, asked: PanelQuestion) -> None:
    """At most twice what the window's day has, in all places that read a table; the store has eleven times that."""
    result = run(demo, asked, day_before(demo) if str(asked) in EMPTY else None)
    if str(asked) in WHOLE:
        assert result.read_rows < 5_000
        return
    tables = [name for name in re.findall(r"FROM ([a-z_]+)", asked.sql) if name not in ("sampled", "chosen")]
    assert 0 < result.read_rows <= 2 * sum(in_window(demo, asked.page, table) for table in tables)


def test_the_audit_finds_the_event_that_every_trace_of_the_day_before_lacks(demo: Demo) -> None:
    before = day_before(demo)
    by_title = {asked.title: asked for asked in QUERIES if asked.page == "pipeline"}
    (sums,) = run(demo, by_title["Audit of a sample"], before).dicts()
    # Some of hosts and apps have fewer than four events, and lack none.
    of_day = f"FROM events WHERE trace_day = '{demo.window.since:%Y-%m-%d}' GROUP BY trace_id HAVING max(seq) >= 3"
    lacking = demo.store.query(f"SELECT count() FROM (SELECT trace_id {of_day})").one()[0]
    assert sums["audited"] == 200 > sums["traces_with_gaps"] == sums["missing"] > 100
    assert {row["missing"] for row in run(demo, by_title["Gaps"], before).dicts()} == {1}
    (day,) = run(demo, by_title["Events by day"], before).dicts()
    assert day["events_missing"] == lacking


def day_before(demo: Demo) -> Window:
    day = timedelta(days=1)
    return replace(demo.window, since=demo.window.since - day, until=demo.window.until - day)


def in_window(demo: Demo, page: str, table: str) -> int:
    since = demo.window_of(page).since
    hour = f"started_hour = toDateTime({int(since.timestamp())})"
    when = {
        "requests": hour,
        "request_dimensions": hour,
        "dropped_days": "1",
        "rejects": "1",
    }
    day = f"trace_day = toDate('{since:%Y-%m-%d}')"
    return int(demo.store.query(f"SELECT count() FROM {table} WHERE {when.get(table, day)}").one()[0])
