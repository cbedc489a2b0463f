"""Pages and API beside a server: several processes, and a proxy that says who asks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from serve_process import Served, start, start_words

TRACE = Path(__file__).resolve().parents[2] / "schema" / "vectors" / "quiche_0_30_server" / "input.sqlog"


def test_pages_of_a_server_are_served_by_another_process(tmp_path: Path) -> None:
    served = start(tmp_path / "store")
    pages = start_words(tmp_path, "--store", served.url)
    try:
        loaded = pages.request(TRACE.read_bytes(), "POST", "/api/v1/traces", {}, name="slow.sqlog")
        assert loaded.status == 201, loaded.text
        (found,) = json.loads(loaded.text)["connections_found"]
        for path in (f"/api/v1/connections/{found['connection_id']}", f"/connections/{found['connection_id']}.sqlog"):
            here, there = (one.ask(method="GET", path=path) for one in (served, pages))
            assert here.status == there.status == 200 and here.text == there.text and len(there.text) > 1000
        assert pages.ask("SELECT 1").status == 405, "the server's own interface is for statements"
    finally:
        assert (pages.stop(), served.stop()) == (0, 0)


def test_a_proxy_that_is_trusted_names_who_asks(tmp_path: Path, served: Served) -> None:
    log = tmp_path / "audit.jsonl"
    options = ["--store", served.url, "--user-header", "x-user", "--trust-proxy", "127.0.0.1", "--audit-log", str(log)]
    pages = start_words(served.folder, *options)
    try:
        assert pages.request(b"", "GET", "/api/v1/requests", {}).status == 401
        assert pages.request(b"", "GET", "/api/v1/requests", {"x-user": "ada"}).status == 200
        assert pages.request(b"x", "POST", "/api/v1/traces", {"x-user": "ada"}).status == 403
    finally:
        assert pages.stop() == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(each["who"], each["refused"]) for each in lines] == [("", "token_needed"), ("ada", ""), ("ada", "")]


@pytest.mark.parametrize("option", [["--user-header", "x-user"], ["--trust-proxy", "10.0.0.1"]])
def test_a_header_without_its_proxy_is_a_mistake(tmp_path: Path, option: list[str]) -> None:
    words = [sys.executable, "-m", "quiclens_command_line", "serve", "--store", f"chdb:{tmp_path}", "--json", *option]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and json.loads(done.stdout)["error"]["code"] == "usage"
