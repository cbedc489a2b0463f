"""`Is it working?`: every part of the way says what was seen, and what to do where it does not work."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from api_ran import Run
from api_seed import AT
from fastapi.testclient import TestClient
from quiclens_schema import store as stores
from web_client import client

from quiclens_command_line.expected import expected
from quiclens_questions.failure import UsageMistake
from quiclens_questions.status import status
from quiclens_questions.working import Check, Observations, Recent, checks, next_steps

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
HEALTHY: dict[str, Any] = {
    "now": NOW,
    "servers": {"web-1": NOW - timedelta(seconds=5), "web-2": NOW - timedelta(minutes=59)},
    "heartbeats": {"c-1": 12.0, "c-2": 30.5},
    "last_event": NOW - timedelta(seconds=5),
    "recent": Recent(requests=1000, lines=1000, h3_lines=800, joined=99, traced=100),
}


def check(name: str, **changed: Any) -> Check:
    return {each.name: each for each in checks(Observations(**HEALTHY | changed))}[name]


def test_where_all_works_nothing_is_to_be_done_but_to_ask() -> None:
    found = checks(Observations(**HEALTHY))
    assert {each.state for each in found} == {"works"} and not any(each.do for each in found)
    assert next_steps(found) == ["ask for the slowest requests: quiclens slow --since 1h"]


@pytest.mark.parametrize(
    ("name", "changed", "state", "says"),
    [
        ("events", {"last_event": NOW - timedelta(seconds=60)}, "works", "last event 60 s ago"),
        ("events", {"last_event": NOW - timedelta(seconds=61)}, "look", "not arriving"),
        ("events", {"last_event": NOW - timedelta(hours=2)}, "fails", "not arriving: last event 2 h ago"),
        ("events", {"last_event": None}, "unknown", "no dated event"),
        ("events", {"last_event": NOW + timedelta(hours=2)}, "works", "0 s ago"),
        ("servers", {"servers": {}}, "unknown", "names its server"),
        ("servers", {"named": ("web-1", "web-9")}, "fails", "2 of 3 sent something.*silent: web-9 .never."),
        ("servers", {"servers": {"a": NOW, "b": NOW - timedelta(hours=3)}}, "look", "1 of 2 .*silent: b .3 h ago."),
        ("servers", {"servers": {"a": NOW - timedelta(hours=3)}}, "fails", "0 of 1"),
        ("servers", {"servers": {"a": NOW, "b": NOW - timedelta(days=2)}}, "works", "1 of 1"),
        ("servers", {"servers": {"a": NOW}, "are_cut": True}, "works", "others were not looked at"),
        ("servers", {"servers": {}, "named": [f"w{n}" for n in range(9)]}, "fails", "w4 .never. and 4 more"),
        ("collectors", {"heartbeats": {}}, "unknown", "no collector"),
        ("collectors", {"heartbeats": {"c-1": 61.0, "c-2": 5.0}}, "look", "1 of 2 .*late: c-1 .61 s ago."),
        ("collectors", {"heartbeats": {"c-1": 61.0}}, "fails", "0 of 1"),
        ("traces", {"recent": Recent()}, "unknown", "no request"),
        ("traces", {"recent": Recent(requests=5, lines=5, h3_lines=5)}, "fails", "0 % of the last hour's 5 requests"),
        ("lines", {"recent": Recent(requests=5, traced=5)}, "look", "known from traces alone"),
        ("joined", {"recent": Recent(requests=5, lines=5, traced=5)}, "unknown", "nothing to join"),
        ("joined", {"recent": Recent(requests=9, lines=5, h3_lines=5, traced=4)}, "fails", "0 % of the traced"),
        ("joined", {"recent": Recent(requests=9, lines=5, h3_lines=5, traced=4, joined=1)}, "look", "25 %"),
        ("joined", {"recent": Recent(requests=9, lines=5, h3_lines=5, traced=4, joined=2)}, "works", "50 %"),
        ("joined", {"recent": Recent(9, 5, 5, 2, 3, 4)}, "works", "several traces fit 3 lines"),
        ("rejects", {"rejects": {"truncated": 4}, "rejected_file": "/log/a"}, "look", "truncated 4, such as in /log/a"),
    ],
)  # fmt: skip
def test_each_part_says_what_was_seen(name: str, changed: dict[str, Any], state: str, says: str) -> None:
    found = check(name, **changed)
    assert found.state == state and re.search(says, found.says), found
    assert found.do or state in ("works", "unknown"), found


def test_the_broken_comes_first_in_what_to_do() -> None:
    found = checks(Observations(**HEALTHY | {"rejects": {"truncated": 4}, "servers": {}, "recent": Recent(5, 5, 5)}))
    first, second, last = next_steps(found)
    assert "QUIC log on" in first and first == check("traces", recent=Recent(5, 5, 5)).do
    assert second.startswith("truncated means: ") and "access_log.format" in last


def test_the_reason_that_came_most_is_explained() -> None:
    assert check("rejects", rejects={"empty_file": 2}).do.startswith("empty_file means: the file has no bytes; ")


def test_servers_are_named_by_a_list_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "servers"
    file.write_text("# edge\nweb-2\n\n web-1 \nweb-2\n")
    assert expected("") == () and expected("web-1, web-2,,web-1") == ("web-1", "web-2")
    assert expected(f"@{file}") == ("web-2", "web-1")
    for content in (b"\xff\xfe", b"x" * ((4 << 20) + 1)):
        file.write_bytes(content)
        with pytest.raises(UsageMistake, match=r"cannot be read|more than 4 MiB"):
            expected(f"@{file}")
    with pytest.raises(UsageMistake, match="No such file"):
        expected(f"@{tmp_path}/none")


def test_the_figures_are_those_of_the_last_hour_of_the_store(store_url: str) -> None:
    began = datetime.fromisoformat(AT).replace(tzinfo=UTC)
    with stores.open(store_url) as store:
        within = status(store, "", began + timedelta(minutes=30), ["edge1", "web-9"]).params["checks"]
        after = status(store, "", began + timedelta(hours=30)).params["checks"]
        long_after = status(store, "", began + timedelta(days=30)).params["checks"]
    said = {each["name"]: each["says"] for each in within}
    assert said["servers"] == "1 of 2 sent something in the last hour; silent: web-9 (never)"
    rows = store_rows(store_url, began)
    assert said["traces"].endswith(f"of the last hour's {rows['requests']:,} requests have a trace")
    assert said["lines"].startswith(f"{rows['lines']:,} lines of access logs in the last hour, {rows['h3_lines']:,} of")
    assert {each["name"]: each["state"] for each in after}["servers"] == "unknown"
    assert {each["state"] for each in long_after if each["name"] in ("traces", "lines", "joined")} == {"unknown"}


def store_rows(url: str, since: datetime) -> dict[str, int]:
    """The same figures counted from the rows themselves."""
    with stores.open(url) as store:
        rows = store.query("SELECT log_id, protocol, started_at FROM requests LIMIT 10000").rows
    recent = [(line, protocol) for line, protocol, at in rows if at is not None and at >= since - timedelta(minutes=30)]
    lines = [protocol for line, protocol in recent if line is not None]
    return {"requests": len(recent), "lines": len(lines), "h3_lines": lines.count("h3")}


def test_the_page_the_api_and_the_command_say_the_same(store_url: str, run: Run) -> None:
    said = run("status", "--expect", "edge1,web-9", "--json").document["params"]
    web: TestClient
    with client(store_url, expected=("edge1", "web-9")) as web:
        answered = web.get("/api/v1/status").json()["params"]
        shown = web.get("/working").text
    assert [each["state"] for each in answered["checks"]] == [each["state"] for each in said["checks"]]
    assert {each["name"] for each in said["checks"]} == {
        "events", "servers", "collectors", "traces", "lines", "joined", "rejects",
    }  # fmt: skip
    for each in said["checks"]:
        assert f'<tr class="{each["state"]}" id="{each["name"]}">' in shown
    assert "web-9 (never)" in shown and "on edge1: is the collector running" in shown
