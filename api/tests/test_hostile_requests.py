"""Whatever a stranger sends, the answer is no error of ours: headers, query values, charsets and bodies that were made
to break a reader of them. What is refused at the door stands in the audit log.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes, urlencode

import pytest
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from serve_process import Got, Served, start

from quiclens_questions.failure import UsageMistake
from quiclens_questions.moment import moment
from quiclens_web.api import app as api
from quiclens_web.api.strict import parameters_of
from quiclens_web.front.faults import SERVER_ERRORS
from quiclens_web.pages import login, page
from quiclens_web.pages import routes as pages

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
EXAMPLES = 8  # of each route, and the written ones
SURROGATE = rb"SELECT '\ud800'"
NO_ADDRESSES = ("http://[", "http://[::1", "http://]", "http://[x]", "http://a:b:c", "http://[v1.x]", "//\u212a[")


@dataclass(frozen=True)
class Whole:
    """A whole front, as a process of its own, and its audit log."""

    served: Served
    log: Path

    def ask(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, str] | None = None,
        headers: Mapping[str, bytes] | None = None,
        body: bytes = b"",
    ) -> Got:
        """One request; nothing of it is looked at on its way."""
        given = headers or {}
        connection = self.served.connection()
        try:
            where = f"{path}?{urlencode(parameters)}" if parameters else path
            connection.putrequest(method, where, skip_host="host" in given)
            for name, value in given.items():
                connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return Got(answer.status, {n.lower(): v for n, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def last_noted(self) -> tuple[str, str]:
        line = json.loads(self.log.read_text().splitlines()[-1])
        return line["path"], line["refused"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    folder = tmp_path_factory.mktemp("hostile")
    log = folder / "audit.jsonl"
    served = start(folder / "store", "--audit-log", str(log))
    yield Whole(served, log)
    assert served.stop() == 0


def form(*parts: tuple[str, bytes], charset: str = "utf-8") -> tuple[bytes, dict[str, bytes]]:
    """A multipart body and its headers; its charset is what the test says."""
    body = b"".join(
        b'--x\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (name.encode(), value)
        for name, value in parts
    )
    return body + b"--x--\r\n", {"content-type": f"multipart/form-data; boundary=x; charset={charset}".encode()}


def is_problem(answer: Got, status: int) -> bool:
    return answer.status == status and answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("origin", NO_ADDRESSES)
@pytest.mark.parametrize("path", ["/api/v1/requests", "/", "/login", "/store/operations/link", "/static/dom.js"])
def test_an_origin_that_is_no_address_is_another_sites(whole: Whole, origin: str, path: str) -> None:
    refused = whole.ask("GET", path, {}, {"origin": origin.encode()})
    assert refused.status == 403, refused.text
    assert whole.last_noted() == (path, "not_let_in")


@pytest.mark.parametrize(
    "text",
    [
        "0001-01-01T00:00:00+14:00",
        "0001-01-01T00:00:00Z",
        "0001-01-02T00:00:00+14:00",
        "1899-12-31T23:59:59Z",
        "1900-01-01T00:00:00+00:01",
        "2300-01-01T00:00:00Z",
        "2299-12-31T23:59:59-00:01",
        "9999-12-31T23:59:59-14:00",
        "9999-12-31T23:59:59Z",
        "99999d",
    ],
)
def test_a_moment_that_the_store_cannot_hold_is_refused_where_it_is_read(text: str) -> None:
    with pytest.raises(UsageMistake, match=r"1900-01-01.*2299-12-31"):
        moment(text, NOW)


@pytest.mark.parametrize("text", ["1900-01-01T00:00:00Z", "2299-12-31T23:59:59.999999Z", "1900-01-01T14:00:00+14:00"])
def test_the_first_and_the_last_moment_of_the_store_are_moments(whole: Whole, text: str) -> None:
    assert moment(text, NOW).year in (1900, 2299)
    for path in ("/api/v1/requests", "/api/v1/heat", "/api/v1/over-time", "/api/v1/triage", "/api/v1/deployments"):
        for name in ("since", "until"):
            answer = whole.ask("GET", path, {name: text})
            assert answer.status in (200, 404, 422), answer.text


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00"])
@pytest.mark.parametrize("path", ["/api/v1/requests", "/api/v1/heat", "/api/v1/over-time", "/api/v1/triage"])
def test_a_moment_that_the_store_cannot_hold_is_a_mistake_with_its_reason(
    whole: Whole, path: str, name: str, text: str
) -> None:
    refused = whole.ask("GET", path, {name: text})
    assert is_problem(refused, 422) and "1900-01-01" in json.loads(refused.text)["detail"], refused.text


def test_a_link_of_a_dashboard_beyond_the_stores_times_is_refused(whole: Whole) -> None:
    for last, status in ((10_413_791_999_999, 303), (10_413_792_000_000, 422)):
        answer = whole.ask("GET", "/from-grafana", {"from": "1", "to": str(last)})
        assert answer.status == status, answer.text


@pytest.mark.parametrize("file", NO_ADDRESSES)
def test_a_file_whose_address_is_none_is_a_mistake(whole: Whole, file: str) -> None:
    refused = whole.ask("GET", "/loadfiles", {"file1": file})
    assert is_problem(refused, 422) and "is no connection of ours" in json.loads(refused.text)["detail"], refused.text


@pytest.mark.parametrize("digits", ["9" * 5_000, "9" * 20, "٣" * 20, "1e5", "-1"])
def test_a_version_of_the_protocol_that_is_no_number_of_ours_is_refused(whole: Whole, digits: str) -> None:
    refused = whole.ask("POST", "/", {"client_protocol_version": digits}, body=b"SELECT 1")
    assert refused.status == 400 and refused.code == 36, refused.text
    taken = whole.ask("POST", "/", {"client_protocol_version": "54460"}, body=b"SELECT 1")
    assert taken.text == "1\n"


def test_numbers_of_too_many_digits_are_refused_wherever_one_is_taken(whole: Whole) -> None:
    many = "9" * 5_000
    for path in (
        f"/api/v1/requests?limit={many}",
        f"/api/v1/requests?min_ms={many}",
        f"/api/v1/requests?where=response_bytes%3D{many}",
        f"/api/v1/requests?where=duration_us%3E{many}s",
        f"/api/v1/reports/compare?split=quic={many}",
        f"/api/v1/requests/aa/{many}",
        f"/from-grafana?from=1&to={many}",
        f"/connections/aa11bb22?stream={many}",
        "/connections/aa11bb22?stream=²",
    ):
        assert whole.ask("GET", quote(path, safe="/?&=%")).status in (200, 404, 422), path


@pytest.mark.parametrize(
    "charset",
    [
        "undefined",
        "punycode",
        "unicode_escape",
        "idna",
        "utf-7",
        "utf-16",
        "zip",
        "rot13",
        "latin-1",
        "iso-8859-1",
        "no such",
        "\x01",
    ],
)
def test_a_form_is_of_a_charset_that_cannot_fail(whole: Whole, charset: str) -> None:
    body, headers = form(("query", rb"SELECT '\ud800'"), charset=charset)
    refused = whole.ask("POST", "/", {}, headers, body)
    assert refused.status == 400 and refused.code == 36, refused.text
    assert "UTF-8" in refused.text


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", "utf8", '"utf-8"', "us-ascii"])
def test_a_form_of_the_usual_charsets_is_read(whole: Whole, charset: str) -> None:
    body, headers = form(("query", b"SELECT {a:String}"), ("param_a", b"x"), charset=charset)
    answer = whole.ask("POST", "/", {}, headers, body)
    assert answer.text == "x\n", answer.text


@pytest.mark.parametrize("given", ["%ff", "x%c3", "%ed%a0%80", "a%C3%28"])
def test_bytes_that_are_not_utf8_become_no_other_letters(whole: Whole, given: str) -> None:
    for path in (
        "/?query=SELECT%201&param_a=",
        "/?query=",
        "/api/v1/requests?carrier=",
        "/requests?where=",
    ):
        refused = whole.ask("GET", path + given)
        assert refused.status in (400, 422) and "UTF-8" in refused.text, (path, refused.text)
    body, headers = form(("query", b"SELECT {a:String}"), ("param_a", unquote_to_bytes(given)))
    refused = whole.ask("POST", "/", {}, headers, body)
    assert refused.status == 400 and refused.code == 36 and "UTF-8" in refused.text, refused.text
    body, headers = form(("query", b"SELECT {a:String}"), ("param_a", "é中😀".encode()))
    assert whole.ask("POST", "/", {}, headers, body).text == "é中😀\n"


NESTED = [
    b'{"%s":' % name + b"[" * n + b"]" * n + b"}" for name in (b"clients", b"events_seconds", b"a") for n in (90, 900)
]


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 5_000,
        b'{"a":' * 5_000,
        b"9" * 6_000,
        b'{"a":' + b"9" * 6_000 + b"}",
        b"\xff",
        b'{"clients":["\\ud800"]}',
        *NESTED,
    ],
)
def test_arguments_that_nest_too_deep_are_refused(whole: Whole, body: bytes) -> None:
    for name in ("link", "erase", "retention"):
        refused = whole.ask("POST", f"/store/operations/{name}", body=body)
        assert is_problem(refused, 422), refused.text


def test_a_sign_in_form_of_any_charset_is_no_error_of_ours(whole: Whole) -> None:
    for charset in ("undefined", "punycode", "unicode_escape"):
        body, headers = form(("token", rb"\ud800"), charset=charset)
        assert is_problem(whole.ask("POST", "/login", {}, headers, body), 422), charset


@dataclass(frozen=True)
class Way:
    """A route of the front: how it is asked, where, and which query parameters it takes."""

    method: str
    path: str
    parameters: tuple[str, ...]


def ways() -> list[Way]:
    """Every route of the front."""
    routers = [each.router for each in api._PARTS] + [pages.router, page.public, login.router]
    found = [
        Way(method, each.path, tuple(sorted(parameters_of(each))))
        for router in routers
        for each in router.routes
        if isinstance(each, APIRoute)
        for method in sorted(each.methods or ())
    ]
    statement = (
        "query",
        "client_protocol_version",
        "decompress",
        "max_execution_time",
        "query_id",
        "database",
        "param_a",
    )
    other = [
        Way("GET", "/ping", ()),
        Way("GET", "/healthz", ()),
        Way("GET", "/metrics", ()),
        Way("GET", "/static/dom.js", ()),
        Way("GET", "/api/openapi.json", ()),
        Way("POST", "/", statement),
        Way("GET", "/", statement),
        Way("POST", "/store/tables/{table}/rows", ("rows",)),
        Way("POST", "/store/operations/link", ()),
        Way("POST", "/store/operations/erase", ()),
        Way("POST", "/store/operations/{name}", ()),
    ]
    return found + other


ENDS = ("0001-01-01T00:00:00", "1900-01-01T00:00:00", "1970-01-01", "2299-12-31T23:59:59.999999", "9999-12-31T23:59:59")
ZONES = ("", "Z", "+14:00", "-14:00", "+23:59", "-23:59:59.999999")
MOMENTS = st.builds("".join, st.tuples(st.sampled_from(ENDS), st.sampled_from(ZONES)))
NUMBERS = st.sampled_from(
    ["9" * 5_000, "-" + "9" * 400, "²", "٣" * 30, "1e999", "nan", "inf", "-0", "0x10", "1_0", "9" * 19]
)
BRACKETS = st.sampled_from([*NO_ADDRESSES, "[" * 5_000, "{" * 500, "(" * 500, "]", "%5B", "\\" * 300])
ODD = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    [
        "\0",
        "\ud7ff\uffff",
        "a=1 OR " * 200,
        "999999999d" * 6,
        "now-" + "9" * 60 + "s",
        "%",
        "%zz",
        "../" * 50,
        "x" * 9_000,
    ]
)
VALUES = MOMENTS | NUMBERS | BRACKETS | ODD
SENT = st.sampled_from(
    [
        "origin", "host", "cookie", "authorization", "x-clickhouse-key", "content-type", "accept",
        "content-encoding", "accept-encoding", "if-none-match", "if-modified-since", "if-range", "range",
        "x-forwarded-for", "sec-fetch-site", "sec-fetch-mode", "user-agent", "x-clickhouse-database",
    ]
)  # fmt: skip
CHARSETS = st.sampled_from(
    ["undefined", "punycode", "unicode_escape", "raw_unicode_escape", "idna", "hex", "mbcs", "\1"]
)
BODIES = st.sampled_from(
    [
        b"", b"[" * 5_000, b'{"a":' * 5_000, b'{"clients":["\\ud800"]}', b"9" * 5_000, b"\xff\xfe\0", b"SELECT 1",
        form(("query", rb"SELECT '\ud800'"), ("token", rb"\ud800"))[0],
    ]
)  # fmt: skip
HEADERS = st.dictionaries(
    SENT, VALUES.map(lambda text: re.sub(rb"[\x00-\x1f]", b" ", text.encode("utf-8", "replace"))), max_size=3
)
TYPES = st.none() | CHARSETS.map(lambda charset: f"multipart/form-data; boundary=x; charset={charset}".encode())


def is_ours(answer: Got) -> bool:
    """Whether an answer is a failure of ours, not what a statement may earn."""
    return answer.status >= 500 and answer.status not in (503, 504) and answer.code not in SERVER_ERRORS[500]


@pytest.mark.parametrize("way", ways(), ids=lambda way: f"{way.method} {way.path}")
def test_no_route_fails_whatever_it_is_sent(whole: Whole, way: Way) -> None:
    def every(value: str) -> dict[str, str]:
        return dict.fromkeys(way.parameters, value)

    charset = b"multipart/form-data; boundary=x; charset=unicode_escape"

    @example(place="x", asked={}, headers={"origin": b"http://["}, type_=None, body=b"")
    @example(place="x", asked=every("9" * 5_000), headers={}, type_=None, body=b"")
    @example(place="x", asked=every("0001-01-01T00:00:00+14:00"), headers={}, type_=None, body=b"")
    @example(place="x", asked=every("http://["), headers={}, type_=None, body=b"[" * 5_000)
    @example(place="x", asked={}, headers={}, type_=charset, body=form(("query", SURROGATE), ("token", SURROGATE))[0])
    @given(
        place=VALUES,
        asked=st.fixed_dictionaries({}, optional={name: VALUES for name in way.parameters})
        if way.parameters
        else st.just({}),
        headers=HEADERS,
        type_=TYPES,
        body=BODIES if way.method == "POST" else st.just(b""),
    )
    @settings(
        max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None
    )
    def ask(place: str, asked: dict[str, str], headers: dict[str, bytes], type_: bytes | None, body: bytes) -> None:
        path = re.sub(r"\{[^}]*\}", lambda _: quote(place[:2_000], safe="/"), way.path)
        given = headers if type_ is None else {**headers, "content-type": type_}
        answer = whole.ask(way.method, path, asked, given, body)
        assert not is_ours(answer), answer.text

    ask()
