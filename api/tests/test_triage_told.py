"""Whom `triage` tells: Alertmanager as long as something is there, a chat once, and again what did not arrive."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from api_ran import Run
from test_triage_command import FINDING, FOUND

from quiclens_command_line.posting import NotTold, post
from quiclens_questions.documents import TriageDocument
from quiclens_questions.triage_alerts import alerts, chat_message

HOSTILE: TriageDocument = {
    **FOUND,
    "findings": [{**FINDING, "sentence": "city <!channel> @here & <http://evil.example|click>: since 14:07 UTC"}],
}


class Listener:
    """An HTTP server that keeps what is posted to it, and answers with these statuses in turn."""

    def __init__(self) -> None:
        self.posted: list[tuple[str, Any]] = []
        self.statuses: list[int] = []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                listener.posted.append((self.path, json.loads(body)))
                self.send_response(listener.statuses.pop(0) if listener.statuses else 200)
                self.send_header("Location", "http://127.0.0.1:9/elsewhere")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture(autouse=True)
def is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quiclens_command_line.commands.triage.ask_triage", lambda *_: FOUND)


def test_an_alert_is_who_and_what_with_a_link() -> None:
    (alert,) = alerts(FOUND, "https://pages.example")
    of = {"where": "region=Bavaria"}
    assert alert["labels"] == {"alertname": "QuiclensTriage", "measure": "slow", "city": "Oslo", **of}
    assert alert["annotations"] == {"summary": "city Oslo", "description": FINDING["sentence"]}
    assert alert["startsAt"] == "2026-11-20T14:07:00Z"
    assert alert["generatorURL"].startswith("https://pages.example/requests?since=2026-11-20T14%3A07%3A00Z")
    assert alerts(FOUND, "")[0]["generatorURL"] == ""


def test_a_value_of_a_log_mentions_nobody_in_a_chat() -> None:
    text = chat_message(HOSTILE["findings"][0], HOSTILE, "")["text"]
    assert "<" not in text and ">" not in text and "@here" not in text and "&amp;" in text


def test_both_are_told_by_one_command(
    run: Run, listener: Listener, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret = tmp_path / "webhook"
    secret.write_text(f"{listener.url}/services/T0/B0/secret\n")
    monkeypatch.setenv("QUICLENS_CHAT_WEBHOOK_FILE", str(secret))
    words = ("--alertmanager", f"{listener.url}/", "--chat", "--address", "https://pages.example/")
    assert run("triage", *words).code == 0
    (first, alerted), (second, message) = listener.posted
    assert (first, second) == ("/api/v2/alerts", "/services/T0/B0/secret")
    assert alerted == alerts(FOUND, "https://pages.example")
    assert message == chat_message(FINDING, FOUND, "https://pages.example")


def test_what_is_not_taken_is_said_without_the_secret(
    run: Run, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUICLENS_CHAT_WEBHOOK", f"{listener.url}/secret")
    listener.statuses = [404]
    ran = run("triage", "--chat")
    assert ran.code == 3 and "the chat was not told: it answers with 404" in ran.err and "secret" not in ran.err
    monkeypatch.setenv("QUICLENS_CHAT_WEBHOOK", "http://127.0.0.1:9/secret")
    ran = run("triage", "--chat")
    assert ran.code == 3 and "the chat was not told" in ran.err and "secret" not in ran.err
    monkeypatch.delenv("QUICLENS_CHAT_WEBHOOK")
    assert run("triage", "--chat").code == 2


def test_following_tells_alertmanager_each_time_and_the_chat_once_unless_it_failed(
    run: Run, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = iter(range(3))

    def wait(_: float) -> None:
        if next(turns) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("quiclens_command_line.commands.triage.time.sleep", wait)
    monkeypatch.setenv("QUICLENS_CHAT_WEBHOOK", f"{listener.url}/chat")
    listener.statuses = [200, 500]
    run("triage", "--follow", "--alertmanager", listener.url, "--chat")
    assert [path for path, _ in listener.posted] == [
        *("/api/v2/alerts", "/chat"),  # which fails
        *("/api/v2/alerts", "/chat"),
        "/api/v2/alerts",
    ]


def test_a_redirection_is_not_followed(listener: Listener) -> None:
    listener.statuses = [302]
    with pytest.raises(NotTold, match="302"):
        post(f"{listener.url}/x", {})
    with pytest.raises(NotTold):
        post("no address", {})
