"""Who may ask: tokens, sessions, trusted proxies, and no other site's page."""

import pytest
from web_client import client

from quiclens_api.serve.access import digest
from quiclens_api.web.access import Access

LOCKED = Access(writer_digests=(digest("write"),), reader_digests=(digest("read"),), is_open=False)


def test_an_open_api_is_for_this_machine_alone(store_url: str) -> None:
    with client(store_url) as web:
        assert web.get("/api/requests").status_code == 200
        assert web.get("/api/requests", headers={"host": "quiclens.example"}).status_code == 403


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/requests", {"origin": "https://evil.example"}, 403),
        ("/api/requests", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}, 403),
        ("/requests", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200),
        ("/api/requests", {"sec-fetch-site": "same-origin"}, 200),
        ("/connections/aa11bb22.sqlog", {"origin": "https://evil.example"}, 403),
        ("/api/requests", {"origin": "https://qvis.example"}, 403),
    ],
)
def test_other_sites_pages_are_refused_but_may_link(
    store_url: str, path: str, headers: dict[str, str], status: int
) -> None:
    with client(store_url, qvis="https://qvis.example") as web:
        assert web.get(path, headers=headers).status_code == status


def test_a_token_is_asked_for_and_kept_from_scripts(store_url: str) -> None:
    with client(store_url, access=LOCKED) as web:
        assert web.get("/api/requests").status_code == 401
        assert web.get("/api/requests", headers={"authorization": "Bearer nope"}).status_code == 401
        assert web.get("/api/requests", headers={"authorization": "Bearer read"}).status_code == 200
        shown = web.get("/requests", headers={"accept": "text/html"}, follow_redirects=False)
        assert shown.status_code == 303 and shown.headers["location"] == "/login?to=%2Frequests"
        assert web.post("/login", data={"token": "nope"}).status_code == 403
        begun = web.post("/login?to=/requests", data={"token": "read"}, follow_redirects=False)
        assert begun.headers["location"] == "/requests" and "HttpOnly" in begun.headers["set-cookie"]
        assert web.get("/requests").status_code == 200
        assert web.post("/api/traces", content=b"x").status_code == 403  # a reader may not load


@pytest.mark.parametrize("to", ["//evil.example", "/\\evil.example", "https://evil.example"])
def test_a_login_leads_nowhere_else(store_url: str, to: str) -> None:
    with client(store_url, access=LOCKED) as web:
        begun = web.post("/login", params={"to": to}, data={"token": "read"}, follow_redirects=False)
        assert begun.headers["location"] == "/"


def test_a_proxy_is_trusted_by_its_address_alone(store_url: str) -> None:
    told: list[str] = []
    headers = {"x-forwarded-user": "ada"}
    trusting = Access(is_open=False, user_header="x-forwarded-user", proxies=("testclient",))
    with client(store_url, access=trusting, tell=told.append) as web:
        assert web.get("/api/requests", headers=headers).status_code == 200
        assert web.get("/api/requests").status_code == 401
    assert '"asker": "ada"' in told[0] and '"path": "/api/requests"' in told[0]
    elsewhere = Access(is_open=False, user_header="x-forwarded-user", proxies=("10.0.0.1",))
    with client(store_url, access=elsewhere) as web:
        assert web.get("/api/requests", headers=headers).status_code == 401


def test_pages_may_run_no_script_but_ours(store_url: str) -> None:
    with client(store_url) as web:
        for path in ("/", "/requests", "/requests/aa11bb22/4", "/connections/aa11bb22", "/upload", "/nothing"):
            answer = web.get(path)
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy
            text = answer.text
            assert " style=" not in text and "javascript:" not in text and " onclick" not in text
            assert text.count("<script") == text.count('<script type="module" src="/static/')
