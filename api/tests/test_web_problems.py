"""No failure is silent: each is answered as RFC 9457 has it, counted by route, and an unexpected one is logged."""

import logging
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from urllib.parse import quote

import pytest
from api_seed import A as CONNECTION
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry
from quiclens_schema import store as stores
from serve_process import Served, start, start_words, until
from web_client import client

from quiclens_store_server.app import create_app
from quiclens_web.api import routes_files, routes_reports, routes_requests
from quiclens_web.api.settings import QuestionLimits
from quiclens_web.api.strict import parameters_of
from quiclens_web.front.faults import SERVER_ERRORS, Fault
from quiclens_web.front.metrics import FrontMetrics
from quiclens_web.front.settings import ServeSettings
from quiclens_web.pages import routes as pages

MEMBERS = {"type", "title", "status", "detail", "instance", "code", "hint"}
HTML = {"accept": "text/html"}


@pytest.fixture(scope="module")
def web(store_url: str) -> Iterator[TestClient]:
    with client(store_url) as made:
        yield made


def sample(registry: CollectorRegistry, name: str, **labels: str) -> float:
    return registry.get_sample_value(f"quiclens_serve_{name}", labels) or 0.0


def broken(*_: object) -> None:
    raise ZeroDivisionError("of a test")


def test_an_unexpected_error_is_logged_counted_and_answered_with_its_id(
    store_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(routes_requests, "slow", broken)
    metrics = FrontMetrics()
    with client(store_url, metrics=metrics) as web, caplog.at_level(logging.ERROR, "quiclens.serve"):
        answer = web.get("/api/v1/requests?where=carrier=acme")
    problem = answer.json()
    assert answer.status_code == problem["status"] == 500 and set(problem) == MEMBERS
    assert answer.headers["content-type"] == "application/problem+json"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "of a test" not in answer.text and "ZeroDivision" not in answer.text
    (record,) = caplog.records
    said = record.getMessage()
    assert "GET /api/v1/requests failed" in said and answer.headers["x-request-id"] in said
    assert problem["instance"] == f"urn:uuid:{answer.headers['x-request-id']}"
    assert record.exc_info is not None and record.exc_info[0] is ZeroDivisionError and record.exc_info[2] is not None
    labels = {"method": "GET", "route": "/api/v1/requests", "status": "500"}
    assert sample(metrics.registry, "responses_total", **labels) == 1
    assert sample(metrics.registry, "unexpected_errors_total", route="/api/v1/requests") == 1
    assert sample(metrics.registry, "response_seconds_count", route="/api/v1/requests") == 1


def test_an_unexpected_error_is_a_page_for_a_browser(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quiclens_web.pages.routes.explain", broken)
    with client(store_url) as web:
        shown = web.get("/requests/x/1", headers=HTML)
    assert shown.status_code == 500 and shown.headers["content-type"].startswith("text/html")
    assert shown.headers["x-request-id"] in shown.text and "ZeroDivision" not in shown.text


def test_clickhouses_interface_tells_an_unexpected_error_in_its_own_form(
    store_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("quiclens_store_server.interface.protocol.read", broken)
    with stores.open(store_url) as store:
        assert store.folder is not None
        app = create_app(store, ServeSettings(folder=store.folder, instance="x"))
        with TestClient(app, base_url="http://127.0.0.1:8123") as served:
            answer = served.post("/", content=b"SELECT 1")
            assert answer.status_code == 500 and answer.headers["x-clickhouse-exception-code"] == "1002"
            assert answer.text.startswith("Code: 1002. DB::Exception: ") and "ZeroDivision" not in answer.text
            assert answer.headers["x-request-id"] in answer.text
            counted = served.get("/metrics").text
    assert 'quiclens_serve_responses_total{method="POST",route="/",status="500"} 1.0' in counted
    assert any(answer.headers["x-request-id"] in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/nothing", 404, "unknown_address"),
        ("GET", "/nothing", 404, "unknown_address"),
        ("GET", "/static/nothing.js", 404, "unknown_address"),
        ("POST", "/api/v1/requests", 405, "wrong_method"),
        ("DELETE", "/api/v1/traces", 405, "wrong_method"),
        ("PROPFIND", "/requests", 405, "wrong_method"),
        ("GET", "/api/v1/requests?limti=3", 422, "unknown_parameter"),
        ("GET", "/api/v1/audit?since=1h", 422, "unknown_parameter"),
        ("GET", f"/connections/{CONNECTION}.sqlog?vantag=server", 422, "unknown_parameter"),
        ("GET", "/requests?limti=3", 422, "unknown_parameter"),
        ("GET", f"/requests/{CONNECTION}/0?limti=3", 422, "unknown_parameter"),
        ("GET", f"/connections/{CONNECTION}?vantag=server", 422, "unknown_parameter"),
        ("GET", "/?sinec=1h", 422, "unknown_parameter"),
        ("GET", "/compare?c=1", 422, "unknown_parameter"),
        ("GET", "/reports?nmae=tail", 422, "unknown_parameter"),
        ("GET", "/working?a=1", 422, "unknown_parameter"),
        ("GET", "/upload?a=1", 422, "unknown_parameter"),
        ("GET", "/find?a=1", 422, "unknown_parameter"),
        ("GET", "/causes?a=1", 422, "unknown_parameter"),
        ("GET", "/api/docs?a=1", 422, "unknown_parameter"),
        ("GET", "/login?tto=/", 422, "unknown_parameter"),
        ("POST", "/login?tto=/", 422, "unknown_parameter"),
        ("POST", "/logout?a=1", 422, "unknown_parameter"),
        ("GET", "/api/v1/requests?limit=many", 422, "usage"),
        ("GET", "/api/v1/requests/none", 404, "not_found"),
    ],
)
def test_whatever_is_refused_is_a_problem(web: TestClient, method: str, path: str, status: int, code: str) -> None:
    answer = web.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert set(problem) == MEMBERS and (problem["status"], problem["code"]) == (status, code)


def test_a_misspelled_parameter_is_told_its_name(web: TestClient) -> None:
    assert web.get("/api/v1/requests?limti=3").json()["hint"] == "limit?"


def test_a_browser_is_shown_which_parameter_there_is_not_and_which_there_are(web: TestClient) -> None:
    shown = web.get("/requests?limti=3", headers=HTML)
    assert shown.status_code == 422 and "<h1>There is no parameter &#39;limti&#39; here</h1>" in shown.text
    assert "<p>Limit? This page takes box, by, each, limit, min_ms, since, sort, until, where</p>" in shown.text
    assert "<p>This address takes none</p>" in web.get("/working?a=1", headers=HTML).text
    hostile = web.get("/requests?%3Cscript%3E=1", headers=HTML).text
    assert "<script>" not in hostile and "&lt;script&gt;" in hostile


def test_pages_take_every_parameter_that_their_scripts_read_or_write() -> None:
    known = frozenset[str]().union(*(parameters_of(each) for each in pages.router.routes if isinstance(each, APIRoute)))
    folder = Path(pages.__file__).parent / "static"
    scripts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.js")}
    read = {
        name
        for text in scripts.values()
        for name in re.findall(r"(?:\bnow|state\(\))\.(?:get|getAll|has)\(\"(\w+)\"\)", text)
    }
    written = {
        name
        for text in scripts.values()
        for inside in re.findall(r"\b(?:change|go)\((?:\"\w+\", )?\{([^}]*)\}", text)
        for name in re.findall(r"(?:^|, )\s*(\w+)(?=:|,|\s*$)", inside)
    }
    assert {"since", "where", "box", "at_us", "view", "packet"} <= read | written | known
    assert (read | written) - known <= {"changes"}, "a page's address would be refused when it is opened again"


def test_a_refusal_keeps_its_allowed_methods(web: TestClient) -> None:
    assert "GET" in web.post("/api/v1/requests").headers["allow"]


def test_a_browser_is_shown_a_page_for_an_address_that_is_not_there(web: TestClient) -> None:
    shown = web.get("/nothing", headers=HTML)
    assert shown.status_code == 404 and "<h1>There is no address /nothing</h1>" in shown.text


def test_head_is_get_without_its_body(web: TestClient) -> None:
    for path in (
        "/api/v1/requests",
        "/requests",
        f"/connections/{CONNECTION}.qlog",
        "/static/dom.js",
        "/api/openapi.json",
    ):
        head, got = web.head(path), web.get(path)
        assert head.status_code == got.status_code == 200 and head.content == b"", path
        assert head.headers["content-type"] == got.headers["content-type"]
    assert web.head("/api/v1/traces").status_code == 405 and web.head("/api/nothing").status_code == 404


def test_routes_are_counted_by_their_template_and_never_by_what_was_asked(store_url: str) -> None:
    metrics = FrontMetrics()
    with client(store_url, metrics=metrics) as web:
        for path in (
            "/api/v1/connections/none",
            "/api/v1/connections/other",
            "/wp-login.php",
            "/static/x",
            "/static/y",
        ):
            assert web.get(path).status_code == 404
        assert web.request("BREW", "/requests").status_code == 405
    found = {
        tuple(each.labels.values()): each.value
        for family in metrics.registry.collect()
        for each in family.samples
        if each.name == "quiclens_serve_responses_total"
    }
    assert found == {
        ("GET", "/api/v1/connections/{connection_id:path}", "404"): 2,
        ("GET", "(none)", "404"): 1,
        ("GET", "/static", "404"): 2,
        ("other", "/requests", "405"): 1,
    }


@pytest.mark.parametrize(
    ("path", "says", "never"),
    [
        ("/api/v1/reports/tail?without=nothing", "without: no cause 'nothing'", "--"),
        ("/api/v1/watch?by=a", "by: no column 'a'", "--"),
        ("/api/v1/requests?where=x", "where 'x' is no comparison", "--"),
        ("/api/v1/reports/rtt?without=pto", "without is for report tail", "--without is"),
    ],
)
def test_an_option_is_told_as_the_parameter_that_it_is_here(web: TestClient, path: str, says: str, never: str) -> None:
    problem = web.get(path).json()
    assert says in problem["detail"] and never not in problem["detail"]


def test_a_hint_keeps_the_dashes_of_other_programs(web: TestClient) -> None:
    problem = web.post("/api/v1/traces", content=b"").json()
    assert problem["status"] == 422 and "curl --data-binary @FILE" in problem["hint"]


@pytest.mark.parametrize(
    "path", ["/api/v1/requests", "/api/v1/reports/tail", "/api/v1/cells", "/api/v1/failed", "/api/v1/different"]
)
@pytest.mark.parametrize("since", ["1900-01-01T00:00:00Z", "2299-12-31T23:59:59Z"])
def test_a_time_before_or_after_all_others_is_a_time(web: TestClient, path: str, since: str) -> None:
    answer = web.get(path, params={"since": since})
    assert answer.status_code == 200, answer.text
    if since < "20":
        first = {"since": "1970-01-01T00:00:00Z"}
        assert answer.json()["coverage"] == web.get(path, params=first).json()["coverage"]


def test_an_upload_in_which_nothing_was_found_is_no_success(web: TestClient, tmp_path: Path) -> None:
    answer = web.post("/api/v1/traces?name=garbage.bin", content=b"\x00\x01 this is no trace\n" * 3)
    assert answer.status_code == 422 and answer.json()["code"] == "no_trace", answer.text


def test_an_access_log_that_is_uploaded_is_told_as_one(web: TestClient) -> None:
    lines = b'{"ts": "2026-11-20T10:00:00Z", "method": "GET", "path": "/a", "status": 200}\n' * 3
    answer = web.post("/api/v1/traces?name=access.jsonl", content=lines)
    assert answer.status_code == 422 and "quiclens load --requests FILE" in answer.json()["hint"], answer.text


ODD = ("日本/ü", 'a"b\\c;d', "x\ty", "a/b/c")


@pytest.fixture(scope="module")
def odd(store_url: str) -> Iterator[TestClient]:
    """Connections whose ids are no hex digits; a server may call them what it likes."""
    with stores.open(store_url) as store:
        for number, name in enumerate(ODD):
            columns = "connection_id, trace_id, vantage, source_file, header, unit_rule"
            units = "time=ms rtt=ms delay=ms pacing=bit/s"
            store.command(
                f"INSERT INTO connections ({columns})"
                f" VALUES ({{id:String}}, {{trace:String}}, 'server', 'odd', '{{}}', '{units}')",
                {"id": name, "trace": f"0dd0{number:028x}"},
            )
        with client(store_url) as made:
            yield made
        store.command("ALTER TABLE connections DELETE WHERE source_file = 'odd'", settings={"mutations_sync": "1"})


@pytest.mark.parametrize("name", ODD)
def test_a_connection_is_served_whatever_it_is_called(odd: TestClient, name: str) -> None:
    path = quote(name, safe="")
    found = odd.get(f"/api/v1/connections/{path}")
    assert found.status_code == 200 and found.json()["connection"]["connection_id"] == name
    assert odd.get(f"/api/v1/connections/{path}/streams").status_code == 200
    assert odd.get(f"/connections/{path}", headers=HTML).status_code == 200
    for form in ("sqlog", "qlog"):
        answer = odd.get(f"/connections/{path}.{form}")
        assert answer.status_code == 200, answer.text
        said = answer.headers["content-disposition"]
        whole = quote(f"{name.rpartition('/')[2]}.{form}", safe="")
        assert said.isascii() and said.endswith(f"; filename*=UTF-8''{whole}") and "\n" not in said


def test_a_name_in_a_header_is_one_line() -> None:
    said = routes_files._disposition('x\r\nSet-Cookie: a=b"; filename="y')
    assert said.isascii() and "\r" not in said and "\n" not in said and said.count('"') == 2


def test_a_page_of_a_server_has_health_and_metrics_too(served: Served, tmp_path: Path) -> None:
    pages = start_words(tmp_path, "--store", served.url)
    try:
        assert pages.ask(method="GET", path="/ping").body == b"Ok.\n"
        assert pages.ask(method="GET", path="/healthz").text == '{"ok":true}'
        assert pages.ask(method="GET", path="/api/v1/requests?nothing=1").status == 422
        counted = pages.ask(method="GET", path="/metrics").text
        assert 'quiclens_serve_responses_total{method="GET",route="/api/v1/requests",status="422"} 1.0' in counted
    finally:
        assert pages.stop() == 0


def test_a_store_that_does_not_answer_is_told_by_healthz(tmp_path: Path) -> None:
    store = start(tmp_path / "store")
    pages = start_words(tmp_path, "--store", store.url)
    try:
        assert store.stop() == 0
        told = pages.ask(method="GET", path="/healthz")
        assert told.status == 503 and "the store answers with an error" in told.text
        assert pages.ask(method="GET", path="/api/v1/requests").status == 503
        assert pages.ask(method="GET", path="/ping").status == 200
    finally:
        assert pages.stop() == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # which is meant
def test_a_task_that_ended_or_hangs_is_told_by_healthz(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs, go_on = Event(), Event()

    def sweep(*_: object) -> None:
        hangs.set()
        go_on.wait(30)
        raise SystemExit  # which no loop survives

    monkeypatch.setattr("quiclens_store_server.holder.sweep", sweep)
    with stores.open(store_url) as store:
        assert store.folder is not None
        app = create_app(store, ServeSettings(folder=store.folder, instance="x"))
        with TestClient(app, base_url="http://127.0.0.1:8123") as served:
            assert hangs.wait(30) and served.get("/healthz").status_code == 200
            monkeypatch.setattr("quiclens_store_server.holder._LONGEST_SWEEP_SECONDS", 0.0)
            told = served.get("/healthz")
            assert told.status_code == 503 and "a retention sweep has run" in told.json()["detail"]
            go_on.set()
            assert until(lambda: "retention has ended" in served.get("/healthz").text)


def test_every_failure_of_the_openapi_document_is_a_problem(web: TestClient) -> None:
    described = web.get("/api/openapi.json").json()
    assert set(described["components"]["schemas"]["Problem"]["properties"]) == MEMBERS
    for path, methods in described["paths"].items():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    assert list(response["content"]) == ["application/problem+json"], (path, status)


def test_a_question_that_is_wrong_in_a_thread_is_answered_too(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report is drawn beside the question, in its thread."""
    monkeypatch.setattr(routes_reports, "picture", broken)
    with client(store_url) as web:
        assert web.get("/api/v1/reports/tail/picture").json()["code"] == "internal"


def test_an_answer_that_is_not_sent_yet_is_held_against_the_budget(store_url: str) -> None:
    """Two questions whose answers may take half of the budget each: a third is refused while they are held."""
    with client(store_url, limits=QuestionLimits(answer_bytes=50_000_000, held_bytes=49_000_000)) as web:
        refused = web.get("/api/v1/requests")
        assert refused.status_code == 503 and refused.json()["code"] == "no_memory"
        assert refused.headers["retry-after"] == "1"
    with client(store_url, limits=QuestionLimits(answer_bytes=300, held_bytes=1_000)) as web:
        large = web.get("/api/v1/requests?limit=1000")
        assert large.status_code == 422 and large.json()["code"] == "too_much"
        for _ in range(20):  # what was refused is held no more
            assert web.get("/api/v1/failed?limit=1").status_code in (200, 422)


def test_a_question_that_finds_no_place_is_refused_and_files_are_served_meanwhile(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = Event(), Event()

    def waits(*_: object) -> dict[str, object]:
        begun.set()
        assert go_on.wait(30)
        return {}

    monkeypatch.setattr(routes_requests, "slow", waits)
    with client(store_url, limits=QuestionLimits(at_once=1, wait_seconds=0.2)) as web, ThreadPoolExecutor(60) as pool:
        first = pool.submit(web.get, "/api/v1/requests")
        assert begun.wait(30)
        others = [pool.submit(web.get, "/api/v1/failed") for _ in range(50)]  # more than the pool of threads has
        assert web.get("/static/dom.js").status_code == 200
        assert {each.result().status_code for each in others} == {429}
        go_on.set()
        assert first.result().status_code == 200


def test_a_collector_that_cannot_be_run_is_told_as_such(
    web: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an upgrade under a confined process, which may not run the new file."""
    program = tmp_path / "quiclens-collector"
    program.write_bytes(b"no program at all")
    program.chmod(0o755)
    monkeypatch.setenv("QUICLENS_COLLECTOR", str(program))
    answer = web.get(f"/connections/{CONNECTION}.sqlog")
    assert answer.status_code == 503 and answer.json()["code"] == "no_collector", answer.text


def test_the_readme_lists_which_errors_of_a_statement_are_a_servers() -> None:
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (5\d\d) \| (.*) \|$", text, re.MULTILINE)
    told = {
        int(status): {int(code): name for name, code in re.findall(r"`(\w+)` \((\d+)\)", row)} for status, row in rows
    }
    assert told == SERVER_ERRORS


def test_a_status_that_the_list_of_server_errors_has_is_the_one_that_is_answered() -> None:
    for status, errors in SERVER_ERRORS.items():
        for code, name in errors.items():
            assert status == 503 or Fault(code, name, "x").status == status
