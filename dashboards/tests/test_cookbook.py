"""Every query of `deploy/docs/sql-cookbook.md`, on the demo's store, over HTTP."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from demo_store import Demo

PAGE = Path(__file__).resolve().parents[2] / "deploy" / "docs" / "sql-cookbook.md"
QUERIES = re.findall(r"(?ms)^## (.*?)$.*?^```sql\n(.*?)^```", PAGE.read_text(encoding="utf-8"))


def test_the_page_has_queries() -> None:
    assert len(QUERIES) == PAGE.read_text(encoding="utf-8").count("```sql") >= 8


@pytest.mark.parametrize("query", [query for _, query in QUERIES], ids=[title for title, _ in QUERIES])
def test_a_query_of_the_cookbook_has_rows(demo: Demo, query: str) -> None:
    ends = {"since": demo.window.since, "until": demo.window.until + timedelta(seconds=1)}
    found = demo.store.query(query, {name: f"{at:%Y-%m-%d %H:%M:%S}" for name, at in ends.items()})
    assert found.rows and all(any(cell is not None for cell in row) for row in found.rows)


@pytest.mark.parametrize("query", [query for _, query in QUERIES], ids=[title for title, _ in QUERIES])
def test_a_query_of_the_cookbook_names_its_days(query: str) -> None:
    for table in re.findall(r"FROM (\w+)", query):
        assert ("started_hour" if table == "requests" else "trace_day") in query, table
