"""Pages hold what they are asked for, and nothing that a log says becomes markup."""

import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from quiclens_schema import store as stores
from quiclens_schema.catalogue import CAUSES
from web_client import client

from quiclens_questions.advice import ADVICE
from quiclens_questions.causes import LOOKS
from quiclens_web.pages.page import paragraphs
from quiclens_web.pages.svg import Span, parts_bar, ticks, timeline


@pytest.fixture(scope="module")
def web(store_url: str) -> Iterator[TestClient]:
    with client(store_url, qvis="https://qvis.example") as made:
        yield made


def test_a_request_is_explained_without_a_script(web: TestClient) -> None:
    text = web.get("/requests/aa11bb22/4").text
    assert "640 ms" in text and "loss recovery" in text and "412.000" in text
    assert 'class="cause-loss_recovery"' in text
    assert '<time datetime="2026-11-20T10:00:00.000Z">2026-11-20T10:00:00.000Z</time>' in text
    assert "qvis.example/#/sequence?file=" in text and "focusOnPN=17" in text


def test_a_request_without_a_trace_says_so(web: TestClient) -> None:
    shown = web.get("/requests/log:0f0f/128").text
    assert "no trace speaks for this request" in shown and "What the access log says" in shown
    assert "77.0 ms" in shown and "Where its time went" not in shown


@pytest.mark.parametrize(
    ("name", "path"),
    [("aa11bb22/4", "/requests/aa11bb22/4"), ("req-4", "/requests/req-4"), ("c0ffee99", "/connections/c0ffee99")],
)
def test_whatever_has_an_id_is_found(web: TestClient, name: str, path: str) -> None:
    found = web.get("/find", params={"id": name}, follow_redirects=False)
    assert found.status_code == 303 and found.headers["location"] == path
    assert web.get(path).status_code == 200


def test_a_part_of_a_name_is_enough(web: TestClient, store_url: str) -> None:
    with stores.open(store_url) as store:
        columns = "started_hour, dimension, value, requests, version, is_deleted"
        rows = [
            f"('2026-11-{day} 10:00:00', 'carrier', '{name}', 2, 1, 0)"
            for day, name in ((20, "acme"), ("01", "acmeold"))
        ]
        store.command(f"INSERT INTO dimension_versions ({columns}) VALUES {', '.join(rows)}")
    one = web.get("/find", params={"id": "aa11b/4"}, follow_redirects=False)
    assert one.status_code == 303 and one.headers["location"] == "/requests/aa11bb22/4"
    several = web.get("/find", params={"id": "aa11"})
    links = re.findall(r'href="(/requests/aa11bb22/\d)"', several.text)
    assert several.status_code == 200 and links == [f"/requests/aa11bb22/{stream}" for stream in (8, 4, 0)]
    found = web.get("/find", params={"id": "ACM"})
    assert found.status_code == 200 and 'until=2026-11-20T11%3A30%3A01Z&amp;where=carrier%3Dacme"' in found.text
    assert "acmeold" not in found.text
    assert web.get("/find", params={"id": "no such name"}).status_code == 404


def test_a_page_says_how_old_its_newest_request_is(web: TestClient) -> None:
    for path in ("/", "/requests"):
        text = web.get(path).text
        assert '<time datetime="2026-11-20T11:30:00Z">2026-11-20 11:30:00</time>' in text and "is-old" in text


@pytest.mark.parametrize("path", ["/requests/<script>", "/connections/<script>", "/find?id=<script>alert(1)</script>"])
def test_what_is_not_there_is_a_page_that_helps(web: TestClient, path: str) -> None:
    answer = web.get(path)
    assert answer.status_code == 404 and "<script>" not in answer.text.replace("<script type", "")
    assert "/requests" in answer.text


def test_a_failure_is_a_page_for_a_browser_and_a_document_for_a_program(web: TestClient) -> None:
    path = f"/find?id={'x' * 400}"
    shown = web.get(path, headers={"accept": "text/html"})
    assert shown.status_code == 422 and "<h1>Id: String should have at most 300 characters</h1>" in shown.text
    assert web.get(path).json()["code"] == "usage"
    asked = web.get("/api/v1/requests?limit=x", headers={"accept": "text/html"})
    assert asked.status_code == 422 and asked.json()["code"] == "usage"


def test_the_api_page_reads_as_a_page_and_shows_how_to_ask(web: TestClient) -> None:
    text = web.get("/api/docs").text
    assert "`" not in text and "<code>request_id</code>" in text
    assert "curl 'http://127.0.0.1:8123/api/v1/requests'" in text
    assert 'href="/api/v1/requests"' in text and 'href="/api/v1/requests/{request_id}"' not in text
    assert str(paragraphs("a `<b>` c\n\nd")) == "<p>a <code>&lt;b&gt;</code> c</p><p>d</p>"


def test_every_cause_has_one_colour_for_styles_and_scripts(web: TestClient) -> None:
    styles, names = web.get("/causes.css").text, web.get("/static/causes.js").text
    assert re.findall(r"\.cause-(\w+)", styles) == list(LOOKS)
    assert set(LOOKS) == set(CAUSES) and all(f'["{cause}", {{name: "' in names for cause in CAUSES)
    assert all(
        styles.count(colour) == 1 + (theme == "on_dark")
        for theme in ("on_light", "on_dark")
        for colour in (getattr(look, theme) for look in LOOKS.values())
    )


def test_the_bar_is_as_wide_as_its_parts() -> None:
    bar = str(parts_bar([{"cause": "network", "us": 250}, {"cause": "pto", "us": 750}], 1000))
    assert 'width="25.00%"' in bar and 'x="25.00%"' in bar and 'width="75.00%"' in bar
    assert 'href="#part-pto" aria-label="probe timeout: 750 µs, 75 %"' in bar


def test_stretches_of_a_request_are_a_table_and_bars_that_lead_to_packets(web: TestClient) -> None:
    text = web.get("/requests/aa11bb22/4").text
    table = text.partition('<table class="episodes">')[2].partition("</table>")[0]
    assert "lost and repaired" in table and "time threshold" in table and "152 ms" in table
    assert 'href="/connections/aa11bb22?view=log&amp;packet=17&amp;way=sent"' in table
    said = "lost and repaired, 412 ms from 100 ms, packet 17, declared lost after 152 ms, by time threshold"
    packets = "/connections/aa11bb22?view=packets&amp;from_us=179400&amp;to_us=632600&amp;stream=4"
    assert f'<a href="{packets}" aria-label="{said}"><rect' in text
    assert 'href="/connections/aa11bb22?from_us=68000&amp;to_us=772000&amp;stream=4"' in text


def test_a_connection_knows_the_request_that_one_came_from(web: TestClient) -> None:
    marked = 'data-stream="4" data-start="100000" data-end="740000"'
    assert marked in web.get("/connections/aa11bb22?stream=4").text
    assert marked in web.get("/connections/c0ffee99?stream=4").text, "also by another id of its connection"
    for stream in ("5", "x", "-4", "9" * 30):
        shown = web.get("/connections/aa11bb22", params={"stream": stream})
        assert shown.status_code == 200 and "data-start" not in shown.text


def test_the_tab_key_stops_at_the_longest_bars_alone() -> None:
    spans = [Span("a", "network", at, 2 * at + 1, str(at), f"/{at}") for at in range(60)]
    drawn = str(timeline(spans, [], 0, 200))
    assert drawn.count("<a ") == 60 and drawn.count('tabindex="-1"') == 20
    assert '<a href="/59" aria-label="59"><rect' in drawn


def test_a_request_says_who_asked_and_where_that_is_logged(web: TestClient) -> None:
    traced, logged = (web.get(f"/requests/{name}").text for name in ("aa11bb22/4", "log:0f0f/128"))
    assert "<h2>Who asked</h2>" in traced and "<td>acme</td>" in traced
    assert 'data-copy="req-4"' in traced and "<td>at 100.000 ms of the trace</td>" in traced
    assert "<td>zeta</td>" in logged and 'data-copy="it&#39;s/9"' in logged


def test_what_a_log_says_is_text_in_pictures() -> None:
    drawn = str(timeline([Span("<b>", "network", 0, 10, "</title><script>")], [("<i>", 5)], 0, 10))
    assert "<b>" not in drawn and "<script>" not in drawn and "<i>" not in drawn


@pytest.mark.parametrize("length", [1, 9, 10, 99, 640_000, 3_993_412, 10**12])
def test_ticks_are_few_and_round(length: int) -> None:
    found = ticks(length)
    assert 1 <= len(found) <= 11 and found[0] == 0 and found[-1] <= length


def test_every_cause_has_a_meaning_and_what_helps_against_it(web: TestClient) -> None:
    assert set(ADVICE) == set(CAUSES)
    shown = web.get("/causes").text
    assert all(f'id="{cause}"' in shown for cause in CAUSES)
    assert "What usually helps" in web.get("/requests/aa11bb22/4").text


def test_a_path_in_the_search_box_leads_to_its_requests(web: TestClient) -> None:
    found = web.get("/find", params={"id": "/img/1.avif"}, follow_redirects=False)
    assert found.headers["location"] == "/requests?where=path%3D%2Fimg%2F1.avif"


def test_marks_at_one_moment_share_a_line() -> None:
    drawn = str(timeline([], [("b", 500_000), ("a", 0), ("c", 500_100)], 0, 1_000_000))
    assert drawn.count('class="mark"') == 2 and "b, c, 500 ms" in drawn
