"""`quiclens triage`: what it prints, and that it tells a finding once where it goes on."""

import shlex
from datetime import UTC, datetime, timedelta

import pytest
from api_ran import Run
from web_client import client

from quiclens_questions.documents import TriageDocument, TriageFinding
from quiclens_questions.triage_alerts import alerts
from quiclens_questions.triage_words import sentence

BEGAN = datetime(2026, 11, 20, 14, 7, tzinfo=UTC)
FINDING: TriageFinding = {
    "sentence": "city Oslo: since 14:07 UTC",
    "conditions": [{"attribute": "city", "operator": "=", "value": "Oslo"}],
    "measure": "slow",
    "since": BEGAN,
    "since_low": BEGAN,
    "since_high": BEGAN,
    "requests": 191,
    "requests_all": 574,
    "users": 189,
    "users_all": 500,
    "share_before": 0.1,
    "share_after": 0.5,
    "excess": 80.0,
    "chance": 1e-9,
    "dispersion": 1.0,
    "slower_us": 500_000,
    "lost_s": 90.0,
    "cause": None,
    "cause_before_us": None,
    "cause_after_us": None,
    "traced_before": 0,
    "traced_after": 0,
    "examples": [],
}
FOUND: TriageDocument = {
    "where": ["region=Bavaria"],
    "since": BEGAN - timedelta(days=1),
    "until": BEGAN + timedelta(hours=1),
    "before_since": BEGAN - timedelta(days=2),
    "tested": 1000,
    "level": 2.5e-5,
    "findings": [FINDING],
    "coverage": {"requests": 10, "traced": 0, "repaired": 0, "damaged": 0, "weight": 10.0},
}


def test_the_command_tells_whether_it_found_something(run: Run) -> None:
    ran = run("triage", "--json")
    assert ran.code == (0 if ran.document["findings"] else 1) and ran.document["coverage"]["requests"] > 0
    assert "comparisons with the time since" in run("triage").out
    assert run("triage", "--markdown").out.startswith("# What has become worse")
    assert "No requests from" in run("triage", "--since", "2001-01-01", "--until", "2001-01-02").out
    for words in (("--follow", "--until", "1h"), ("--since", "1h", "--until", "2h"), ("--where", "nope=1")):
        assert run("triage", *words, "--json").code == 2


def test_a_finding_names_what_to_ask_next(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quiclens_command_line.commands.triage.ask_triage", lambda *_: FOUND)
    told = run("triage").out
    # With what was asked about: else another question is answered.
    assert "quiclens slow --since 2026-11-20T14:07:00Z --where region=Bavaria --where city=Oslo" in told
    assert (
        alerts(FOUND, "")[0]["labels"]["where"] == "region=Bavaria" and alerts(FOUND, "")[0]["labels"]["city"] == "Oslo"
    )
    assert "where" not in alerts({**FOUND, "where": []}, "")[0]["labels"]
    of_people = [{**FINDING["conditions"][0], "attribute": "carrier", "value": "O'Brien & Sons"}]
    quoted = {**FOUND, "findings": [{**FINDING, "conditions": of_people}]}
    monkeypatch.setattr("quiclens_command_line.commands.triage.ask_triage", lambda *_: quoted)
    words = shlex.split(next(line for line in run("triage").out.splitlines() if "quiclens slow" in line))
    assert words[-2:] == ["--where", "carrier=O'Brien & Sons"]
    monkeypatch.setattr("quiclens_command_line.commands.triage.ask_triage", lambda *_: FOUND)
    ticket = run("triage", "--markdown", "--address", "https://pages.example/").out
    assert "https://pages.example/requests?since=2026-11-20T14%3A07%3A00Z" in ticket and "## city Oslo" in ticket
    assert "where=region%3DBavaria&where=city%3DOslo" in ticket


def test_a_sentence_says_of_what_it_is_and_tells_small_shares_apart() -> None:
    rare = FINDING | {"measure": "failed", "share_before": 0.0004, "share_after": 0.0062}
    assert "0.62 % fail, before 0.04 %." in sentence(rare, BEGAN, ["region=Bavaria"])
    assert sentence(FINDING, BEGAN, ["region=Bavaria"]).startswith("of region=Bavaria, city Oslo: since ")
    assert sentence(FINDING, BEGAN).startswith("city Oslo: since ")


def test_a_stretch_after_the_newest_request_is_told_as_it_was_asked(run: Run) -> None:
    later = run("triage", "--since", "2031-01-01", "--until", "2031-01-02")
    assert "No requests from 2031-01-01 00:00 to 2031-01-02 00:00 UTC." in later.out


def test_the_api_has_the_same_ticket(store_url: str) -> None:
    with client(store_url) as web:
        answer = web.get("/api/v1/triage.md?since=2001-01-01T00:00:00Z&until=2001-01-02T00:00:00Z")
        assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
        assert answer.text.startswith("# What has become worse, 2001-01-01T00:00:00Z to 2001-01-02T00:00:00Z\n")
        assert web.get("/api/v1/triage.md?since=2001-01-02&until=2001-01-01").status_code == 422


def test_what_follows_asks_again_and_tells_a_finding_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second answer has the same finding a minute later, the third has none."""
    later: TriageDocument = {**FOUND, "findings": [{**FINDING, "since": BEGAN + timedelta(minutes=1)}]}
    answers = iter([FOUND, later, {**FOUND, "findings": []}])
    waits = iter([None, None, KeyboardInterrupt()])

    def wait(_: float) -> None:
        if (ends := next(waits)) is not None:
            raise ends

    monkeypatch.setattr("quiclens_command_line.commands.triage.ask_triage", lambda *_: next(answers))
    monkeypatch.setattr("quiclens_command_line.commands.triage.time.sleep", wait)
    ran = run("triage", "--follow")
    assert ran.code == 130 and ran.out.count("city Oslo: since") == 1 and not list(answers)
