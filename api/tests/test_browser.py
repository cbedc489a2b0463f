"""Every page in a real browser, on the lab's traffic: its main path, no error, nothing that leaves the machine.

Needs chromium (Debian: `apt install chromium`) or QUICLENS_CHROMIUM; skipped where there is none. With
QUICLENS_PICTURES=FOLDER pictures of all pages are left there.
"""

import json
import os
import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit
from xml.etree import ElementTree

import pytest
from serve_process import Served, start
from store_rows import plant

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = os.environ.get("QUICLENS_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
PICTURES = os.environ.get("QUICLENS_PICTURES", "")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine"),
    pytest.mark.skipif(not (ROOT / "api" / "node_modules").is_dir(), reason="make setup was not run"),
]

Row = dict[str, Any]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The demo's traffic, served."""
    folder = tmp_path_factory.mktemp("browser")
    store = folder / "store"
    command, where = Path(sys.executable).parent / "quiclens", folder / "demo"
    words = [str(command), "demo", "--dir", str(where), "--connections", "40"]
    subprocess.run([*words, "--store", f"chdb:{store}", "--json"], check=True, capture_output=True)
    served = start(store)
    yield served
    assert served.stop() == 0


def step(name: str, path: str, expect: list[str], do: list[list[Any]] | None = None, **more: Any) -> Row:
    """One visit: where, what is done there, and what must then be seen."""
    return {"name": name, "path": path, "expect": expect, "do": do or [], **more}


def seen(served: Served, steps: list[Row], together: int = 1) -> list[Row]:
    words = ["node", "tests/browser/pages.mjs", served.url, str(CHROMIUM), PICTURES, str(together)]
    done = subprocess.run(words, input=json.dumps(steps), capture_output=True, text=True, cwd=ROOT / "api", timeout=999)
    assert done.returncode == 0, done.stderr
    found: list[Row] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "is_dark_or_narrow", [False, pytest.param(True, marks=pytest.mark.long)], ids=["wide", "dark and narrow"]
)
def test_every_page_shows_what_it_is_for(demo: Served, is_dark_or_narrow: bool) -> None:
    slowest = json.loads(demo.ask(method="GET", path="/api/v1/requests?limit=1").text)["requests"][0]
    request, connection = slowest["request_id"], quote(slowest["connection_id"])
    over_tcp = json.loads(demo.ask(method="GET", path="/api/v1/requests?limit=1&where=protocol%3Dh2").text)["requests"][
        0
    ]["request_id"]
    of = f"/connections/{connection}?view="
    views = {
        "congestion": ".u-over",
        "streams": "svg.timeline",
        "sequence": "#view svg",
        "packets": "#view canvas",
        "log": ".log tbody tr",
        "statistics": ".facts",
    }
    steps: list[Row] = [
        step("overview", "/", ["#triage p", "#tails canvas", "#shares canvas", "#different table, #different p"]),
        step("overview_dark", "/", ["#tails canvas"], dark=True),
        step("overview_phone", "/", ["#tails canvas"], width=400),
        step("requests", "/requests", ["#heat canvas", "#rows table"]),
        step(
            "requests_box", "/requests", ["text=requests in the box"], [["#heat canvas", "drag", 0.2, 0.05, 0.9, 0.45]]
        ),
        step(
            "requests_live",
            "/requests?since=400d&until=",
            ["#rows table:not([data-old])", "#window .newest:not([data-old])"],
            [
                ["#window", "set", "data-every-s", "0.2"],
                ["#rows table", "set", "data-old", "1"],
                ["#window .newest", "set", "data-old", "1"],
                ["input[name=live]", "click"],
            ],
        ),
        step("overview_of_an_age", "/?since=400d&until=", ["#live", "#tails canvas", "#map-left"]),
        step(
            "overview_of_slow_groups",
            "/?by=connection_id",
            ["text=all others (", "text=with the largest share of requests slower than"],
            [["#drawn", "text", "slowest"]],
        ),
        step("map_of_medians", "/", ["path.land", "#map-scale:has-text('median')"], [["#map-figure", "text", "p50"]]),
        step("map_of_no_hour", "/", ["No request of this group has a place."], [["#map-hour", "text", "0"]]),
        step("reports_by_hour", "/reports?name=loss&by=hour&time_zone=Asia%2FKolkata", ["text=packets lost"]),
        step("request", f"/requests/{request}", ["svg.bar", "svg.timeline", ".sentence"]),
        step("request_phone", f"/requests/{request}", ["svg.bar", ".sentence"], width=400),
        step(
            "request_over_tcp",
            f"/requests/{quote(over_tcp)}",
            ["What the access log says", "Compare this path with HTTP/3"],
        ),
        step("words", "/causes", ["What the words mean", "#cwnd_blocked"]),
        step(
            "filtered",
            "/requests",
            ["#rows table", ".chip:nth-child(2)"],
            [["input[name=where]", "text", 'status=200 carrier="Savanna Cell"'], [".window [type=submit]", "click"]],
        ),
        step("to_connection", "/requests", [".u-over"], [["#rows a", "click"], [".actions a", "click"]]),
        *(step(f"connection_{view}", of + view, [mark]) for view, mark in views.items()),
        step("zoomed", of + "congestion", [".u-over"], [["#overview-strip .u-over", "drag", 0.2, 0.5, 0.5, 0.5]]),
        step("searched", of + "log", [".log"], [["input[name=text]", "text", "lost"], [".tools button", "click"]]),
        step("opened", of + "log", [".log tr.all pre"], [[".log tbody tr", "click"]]),
        step("connection_phone", of + "congestion", [".u-over"], width=400),
        step("reports_phone", "/reports?name=tail&by=carrier", ["#report table"], width=400),
        step(
            "reports_dark",
            "/reports?name=tail&by=carrier",
            [".drawn svg[role=img]", "text=save the picture"],
            dark=True,
        ),
        step("compare", "/compare?a=status%3D200&b=status!%3D200", ["How long they took"]),
        step("compare_phone", "/compare?a=status%3D200&b=status!%3D200", ["How long they took"], width=400),
        step("reports", "/reports?name=tail&by=carrier", ["#report table"]),
        step(
            "find", "/", ["svg.bar"], [["body", "key", "/"], [".find input", "text", request], ["body", "key", "Enter"]]
        ),
        step("working", "/working", ["Is it working?", "tr#servers", "tr.unknown"]),
        step("working_phone", "/working", ["tr#rejects"], width=400),
        step("docs", "/api/docs", ["The slowest requests"]),
    ]
    steps = [each for each in steps if is_dark_or_narrow == ("dark" in each or "width" in each)]
    done = {each["name"] for each in steps if each["do"]}
    for each in steps:
        each["barriers"] = each["name"] not in done  # what axe calls one: WCAG 2.2 A and AA, as far as it can say
    for one in seen(demo, steps):
        assert not one["errors"] and not one["outside"] and not one["missing"], one
        assert not one["barriers"], json.dumps(one["barriers"], indent=1)
        assert one["overflow"] <= 1, one
        if one["name"] not in done:
            assert one["shifted"] <= 0.05, one  # web.dev/cls calls 0.1 good


@pytest.mark.long
def test_no_page_in_the_dark_and_on_a_phone_has_a_barrier_that_axe_knows(demo: Served) -> None:
    """What `test_every_page_shows_what_it_is_for` does not open, or not so. `quiclens-lab pages` has each page, with
    every report, in all themes and sizes."""
    slowest = json.loads(demo.ask(method="GET", path="/api/v1/requests?limit=1").text)["requests"][0]
    of = f"/connections/{quote(slowest['connection_id'])}"
    addresses = {
        "overview_of_many": "/?by=connection_id",
        "requests_by_carrier": "/requests?each=1&by=carrier",
        "view_packets": f"{of}?view=packets",
        "view_log": f"{of}?view=log",
        "report_grid": "/reports?name=grid",
        "report_restarts": "/reports?name=restarts",
        "report_compare": "/reports?name=compare",
        "sign_in": "/login",
        "found": "/find?id=Savanna",
        "no_such_page": "/nowhere",
        "no_such_request": "/requests/none%2F0",
    }
    looks = cycle([(True, 390), (True, 1280), (False, 390)])
    steps = [
        step(name, path, ["h1, h2"], dark=is_dark, width=width, barriers=True)
        for (name, path), (is_dark, width) in zip(addresses.items(), looks, strict=False)
    ]
    broken = {one["name"]: one["barriers"] for one in seen(demo, steps, together=2) if one["barriers"]}
    assert not broken, json.dumps(broken, indent=1)


def test_five_tasks_are_done_by_keys_alone(demo: Served) -> None:
    """Only Tab, arrows, Enter and letters: none of the steps clicks, or gives something the focus."""
    slowest = json.loads(demo.ask(method="GET", path="/api/v1/requests?limit=1").text)["requests"][0]
    of = f"/connections/{quote(slowest['connection_id'])}?view="

    def reached(selector: str) -> list[str]:
        return [selector, "tab"]

    def typed(text: str) -> list[str]:
        return ["body", "type", text]

    grouping = [reached("select[name=by]"), typed("region"), key("Enter")]
    filtering = [reached("input[name=where]"), typed("status=200 protocol=h3"), key("Enter")]
    unfiltering = [reached(".chip button"), key("Enter")]
    steps = [
        step(
            "keys_find_the_slowest_and_its_connection",
            "/requests",
            ["[role=tab][aria-selected=true]", ".u-over"],
            [reached("#rows a"), key("Enter"), reached(".actions a"), key("Enter")],
        ),
        step("keys_group_and_filter", "/", ["#tails canvas", ".chip"], [*grouping, *filtering]),
        step("keys_take_a_filter_away", "/?where=status%3D200&where=protocol%3Dh3", [".chip"], unfiltering),
        step(
            "keys_read_an_event",
            of + "log",
            [".log tr.all pre"],
            [reached("input[name=text]"), typed("packet_lost"), key("Enter"), reached(".log tbody tr"), key("Enter")],
        ),
        step(
            "keys_ask_for_a_report",
            "/reports?name=tail",
            ["#report table", "text=packets lost"],
            [reached("select[name=name]"), typed("loss"), reached("form [type=submit]"), key("Enter")],
        ),
        step(
            "keys_copy_a_ticket",
            f"/requests/{slowest['request_id']}",
            ["dialog[open] textarea, dialog[open] pre"],
            [reached("button[data-ticket]"), key("Enter")],
        ),
    ]
    found = {one["name"]: one for one in seen(demo, steps)}
    for one in found.values():
        assert not one["errors"] and not one["missing"], one
    said = parse_qs(urlsplit(found["keys_group_and_filter"]["url"]).query)
    assert said["by"] == ["region"] and sorted(said["where"]) == ["protocol=h3", "status=200"]
    assert parse_qs(urlsplit(found["keys_take_a_filter_away"]["url"]).query)["where"] == ["protocol=h3"]


@pytest.mark.long
def test_a_grouping_that_the_form_does_not_offer_stays(demo: Served) -> None:
    path = "/?by=connection_id,region"
    filtering = [["input[name=where]", "text", "status=200"], [".window [type=submit]", "click"]]
    (one,) = seen(demo, [step("grouped", path, [".chip", "#tails canvas"], filtering)])
    assert not one["errors"] and not one["missing"], one
    assert parse_qs(urlsplit(one["url"]).query)["by"] == ["connection_id,region"]


@pytest.mark.long
def test_an_address_is_what_a_page_shows(demo: Served) -> None:
    """After Back, with values that a form does not offer, with a box that its window does not have."""
    window = "since=2026-11-20T10:40:00Z&until=2026-11-20T10:49:55Z"
    beyond = f"/requests?{window}&box=2026-11-20T10:19:44.265Z,2026-11-20T10:24:52.028Z,513033,14435116"
    box = f"/requests?{window}&box=2026-11-20T10:41:00.000Z,2026-11-20T10:45:00.000Z,1000,90000000"
    filtering = [
        ["[name=name]", "text", "loss"],
        ["[name=where]", "text", "carrier=Vale DSL"],
        ["form [type=submit]", "click"],
    ]
    comparing = [["[name=a]", "text", "protocol=h2"], ["form [type=submit]", "click"]]
    days = "since=2026-11-18T00:00:00Z&until=2026-11-21T00:00:00Z"
    days += "&box=2026-11-18T03:00:00.000Z,2026-11-20T11:00:00.000Z,1,9e7"
    steps = [
        step(
            "report_before",
            "/reports?name=tail&by=carrier",
            ["text=Durations of requests"],
            [*filtering, ["body", "back"]],
        ),
        step("compare_before", "/compare", ["#teach"], [*comparing, ["body", "back"]]),
        step("box_beyond", beyond, ["#rows table"], [["#selection", "lacks", "in the box"]]),
        step("box_left", box, ["#rows table"], [["[data-age='15m']", "click"], ["#selection", "lacks", "in the box"]]),
        step("box_of_days", f"/requests?{days}", ["text=2026-11-20 11:00:00"]),
        step("limit", "/requests?limit=7", ["#rows tbody tr:nth-child(7)"]),
        step("several", "/requests?by=carrier,region&each=1", ["#rows table", "#each:disabled"]),
        step("hours", "/reports?name=rtt&by=hour", ["#tails canvas"], [["nav a[data-page='/']", "click"]]),
        step(
            "zone",
            "/?since=2026-11-20T10:40:00Z&until=2026-11-20T10:49:55",
            ["#tails canvas"],
            [["[data-age='1h']", "click"]],
        ),
    ]
    found = {one["name"]: one for one in seen(demo, steps)}
    for one in found.values():
        assert not one["errors"] and not one["missing"], one
    assert found["report_before"]["url"].endswith("/reports?name=tail&by=carrier")
    assert "box=" not in found["box_left"]["url"] and "by=" not in found["hours"]["url"]
    assert parse_qs(urlsplit(found["zone"]["url"]).query)["since"] == ["2026-11-20T09:49:55Z"]


@pytest.mark.long
def test_views_of_a_short_stretch_tell_times_apart(demo: Served) -> None:
    slowest = json.loads(demo.ask(method="GET", path="/api/v1/requests?limit=1").text)["requests"][0]
    of = f"/connections/{quote(slowest['connection_id'])}?view=congestion&from_us=100&to_us=900"
    (one,) = seen(demo, [step("short", of, [".u-over"], [[".u-legend", "lacks", "NaN"]])])
    assert not one["errors"] and not one["missing"], one


@pytest.mark.long
def test_a_heat_map_of_another_size_is_another_drawing(demo: Served) -> None:
    """The box is where the pointer was, after the window was made narrower too."""
    path = "/requests?since=2026-11-20T10:00:00Z&until=2026-11-20T10:50:00Z"
    do = [["body", "size", 700], ["#heat canvas", "drag", 0.85, 0.05, 0.99, 0.9]]
    (one,) = seen(demo, [step("narrowed", path, ["text=requests in the box"], do)])
    assert not one["errors"] and not one["missing"], one
    assert parse_qs(urlsplit(one["url"]).query)["box"][0] > "2026-11-20T10:38", one["url"]


@pytest.mark.long
def test_the_map_has_the_name_of_what_it_shows(demo: Served) -> None:
    """The answer that comes late is of the carrier that was chosen first."""
    late: list[Any] = ["**/api/v1/cells*Northlight*", "late", 1500]
    do = [late, ["#map-left", "text", "Northlight Fiber"], ["#map-left", "text", "Vale DSL"]]
    (one,) = seen(demo, [step("mapped", "/", ["#map-a-name:has-text('Vale DSL')"], do)])
    where = "&where=carrier%3DVale+DSL"
    cells = json.loads(demo.ask(method="GET", path=f"/api/v1/cells?since=400d{where}").text)
    assert not one["errors"] and not one["missing"], one
    assert f"Vale DSL: {sum(cells['requests'])} requests" in one["told"]


def test_a_barrier_is_seen_and_said_where(demo: Served) -> None:
    planted = step("planted", "/causes", ["h1"], [["main a", "set", "role", "nonsense"]], barriers=True)
    ((barrier,),) = (one["barriers"] for one in seen(demo, [planted]))
    assert barrier["rule"] == "aria-roles" and barrier["places"][0]["html"].startswith("<a"), barrier


def test_the_window_and_the_filter_go_along_from_page_to_page(demo: Served) -> None:
    query = "since=2026-11-20T10:00:00Z&until=2026-11-20T10:40:00Z&by=server&where=status%3D200&where=method%3DGET"
    links = [["nav a[data-page='/requests']", "click"], ["#rows a", "click"], ["nav a[data-page='/reports']", "click"]]
    (one,) = seen(demo, [step("carried", f"/?{query}", ["#report table"], links)])
    assert not one["errors"] and not one["missing"], one
    assert parse_qs(urlsplit(one["url"]).query) == parse_qs(query) and urlsplit(one["url"]).path == "/reports"


@pytest.mark.long
def test_the_line_of_a_filter_is_made_of_conditions(demo: Served) -> None:
    lines = {
        "carrier=Halden Mobile status>=500": ["carrier=Halden Mobile", "status>=500"],
        "duration_us > 1.5 s path~/api/*": ["duration_us>1.5 s", "path~/api/*"],
        "carrier='Halden Mobile' OR carrier=\"Vale DSL\" status=200": [
            "carrier=Halden Mobile OR carrier=Vale DSL",
            "status=200",
        ],
        "carrier=a b OR path!~*.jpg": ["carrier=a b OR path!~*.jpg"],
        "path=/x OR y status<400": ["path=/x OR y", "status<400"],
        "nothing carrier=x": ["nothing", "carrier=x"],
    }
    steps = [
        step(
            f"filter-{at}",
            "/requests",
            ["#rows"],
            [["#window [name=where]", "text", line], ["#window [type=submit]", "click"]],
        )
        for at, line in enumerate(lines)
    ]
    told = [parse_qs(urlsplit(each["url"]).query)["where"] for each in seen(demo, steps)]
    assert told == list(lines.values())


@pytest.mark.long
def test_what_was_not_answered_leaves_nothing_of_the_answer_before(demo: Served) -> None:
    do = [["input[name=where]", "text", "carier=x"], [".window [type=submit]", "click"]]
    for path in ("/", "/requests"):
        (one,) = seen(demo, [step("unanswered", path, [".error", "text=not answered"], do)])
        assert not one["missing"] and all("422" in each for each in one["errors"]), one


def test_a_server_that_is_gone_is_said_in_words(demo: Served) -> None:
    do = [["body", "offline"], ["input[name=where]", "text", "status=200"], [".window [type=submit]", "click"]]
    (one,) = seen(demo, [step("server_gone", "/requests", ["text=The server does not answer"], do)])
    assert not one["missing"], one


def test_a_box_on_the_heat_map_is_drawn_by_keys(demo: Served) -> None:
    at_map = ["#heat canvas[role=application]", "focus"]
    walk = [key(name) for name in [*["ArrowLeft"] * 5, *["Shift+ArrowLeft"] * 40, *["Shift+ArrowDown"] * 20, "Enter"]]
    expect = ["text=requests in the box", "#heat canvas:focus"]
    boxed, cleared = seen(
        demo,
        [
            step("box_by_keys", "/requests", expect, [at_map, *walk]),
            step("box_cleared", "/requests", ["#heat canvas:focus"], [at_map, *walk, key("Escape")]),
        ],
    )
    assert not boxed["errors"] and not boxed["missing"] and "box=" in boxed["url"], boxed
    assert not cleared["errors"] and not cleared["missing"] and "box=" not in cleared["url"], cleared


@pytest.mark.long
def test_a_box_below_the_slowest_has_its_rows(demo: Served) -> None:
    box = ["#heat canvas", "drag", 0.15, 0.6, 0.95, 0.85]
    (one,) = seen(demo, [step("box_below", "/requests", ["text=requests in the box", "#rows tbody tr"], [box])])
    assert not one["errors"] and not one["missing"], one


@pytest.mark.long
def test_rows_of_each_value_stand_under_its_name(demo: Served) -> None:
    path = "/requests?each=1&by=carrier"
    (one,) = seen(demo, [step("each", path, ["tr.group th[scope=rowgroup]", "text=slowest"])])
    assert not one["errors"] and not one["missing"], one


TICKET = ["dialog.ticket a[download]", "save"]


def test_a_request_is_a_ticket_to_be_copied_and_saved(demo: Served) -> None:
    request = lossy(demo)["request_id"]
    do = [["button[data-ticket]", "click"], TICKET]
    (one,) = seen(demo, [step("ticket", f"/requests/{request}", ["dialog.ticket textarea"], do)])
    assert not one["errors"] and not one["missing"], one
    (file,) = one["saved"]
    text = b64decode(file["base64"]).decode()
    assert file["name"] == "request.md" and text.startswith("# ") and f"]({demo.url}/requests/{request})" in text, text


@pytest.mark.long
def test_a_trace_opens_in_the_public_qvis_where_no_other_is_named(demo: Served) -> None:
    """The file is saved, the site is opened, and is told nothing."""
    found = lossy(demo)
    link = ["text=Open in qvis", "popup"]
    for path in (f"/requests/{found['request_id']}", f"/connections/{quote(found['connection_id'])}"):
        (one,) = seen(demo, [step("qvis", path, [".actions"], [link])])
        (file,) = one["saved"]
        assert file["name"].endswith(".sqlog") and file["opened"] == "https://qvis.quictools.info/", one


@pytest.mark.long
def test_the_order_of_the_list_is_chosen_and_its_address_opens_again(demo: Served) -> None:
    choose = [["#sort", "text", "usual"]]
    expect = ["#rows tbody tr", "text=the median of the same carrier, path and size", "text=\u00d7 usual"]
    (chosen,) = seen(demo, [step("sort_chosen", "/requests", expect, choose)])
    assert not chosen["errors"] and not chosen["missing"] and "sort=usual" in chosen["url"], chosen
    again = chosen["url"].removeprefix(demo.url)
    (opened,) = seen(demo, [step("sort_opened", again, expect)])
    assert not opened["errors"] and not opened["missing"], opened


@pytest.mark.long
def test_one_drag_is_one_step_to_go_back(demo: Served) -> None:
    """Charts of a group share their cursor, and a selection in one is one in all."""
    slowest = json.loads(demo.ask(method="GET", path="/api/v1/requests?limit=1").text)["requests"][0]
    path = f"/connections/{quote(slowest['connection_id'])}?view=congestion"
    drag = ["#view .u-over", "drag", 0.3, 0.5, 0.6, 0.5]
    zoomed, back = seen(
        demo, [step("dragged", path, [".u-over"], [drag]), step("back", path, [".u-over"], [drag, ["body", "back"]])]
    )
    assert "from_us=" in zoomed["url"] and "from_us=" not in back["url"], (zoomed, back)
    before = "/?since=2026-11-20T10:00:00Z&until=2026-11-20T11:00:00Z"
    (one,) = seen(demo, [step("back", before, ["#tails canvas"], [["#tails .u-over", *drag[1:]], ["body", "back"]])])
    assert one["url"].endswith(before), one


@pytest.mark.long
def test_a_finger_that_moves_sideways_zooms_and_one_that_moves_down_scrolls(demo: Served) -> None:
    before = "/?since=2026-11-20T10:00:00Z&until=2026-11-20T11:00:00Z"
    across, down = (["#tails .u-over", "swipe", *ends] for ends in ((0.3, 0.5, 0.6, 0.5), (0.5, 0.8, 0.5, 0.2)))
    steps = [step(name, before, ["#tails canvas"], [do], width=390) for name, do in (("a", across), ("d", down))]
    zoomed, scrolled = seen(demo, steps)
    assert not zoomed["errors"] and not scrolled["errors"], (zoomed, scrolled)
    assert scrolled["url"].endswith(before), scrolled
    begin, end = (parse_qs(urlsplit(zoomed["url"]).query)[name][0] for name in ("since", "until"))
    assert "2026-11-20T10:10:00Z" < begin < "2026-11-20T10:25:00Z" < end < "2026-11-20T10:45:00Z", zoomed


def lossy(demo: Served) -> Row:
    """The slowest request of which packets were lost."""
    path = f"/api/v1/requests?limit=1&where={quote('packets_lost>=1')}"
    found: Row = json.loads(demo.ask(method="GET", path=path).text)["requests"][0]
    return found


def key(name: str) -> list[str]:
    return ["body", "key", name]


@pytest.mark.long
def test_tabs_of_a_connection_are_walked_by_arrows_and_keep_the_focus(demo: Served) -> None:
    path = f"/connections/{quote(lossy(demo)['connection_id'])}?view=congestion"
    on_tab = ["#tab-congestion", "focus"]
    walked = [
        "#tab-streams:focus[tabindex='0'][aria-selected=true]",
        "#view[role=tabpanel][aria-labelledby=tab-streams]",
    ]
    found = seen(
        demo,
        [
            step("tab_opened", path, walked, [on_tab, key("ArrowRight"), key("Enter")]),
            step("tab_by_number", path, ["#tab-packets:focus"], [on_tab, key("4")]),
            step("tab_last", path, ["#tab-statistics:focus"], [on_tab, key("ArrowLeft")]),
            step("panned_at_full_view", path, [".u-over"], [key("ArrowRight")]),
        ],
    )
    for one in found:
        assert not one["errors"] and not one["missing"] and "from_us" not in one["url"], one


@pytest.mark.long
def test_a_stretch_is_moved_no_further_than_to_the_end_of_its_trace(demo: Served) -> None:
    connection = quote(lossy(demo)["connection_id"])
    trace = json.loads(demo.ask(method="GET", path=f"/api/v1/connections/{connection}").text)["connection"]
    end = trace["duration_us"]
    path = f"/connections/{connection}?view=statistics&from_us={end - 800_000}&to_us={end - 100_000}"
    beyond = f"/connections/{connection}?view=congestion&from_us={2 * end}&to_us={3 * end}"
    moved, lost = seen(
        demo,
        [
            step("moved_to_the_end", path, [".facts"], [key("ArrowRight"), key("ArrowRight")]),
            step("beyond_the_end", beyond, ["text=lies beyond its end", ".u-over"]),
        ],
    )
    assert not moved["errors"] and not lost["errors"] and not lost["missing"], (moved, lost)
    query = parse_qs(urlsplit(moved["url"]).query)
    assert query["from_us"] == [str(end - 700_000)] and query["to_us"] == [str(end)]


@pytest.mark.long
def test_packets_say_by_colour_and_in_words_what_they_are(demo: Served) -> None:
    path = f"/connections/{quote(lossy(demo)['connection_id'])}?view=packets"
    expect = [
        ".lanes[tabindex='0'] canvas",
        "text=lost packet",
        "text=acknowledgement",
        "text=of them lost",
        "In sight:",
    ]
    whole, scrolled = seen(
        demo,
        [
            step("packets", path, expect),
            step("packets_scrolled", path, [".lanes:focus"], [[".lanes", "focus"], key("ArrowRight")]),
        ],
    )
    assert not whole["errors"] and not whole["missing"], whole
    assert not scrolled["errors"] and not scrolled["missing"] and "from_us" not in scrolled["url"], scrolled


@pytest.mark.long
def test_a_request_is_marked_in_its_connection(demo: Served) -> None:
    """Its time is shaded, and both clocks are said."""
    request = lossy(demo)["request_id"]
    wanted = {"congestion": ".u-over", "packets": ".lanes", "sequence": "rect.request", "log": "text=ms of the request"}
    views = [
        step(f"marked_{view}", f"/requests/{request}", [mark, "Shaded: request"], [
            ["text=See it in the connection", "click"], [f"#tab-{view}", "click"]
        ])
        for view, mark in wanted.items()
    ]  # fmt: skip
    for one in seen(demo, views):
        assert not one["errors"] and not one["missing"] and "stream=" in one["url"], one


@pytest.mark.long
def test_times_are_told_from_where_one_chooses(demo: Served) -> None:
    request = lossy(demo)
    path = f"/connections/{quote(request['connection_id'])}?stream={request['stream_id']}&view="
    chosen = ["#clock button[aria-pressed=true]", "Times are since the request began"]
    negative = {
        "streams": r"/^-\d/",
        "packets": "/In sight: -/",
        "sequence": r"/^-[\d,.]+ ms/",
        "log": "events from -",
    }
    views = {"congestion": ".u-over", **{view: f"text={told}" for view, told in negative.items()}}
    of_request = [
        step(f"zero_{view}", path + view, [mark, *chosen], [["#clock button", "click"]]) for view, mark in views.items()
    ]
    of_trace = step("zero_back", f"{path}log&zero=request", ["text=events from 0 µs"], [["#clock button", "click"]])
    *ones, back = seen(demo, [*of_request, of_trace])
    assert all(not one["errors"] and not one["missing"] and "zero=request" in one["url"] for one in ones), [
        one["missing"] for one in ones
    ]
    assert not back["errors"] and not back["missing"] and "zero=" not in back["url"], back


# A day of requests of three carriers, of which one has been three times as slow for half an hour.
_WORSE = """
INSERT INTO request_versions
    (request_id, started_hour, started_at, connection_id, source, link, coverage, weight, complete, duration_us, end_is,
     protocol, carrier)
WITH
    number AS n,
    toDateTime64('2026-11-20 12:00:00', 6, 'UTC') - toIntervalMillisecond((60000 - n) * 1560) AS at,
    concat('carrier ', toString(cityHash64(n, 1) % 3)) AS of,
    exp((cityHash64(n, 2) % 1000) / 500) * 50000 AS usual_us
SELECT
    toString(n), toStartOfHour(at), at, toString(n), 'log', 'id', 'none', 1, true,
    toUInt64(if(of = 'carrier 1' AND at >= toDateTime('2026-11-20 11:30:00', 'UTC'), usual_us * 3, usual_us)), 'fin',
    'h2', of
FROM numbers(60000)
"""


@pytest.mark.long
def test_a_finding_leads_to_its_comparison_with_before_and_is_a_ticket(tmp_path: Path) -> None:
    plant(tmp_path / "store", _WORSE)
    served = start(tmp_path / "store")
    expect = ["How long they took", "text=have a counterpart", "text=95 % sure"]
    one, ticket = seen(
        served,
        [
            step("before_and_after", "/", expect, [["text=before and after", "click"]]),
            step("triage_ticket", "/", ["dialog.ticket textarea"], [["#triage button", "click"], TICKET]),
        ],
    )
    assert served.stop() == 0
    assert not one["errors"] and not one["missing"], one
    query = parse_qs(urlsplit(one["url"]).query)
    assert query["a"] == ['carrier="carrier 1" started_at<=2026-11-20T11:29:59.999999Z']
    assert query["b"] == ['carrier="carrier 1" started_at>=2026-11-20T11:30:00.000000Z']
    assert query["since"][0] < "2026-11-19" and query["until"][0] > "2026-11-20T11:59"
    assert not ticket["errors"] and not ticket["missing"], ticket
    (file,) = ticket["saved"]
    text = b64decode(file["base64"]).decode()
    assert file["name"] == "triage.md" and "\n## carrier carrier 1\n" in text, text
    assert f"]({served.url}/requests?since=" in text and f"]({served.url}/requests/" in text, text


@pytest.mark.long
def test_groups_are_compared_of_the_same_mix(demo: Served) -> None:
    mix = step("same_mix", "/compare?a=protocol%3Dh2&b=protocol%3Dh3", ["text=have a counterpart"])
    other = step("no_mix", "/compare?a=response_bytes<%3D1&b=response_bytes>%3D2", ["text=too few requests in common"])
    for one in seen(demo, [mix, other]):
        assert not one["errors"] and not one["missing"], one


@pytest.mark.long
def test_an_event_is_found_by_what_people_call_it(demo: Served) -> None:
    path = f"/connections/{quote(lossy(demo)['connection_id'])}?view=log"
    names = ["packet lost", "packet_lost", "quic:packet_lost", "recovery:packet_lost"]
    search, way = [".tools button", "click"], ["select[name=way]", "text"]
    steps = [
        step(f"found_{field}", path, [".log tr.packet_lost"], [[f"input[name={field}]", "text", name], search])
        for field in ("text", "name")
        for name in names
    ]
    of_peer = [["input[name=name]", "text", names[0]], [*way, "received"], search]
    for one in seen(demo, [*steps, step("of_peer", path, ["No event in this stretch fits."], of_peer)]):
        assert not one["errors"] and not one["missing"], one


def test_views_of_a_connection_say_what_they_draw(demo: Served) -> None:
    request = lossy(demo)
    path = f"/connections/{quote(request['connection_id'])}?stream={request['stream_id']}&view="
    zero = ["#view label input[type=checkbox]", "click"]
    steps = [
        step("rtt_from_zero", path + "congestion", ["#view label input:checked"], [zero]),
        step("rtt_as_measured", path + "congestion", ["#view label input:not(:checked)"], [zero, zero]),
        step("streams_key", path + "streams", ["text=no request's", "svg.timeline text.tick"]),
        step(
            "streams_sorted",
            path + "streams",
            ["th[aria-sort=descending] .sort"],
            [["#view th:nth-child(5) .sort", "click"]],
        ),
        step("sequence_named", path + "sequence", ["#view svg[role=img][aria-label]"]),
        step("statistics_packed", path + "statistics", [".packed .card", "pre.event[tabindex='0']"]),
    ]
    found = seen(demo, steps)
    for one in found:
        assert not one["errors"] and not one["missing"], one
    assert "rtt_from_zero=1" in found[0]["url"] and "rtt_from_zero" not in found[1]["url"]


@pytest.mark.long
def test_bars_of_a_request_are_reached_and_opened_by_keys(demo: Served) -> None:
    bar = ["svg.timeline a", "focus"]
    (one,) = seen(demo, [step("bar_opened", f"/requests/{lossy(demo)['request_id']}", [".lanes"], [bar, key("Enter")])])
    assert not one["errors"] and not one["missing"] and "view=packets" in one["url"], one


def test_a_saved_picture_says_what_it_shows(demo: Served) -> None:
    path = "/?by=carrier&quantile=p50&where=status%3D200&since=2026-11-20T10:00:00Z&until=2026-11-20T11:00:00Z"
    buttons = [f"#tails .chart-tools button:nth-child({at})" for at in (1, 2)]
    do = [["#tails .u-legend .u-series:nth-child(2) th", "click"], *([button, "save"] for button in buttons)]
    over_midnight = path.replace("2026-11-20T10:00", "2026-11-19T23:30")
    one, other = seen(
        demo, [step(f"saved_{at}", each, ["#tails canvas"], do) for at, each in enumerate((path, over_midnight))]
    )
    assert not any(each["errors"] or each["missing"] for each in (one, other)), (one, other)
    png, svg = (b64decode(each["base64"]) for each in one["saved"])
    assert [each["name"] for each in one["saved"]] == ["tail-p50.png", "tail-p50.svg"]
    assert png.startswith(b"\x89PNG")
    texts = texts_of(svg)
    assert texts[-1].startswith(demo.url + "/?by=carrier") and any(each.startswith("Tail latency") for each in texts)
    assert "2026-11-20T10:00:00Z to 2026-11-20T11:00:00Z (UTC), status=200" in texts
    answer = json.loads(demo.ask(method="GET", path="/api/v1/over-time" + path[1:].replace("&quantile=p50", "")).text)
    carriers = {series["group"]["carrier"] for series in answer["series"]}
    assert len(carriers & set(texts)) == 1, "the line that was chosen is alone in the legend"
    assert "10:30:00" in texts, "a time is enough within a day"
    of_both_days = texts_of(b64decode(other["saved"][1]["base64"]))
    assert "2026-11-19 23:30" in of_both_days and "2026-11-20 11:00" in of_both_days


def texts_of(svg: bytes) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.long
def test_the_legend_tells_the_last_values_and_chooses_a_line_or_all(demo: Served) -> None:
    path = "/?by=carrier&quantile=p50&since=2026-11-20T10:00:00Z&until=2026-11-20T11:00:00Z"
    names = "#tails .u-legend .u-series"
    last = [f"{names}:nth-child({at}) .u-value:text-matches('[0-9]')" for at in (1, 2)]
    is_off, label = f"{names}:nth-child(3).u-off", [f"{names}:nth-child(2) th", "click"]
    steps = [
        step("unhovered", path, last),
        step("chosen", path, [is_off, f"{names}:nth-child(2):not(.u-off)"], [label]),
        step("all_again", path, [f"{names}:nth-child(3):not(.u-off)"], [label, label]),
    ]
    for one in seen(demo, steps):
        assert not one["errors"] and not one["missing"], one


@pytest.mark.long
def test_a_trace_that_is_dropped_leads_to_its_connection(demo: Served) -> None:
    source = next((ROOT / "schema" / "vectors" / "quiche_0_30_server").glob("input.*"))
    (one,) = seen(demo, [step("upload", "/upload", [".u-over"], [["#files", "file", str(source)]])])
    assert not one["errors"] and not one["missing"] and "/connections/" in one["url"], one
