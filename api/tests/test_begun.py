"""A request by the beginning of its id, and what a whole connection has."""

from collections.abc import Iterator

import pytest
from api_ran import Run
from api_seed import UNDATED, A
from quiclens_schema import store as stores
from quiclens_schema.store import Store
from web_client import client

from quiclens_questions import begun as module
from quiclens_questions.begun import begun


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with stores.open(store_url) as opened:
        yield opened


def named(store: Store, text: str) -> list[str]:
    return [row["request_id"] for row in begun(store, text).requests]


def test_a_connection_lists_its_requests_the_longest_first(run: Run, store: Store) -> None:
    whole = [f"{A}/8", f"{A}/4", f"{A}/0"]
    for text in (A, f"{A}/", A[:4], A[:4].upper(), "C0FFEE99"):
        assert named(store, text) == whole, text
    ran = run("explain", A[:5], "--json")
    assert ran.code == 1 and [row["request_id"] for row in ran.document["begun"]] == whole
    assert ran.document["coverage"]["requests"] == 0
    shown = run("explain", A[:5]).out
    assert "3 traced requests begin so" in shown and all(each in shown for each in whole)


def test_the_beginning_of_one_request_alone_is_that_request(run: Run) -> None:
    exact, begins = (run("explain", name, "--json") for name in (f"{A}/4", f"{A[:5]}/4"))
    assert begins.code == exact.code == 0 and begins.document == exact.document
    assert "begun" not in begins.document
    assert run("explain", UNDATED[:6], "--json").document["request_id"] == f"{UNDATED}/8"


@pytest.mark.parametrize("text", ["", "a", A[:3], "zzzz", f"{A}/99", "/4", "%%%%", "____", "log:0f0f/1"])
def test_what_begins_nothing_lists_nothing(run: Run, store: Store, text: str) -> None:
    assert named(store, text) == []
    if text:
        ran = run("explain", text, "--json")
        assert ran.code == 1 and "begun" not in ran.document


def test_a_list_says_what_it_leaves_out(store: Store, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REQUESTS_AT_MOST", 2)
    found = begun(store, A)
    assert (len(found.requests), found.all, found.is_cut) == (2, 3, False)
    assert "the 2 longest of 3 are shown" in run("explain", A).out
    monkeypatch.setattr(module, "CONNECTIONS_AT_MOST", 0)
    assert not begun(store, A).requests


def test_a_connection_that_is_an_alias_of_its_own_is_one(monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    monkeypatch.setattr(module, "connections_called", lambda *_: (A,))
    found = begun(store, A)
    assert (found.connections, found.is_cut) == (1, False)
    monkeypatch.setattr(module, "connections_called", lambda *_: tuple(f"other-{number}" for number in range(20)))
    assert begun(store, A).is_cut


def test_the_api_hints_at_what_begins_so(store_url: str) -> None:
    with client(store_url) as web:
        problem = web.get(f"/api/v1/requests/{A[:6]}").json()
        assert problem["status"] == 404 and f"{A}/8, {A}/4, {A}/0" in problem["hint"]
        assert "begin so" not in web.get("/api/v1/requests/nothing").json()["hint"]
