"""A request with more episodes than an answer has: what is left out is told, and the sentence counts all."""

from collections.abc import Iterator
from typing import Any

import pytest
from api_seed import DAY, SERVER, TABLES, A
from quiclens_schema import store as stores
from quiclens_schema.store import Store
from store_rows import fill
from web_client import client

from quiclens_command_line.show.event_rows import event_rows
from quiclens_questions import explain as asked
from quiclens_questions.facts import facts

REQUEST = f"{A}/4"


def episode(number: int, kind: str, lasts_us: int, **more: Any) -> dict[str, Any]:
    at = 150_000 + number * 10
    row = {"stream_id": 4, "first_seq": number, "last_seq": number, "version": 1, "analysis_version": 1, "count": 1}
    return {**SERVER, "kind": kind, "trace_day": DAY, "start_us": at, "end_us": at + lasts_us, **row, **more}


EPISODES = [
    episode(1, "repair", 10, packet_number=7),
    episode(2, "pto", 100, stream_id=-1, count=3, wait_us=70, trigger="spurious"),
    episode(3, "pto", 100, stream_id=-1, count=2, wait_us=90, trigger="spurious"),
    episode(4, "spurious_loss", 1),
    episode(5, "spurious_loss", 1, stream_id=-1),
    episode(6, "app_limited", 400),
    episode(7, "app_limited", 900),
    episode(8, "amplification", 5, stream_id=-1),
    episode(9, "stream_flow_control", 50),
    episode(10, "connection_flow_control", 60, stream_id=-1),
    episode(11, "cwnd_blocked", 10, congestion_window=1_000),
    episode(12, "cwnd_blocked", 800, congestion_window=2_000),
    episode(13, "cwnd_blocked", 9_000),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("cut") / "store"
    fill(folder, {**TABLES, "episodes": EPISODES})
    with stores.open(f"chdb:{folder}"):  # the engine starts once
        yield f"chdb:{folder}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with stores.open(url) as opened:
        yield opened


def test_of_episodes_that_are_cut_all_are_counted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = asked.explain(store, REQUEST).stream
    assert stream is not None
    whole = asked._episodes(store, stream)
    assert len(whole.first) == whole.all == len(EPISODES) and not whole.counted
    monkeypatch.setattr(asked, "_EPISODES_AT_MOST", 1)
    cut = asked._episodes(store, stream)
    assert (len(cut.first), cut.all) == (1, whole.all)
    counted = facts(stream, [], cut.first, {}, 0, cut.counted)
    assert counted == facts(stream, [], whole.first, {}, 0) != facts(stream, [], cut.first, {}, 0)
    assert counted.probes == 5 and counted.congestion_window == 2_000 and counted.probes_needless


def test_what_is_cut_is_told_in_the_document_and_on_the_page(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with client(url) as web:
        whole = web.get(f"/api/v1/requests/{REQUEST}").json()
        monkeypatch.setattr(asked, "_EPISODES_AT_MOST", 4)
        cut = web.get(f"/api/v1/requests/{REQUEST}").json()
        page = web.get(f"/requests/{REQUEST}").text
    assert (whole["episodes_all"], whole["episodes_cut"]) == (13, False)
    assert (cut["episodes_all"], cut["episodes_cut"], len(cut["episodes"])) == (13, True, 4)
    assert cut["sentence"] == whole["sentence"]
    assert whole["events_all"] == len(whole["events"])
    assert "There are 13 in all; those after the first 4 are not shown here." in page


def test_of_events_that_are_cut_all_are_counted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = asked.explain(store, REQUEST).document
    if len(whole["events"]) < 3:
        pytest.fail("the case has too few events to cut them")
    monkeypatch.setattr("quiclens_questions.events_around.EVENTS_AT_MOST", 2)
    found = asked.explain(store, REQUEST)
    assert (len(found.document["events"]), found.document["events_all"]) == (2, len(whole["events"]))
    assert found.stream is not None
    table = event_rows(found.document["events"], found.document["events_all"], found.stream, 25)
    assert str(table.caption).startswith(f"of 2 of {len(whole['events'])} events: losses")
