"""Who may ask: tokens, sessions, trusted proxies, and no other site's page."""

import asyncio
import json
from hashlib import sha256
from typing import Any

import pytest
from fastapi.testclient import TestClient
from quiclens_schema import store as stores
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send
from web_client import app_of, client

from quiclens_web.api.settings import QuestionLimits
from quiclens_web.front import door
from quiclens_web.front.access import Access, Doorkeeper, Role, Token, network
from quiclens_web.front.door import Door, RequestLimits
from quiclens_web.front.metrics import FrontMetrics
from quiclens_web.front.problems import Answers


def token(name: str, role: Role, text: str) -> Token:
    return Token(name, role, sha256(text.encode()).digest())


TOKENS = (
    token("ada", Role.WRITER, "write"),
    token("grafana", Role.READER, "read"),
    token("edge-1", Role.UPLOADER, "upload"),
)
LOCKED = Access(tokens=TOKENS, is_open=False)
HTML = {"accept": "text/html"}
FORM = {"content-type": "application/x-www-form-urlencoded"}


def bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


def cookie(kept: dict[str, str]) -> dict[str, str]:
    return {"cookie": "; ".join(f"{name}={value}" for name, value in kept.items())}


def test_an_open_api_is_for_this_machine_alone(store_url: str) -> None:
    with client(store_url) as web:
        assert web.get("/api/v1/requests").status_code == 200
        assert web.get("/api/v1/requests", headers={"host": "quiclens.example"}).status_code == 403


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8123", 200),
        ("[::1]:8123", 200),
        ("10.0.0.7:8123", 200),  # an address: no page can have it for a name
        ("lens.example", 200),
        ("LENS.example.:443", 200),
        ("evil.example", 403),
        ("lens.example.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("", 403),
        ("a[b", 403),
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/requests", "/login", "/static/dom.js", "/api/openapi.json"])
def test_the_host_is_checked_whoever_asks(store_url: str, host: str, status: int, path: str) -> None:
    proxied = Access(
        TOKENS, False, user_header="x-user", proxies=(network("127.0.0.0/8"),), public_hosts=("lens.example",)
    )
    with client(store_url, access=proxied) as web:
        for headers in ({"x-user": "ada"}, bearer("read")):
            assert web.get(path, headers={"host": host, **headers}).status_code == status


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/v1/requests", {"origin": "https://evil.example"}, 403),
        ("/api/v1/requests", {"origin": "null"}, 403),
        ("/api/v1/requests", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}, 403),
        ("/api/v1/requests", {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, 403),
        ("/requests", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200),
        ("/?query=SELECT+1", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 403),
        ("/api/v1/requests", {"sec-fetch-site": "same-origin"}, 200),
        ("/connections/aa11bb22.sqlog", {"origin": "https://evil.example"}, 403),
        ("/connections/aa11bb22.sqlog", {"origin": "https://qvis.example"}, 200),
        ("/api/v1/requests", {"origin": "https://qvis.example"}, 403),
    ],
)
def test_other_sites_pages_are_refused_but_may_link(
    store_url: str, path: str, headers: dict[str, str], status: int
) -> None:
    with client(store_url, qvis="https://qvis.example") as web:
        assert web.get(path, headers=headers).status_code == status


def test_another_site_cannot_sign_a_browser_in(store_url: str) -> None:
    with client(store_url, access=LOCKED) as web:
        answer = web.post("/login", data={"token": "read"}, headers={"origin": "https://evil.example"})
    assert answer.status_code == 403 and "set-cookie" not in answer.headers


def test_a_token_is_asked_for_and_kept_from_scripts(store_url: str) -> None:
    with client(store_url, access=LOCKED) as web:
        asked = web.get("/api/v1/requests")
        assert asked.status_code == 401 and asked.json()["code"] == "token_needed"
        assert asked.headers["www-authenticate"].startswith("Bearer")
        assert web.get("/api/v1/requests", headers=bearer("nope")).json()["code"] == "wrong_token"
        assert web.get("/api/v1/requests", headers=bearer("read")).status_code == 200
        shown = web.get("/requests?where=carrier%3Dacme&limit=3", headers=HTML, follow_redirects=False)
        assert shown.status_code == 303
        assert shown.headers["location"] == "/login?to=%2Frequests%3Fwhere%3Dcarrier%253Dacme%26limit%3D3"
        assert web.post("/login", data={"token": "nope"}).status_code == 403
        begun = web.post(shown.headers["location"], data={"token": "read"}, follow_redirects=False)
        assert begun.headers["location"] == "/requests?where=carrier%3Dacme&limit=3"
        assert "HttpOnly" in begun.headers["set-cookie"] and "Secure" not in begun.headers["set-cookie"]
        assert web.get("/requests").status_code == 200
        assert web.post("/api/v1/traces", content=b"x").status_code == 403  # a reader may not load
        shown = web.get("/upload")
        assert "may read alone" in shown.text and 'id="drop"' not in shown.text and "upload.js" not in shown.text


def test_a_form_with_a_token_has_so_much_time(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "_FORM_SECONDS", 0.2)
    form = [(b"host", b"127.0.0.1"), (b"content-type", b"application/x-www-form-urlencoded"), (b"content-length", b"9")]
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/login", "query_string": b"", "headers": form}
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.sleep(0.05)
        return {"type": "http.request", "body": b"t", "more_body": True}

    async def send(message: Message) -> None:
        sent.append(message)

    with stores.open(store_url) as store:
        asyncio.run(asyncio.wait_for(app_of(store, access=LOCKED)(scope, receive, send), 20))
    assert sent[0]["status"] == 400 and (b"connection", b"close") in sent[0]["headers"]


def test_signing_out_ends_the_session_also_for_a_copy_of_its_cookie(store_url: str) -> None:
    with client(store_url, access=LOCKED) as web:
        web.post("/login", data={"token": "read"})
        kept = dict(web.cookies)
        assert web.get("/requests").status_code == 200 and "signed in as <b>grafana</b>" in web.get("/login").text
        web.post("/logout")
        assert not web.cookies and web.get("/api/v1/requests").status_code == 401
        assert web.get("/api/v1/requests", headers=cookie(kept)).status_code == 401


def test_where_tls_is_the_cookie_is_for_this_host_and_tls_alone(store_url: str) -> None:
    secure = Access(TOKENS, False, public_hosts=("lens.example",), is_secure=True)
    with client(store_url, access=secure, base_url="https://lens.example") as web:
        begun = web.post("/login", data={"token": "read"}, follow_redirects=False)
        said = begun.headers["set-cookie"]
        assert said.startswith("__Host-quiclens_session=") and "Secure" in said and "Path=/" in said
        assert "Domain" not in said and web.get("/requests").status_code == 200


def test_processes_with_one_key_share_sessions_and_others_do_not(store_url: str) -> None:
    def access(key: bytes, *tokens: Token) -> Access:
        return Access(tokens, False, session_key=key)

    with client(store_url, access=access(b"k" * 32, *TOKENS)) as first:
        first.post("/login", data={"token": "read"})
        cookies = dict(first.cookies)
    renewed = token("grafana", Role.READER, "another")
    for other, status in (
        (access(b"k" * 32, *TOKENS), 200),
        (access(b"x" * 32, *TOKENS), 401),
        (access(b"", *TOKENS), 401),
        (access(b"k" * 32, TOKENS[0], renewed), 401),  # a token that is no more
        (access(b"k" * 32, TOKENS[0]), 401),
    ):
        with client(store_url, access=other) as second:
            assert second.get("/api/v1/requests", headers=cookie(cookies)).status_code == status


def test_a_changed_cookie_is_none(store_url: str) -> None:
    with client(store_url, access=LOCKED) as web:
        web.post("/login", data={"token": "read"})
        ((name, value),) = dict(web.cookies).items()
        web.cookies.clear()
        for changed in (value[:-1], value[1:], value[::-1], "x", "a.b.c", value.replace(".", "..")):
            assert web.get("/api/v1/requests", headers=cookie({name: changed})).status_code == 401


@pytest.mark.parametrize("to", ["//evil.example", "/\\evil.example", "https://evil.example"])
def test_a_login_leads_nowhere_else(store_url: str, to: str) -> None:
    with client(store_url, access=LOCKED) as web:
        begun = web.post("/login", params={"to": to}, data={"token": "read"}, follow_redirects=False)
        assert begun.headers["location"] == "/"


def test_a_proxy_is_trusted_by_its_network_alone(store_url: str) -> None:
    told: list[str] = []
    headers = {"x-forwarded-user": "ada", "x-forwarded-for": "198.51.100.9, 203.0.113.5, 10.2.0.1"}
    trusting = Access(is_open=False, user_header="x-forwarded-user", proxies=(network("10.0.0.0/8"),))
    with client(store_url, peer="10.1.2.3", access=trusting, tell=told.append) as web:
        assert web.get("/api/v1/requests", headers=headers).status_code == 200
        assert web.get("/api/v1/requests").status_code == 401
    first = json.loads(told[0])
    assert (first["who"], first["role"], first["path"]) == ("ada", "reader", "/api/v1/requests")
    assert first["address"] == "203.0.113.5"  # the last that is no proxy of ours: what stands before it is claimed
    with client(store_url, peer="11.0.0.1", access=trusting) as web:
        assert web.get("/api/v1/requests", headers=headers).status_code == 401


def test_wrong_tokens_cost_ever_more_time_but_not_those_who_were_right(store_url: str) -> None:
    with client(store_url, access=LOCKED) as web:
        assert web.get("/api/v1/requests", headers=bearer("read")).status_code == 200
        seen = [web.get("/api/v1/requests", headers=bearer(f"guess {n}")) for n in range(8)]
        assert [each.status_code for each in seen] == [403] * 6 + [429] * 2
        assert int(seen[-1].headers["retry-after"]) >= 1 and seen[-1].json()["code"] == "too_many_attempts"
        assert web.get("/api/v1/requests", headers=bearer("write")).status_code == 429  # not looked at
        assert web.post("/login", data={"token": "write"}).status_code == 429
        assert web.get("/api/v1/requests", headers=bearer("read")).status_code == 200
        with client(store_url, peer="192.0.2.1", access=LOCKED) as elsewhere:
            assert elsewhere.get("/api/v1/requests", headers=bearer("write")).status_code == 200


def test_a_right_token_never_waits_for_a_strangers_guesses(store_url: str) -> None:
    long = "0123456789abcdef"
    access = Access(tokens=(*TOKENS, token("bob", Role.READER, long)), is_open=False)
    with client(store_url, access=access) as web:
        for n in range(12):
            web.get("/api/v1/requests", headers=bearer(f"a stranger's guess {n}"))
        assert web.get("/api/v1/requests", headers=bearer(long)).status_code == 200
        assert web.post("/login", data={"token": long}, follow_redirects=False).status_code == 303
        web.cookies.clear()
        assert web.get("/api/v1/requests", headers=bearer("read")).status_code == 429, "a short one could be guessed"
        assert web.get("/api/v1/requests", headers=bearer(long[:-1] + "e")).status_code == 429, "a wrong one waits"


def test_requests_count_for_a_name_from_wherever_it_asks_and_without_one_for_a_network() -> None:
    async def run(access: Access, peers: list[str], headers: dict[str, str]) -> list[int]:
        sent: list[int] = []
        go = asyncio.Event()

        async def waits(scope: Scope, receive: Receive, send: Send) -> None:
            await go.wait()
            await PlainTextResponse("")(scope, receive, send)

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent.append(message["status"])

        made = Door(waits, Doorkeeper(access), Answers(), FrontMetrics(), lambda _: None, RequestLimits(of_one=2))
        given = [(b"host", b"127.0.0.1"), *((name.encode(), text.encode()) for name, text in headers.items())]
        scope = {"type": "http", "method": "GET", "path": "/api/v1/requests", "query_string": b"", "headers": given}
        asked = [asyncio.create_task(made({**scope, "client": (peer, 1)}, _nothing, send)) for peer in peers]
        await asyncio.sleep(0)
        go.set()
        await asyncio.gather(*asked)
        return sorted(sent)

    far = ["192.0.2.1", "198.51.100.1", "2001:db8::1"]
    assert asyncio.run(run(LOCKED, far, bearer("read"))) == [200, 200, 429]
    assert asyncio.run(run(Access(), far, {})) == [200, 200, 200]
    assert asyncio.run(run(Access(), ["2001:db8::1", "2001:db8::2", "2001:db8::3"], {})) == [200, 200, 429]


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def test_an_old_token_again_and_again_is_one_guess(store_url: str) -> None:
    with client(store_url, access=LOCKED) as web:
        old = [web.get("/api/v1/requests", headers=bearer("an old token")).status_code for _ in range(40)]
        assert old == [403] * 40
        assert web.get("/api/v1/requests", headers=bearer("write")).status_code == 200  # its next one
    with client(store_url, access=LOCKED) as web:
        # Many guesses in turn, so that the first are forgotten when they come again.
        seen = [web.get("/api/v1/requests", headers=bearer(f"guess {n % 40}")).status_code for n in range(80)]
        assert seen[:7] == [403] * 6 + [429] and 200 not in seen


def test_every_attempt_is_in_the_audit_log_by_the_tokens_name(store_url: str) -> None:
    told: list[str] = []
    with client(store_url, access=LOCKED, tell=told.append) as web:
        web.get("/api/v1/requests?limit=3", headers=bearer("read"))
        web.get("/requests")
        web.get("/api/v1/requests?password=hunter2", headers=bearer("nope"))
        web.get("/api/v1/requests", headers={"origin": "https://evil.example"})
        web.get("/api/v1/requests", headers={"host": "evil.example"})
        web.post("/login", data={"token": "nope"})
        web.post("/login", data={"token": "write"})
        web.get("/requests")
        web.get("/static/dom.js")
    lines = [json.loads(line) for line in told]
    assert [(each["who"], each["method"], each["path"], each["refused"]) for each in lines][:8] == [
        ("grafana", "GET", "/api/v1/requests", ""),
        ("", "GET", "/requests", "token_needed"),
        ("", "GET", "/api/v1/requests", "wrong_token"),
        ("", "GET", "/api/v1/requests", "not_let_in"),
        ("", "GET", "/api/v1/requests", "not_let_in"),
        ("", "POST", "/login", "wrong_token"),
        ("ada", "POST", "/login", ""),
        ("ada", "GET", "/", ""),
    ]
    assert lines[0]["query"] == "limit=3" and lines[0]["id"] and lines[0]["address"] == "127.0.0.1"
    assert not any("hunter2" in line or "nope" in line for line in told)


def test_an_error_of_the_door_itself_lets_nobody_in_and_is_in_the_audit_log(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("of a test")

    told: list[str] = []
    with client(store_url, access=LOCKED, tell=told.append) as web:
        monkeypatch.setattr(Doorkeeper, "check_origin", broken)
        assert web.get("/api/v1/requests", headers=bearer("read")).status_code == 500
        assert web.get("/static/dom.js").status_code == 500
    lines = [json.loads(line) for line in told]
    assert [(each["path"], each["refused"]) for each in lines] == [
        ("/api/v1/requests", "internal"),
        ("/static/dom.js", "internal"),
    ]


def test_what_a_stranger_writes_is_cut_in_the_audit_log_and_said_to_be(store_url: str) -> None:
    told: list[str] = []
    proxied = Access(TOKENS, False, user_header="x-user", proxies=(network("127.0.0.0/8"),))
    many = "x" * 30_000
    with client(store_url, access=proxied, tell=told.append) as web:
        web.request("BREW" * 1_000, f"/{many}", params={"a": many[:20_000], "b": "1"})
        web.get("/login", params={"token": many})
        web.get("/api/v1/requests", headers={"x-user": many, "x-forwarded-for": f"fe80::1%{many}"})
        web.get("/api/v1/requests", headers={"host": many, "origin": many, "user-agent": many, "cookie": f"a={many}"})
        web.get("/requests?where=carrier=acme", headers={"x-user": "ada"})
    assert max(len(line) for line in told) < 10_000
    first, second, third, fourth, last = (json.loads(line) for line in told)
    assert first["cut"] == ["method", "path", "query"] and first["path"].startswith("/xxx")
    assert second["cut"] == [] and second["query"] == "token=%2A%2A%2A", "masked before it is cut"
    assert third["cut"] == ["address"] and third["address"].startswith("fe80::1%xxx")
    assert fourth["refused"] == "not_let_in" and last["cut"] == [] and last["who"] == "ada"


def test_the_places_to_sign_in_and_out_are_in_the_audit_log_too(store_url: str) -> None:
    told: list[str] = []
    with client(store_url, access=LOCKED, tell=told.append) as web:
        web.get("/login?to=%2Frequests")
        web.post("/login", data={"token": "read"}, follow_redirects=False)
        web.get("/login")
        web.post("/logout", follow_redirects=False)
        web.post("/logout", follow_redirects=False)
        web.get("/logout")
        web.post("/login", data={"to": "/"})
        web.get("/static/dom.js")
        web.get("/causes.css")
    lines = [json.loads(line) for line in told]
    assert [(each["who"], each["method"], each["path"], each["refused"]) for each in lines] == [
        ("", "GET", "/login", ""),
        ("grafana", "POST", "/login", ""),
        ("grafana", "GET", "/login", ""),
        ("grafana", "POST", "/logout", ""),
        ("", "POST", "/logout", ""),
        ("", "GET", "/logout", ""),
        ("", "POST", "/login", "no_token"),
    ]


def test_an_uploader_uploads_and_nothing_else(store_url: str) -> None:
    with client(store_url, access=LOCKED) as web:
        for path in (
            "/",
            "/requests",
            "/api/v1/requests",
            "/api/v1/status",
            "/connections/aa11bb22.sqlog",
            "/api/docs",
        ):
            refused = web.get(path, headers=bearer("upload"))
            assert refused.status_code == 403 and "may upload" in refused.text, path
            assert web.head(path, headers=bearer("upload")).status_code == 403
        loaded = web.post("/api/v1/traces", content=b"", headers=bearer("upload"))
        assert loaded.status_code == 422  # let in: the file is empty


def test_so_many_requests_of_one_visitor_run_at_once(store_url: str) -> None:
    told: list[str] = []
    with client(store_url, access=LOCKED, tell=told.append, door_limits=RequestLimits(at_once=8, of_one=0)) as web:
        busy = web.get("/api/v1/requests", headers=bearer("read"))
        assert busy.status_code == 429 and busy.json()["code"] == "busy" and busy.headers["retry-after"] == "1"
    (line,) = [json.loads(each) for each in told]
    assert (line["who"], line["path"], line["refused"]) == ("grafana", "/api/v1/requests", "busy"), "it was not let in"


def test_what_did_not_come_through_the_door_is_not_served(store_url: str) -> None:
    from quiclens_web.api.app import create_app
    from quiclens_web.api.settings import ApiSettings

    with stores.open(store_url) as store, TestClient(create_app(ApiSettings(store))) as bare:
        with pytest.raises(RuntimeError, match="through the door"):
            bare.post("/api/v1/traces", content=b"x")
        assert app_of(store) is not bare.app


def test_pages_may_run_no_script_but_ours(store_url: str) -> None:
    with client(store_url) as web:
        for path in (
            "/",
            "/requests",
            "/requests/aa11bb22/4",
            "/connections/aa11bb22",
            "/upload",
            "/nothing",
            "/login",
        ):
            answer = web.get(path)
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy
            text = answer.text
            assert " style=" not in text and "javascript:" not in text and " onclick" not in text
            assert text.count("<script") == text.count('<script type="module" src="/static/')


def test_a_body_that_uploads_nothing_is_small(store_url: str) -> None:
    with client(store_url, access=LOCKED) as web:
        refused = web.post("/login", data={"token": "x" * 100_000})
        assert refused.status_code == 413 and refused.json()["code"] == "too_large"
        pieces = web.post("/login", content=iter([b"token=" + b"x" * 50_000] * 3), headers=FORM)
        assert pieces.status_code == 413 and pieces.json()["code"] == "too_large"
        cut = web.post("/api/v1/traces", content=b"x" * 100_000, headers=bearer("write"))
        assert cut.status_code == 422, cut.text  # no trace, but taken


def test_a_file_that_is_too_large_is_refused_and_says_so(store_url: str) -> None:
    with client(store_url, access=LOCKED, limits=QuestionLimits(upload_bytes=1_000)) as web:
        refused = web.post("/api/v1/traces", content=b"x" * 1_001, headers=bearer("write"))
        assert refused.status_code == 413 and "quiclens load" in refused.json()["hint"]
