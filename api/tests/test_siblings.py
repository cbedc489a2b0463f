"""What is said of a request that nobody traced: what traced requests like it spent their time on, and how far one
looked."""

import random
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from quiclens_schema import store as stores
from quiclens_schema.store import Store
from rich.cells import cell_len
from rich.console import Console
from starlette.testclient import TestClient
from store_rows import plant

from quiclens_command_line.show.explain import explain_view
from quiclens_questions.causes import look
from quiclens_questions.explain import explain
from quiclens_questions.statistics.ratios import share_of_sum
from quiclens_web.api.app import create_app
from quiclens_web.api.settings import ApiSettings

# (request, carrier, server, path, bytes, minutes after ten, duration in ms, cause of three quarters of it; none: no
# trace)
_LIKE = [("halden", "edge-1", "/feed", 100_000 + 500 * n, n % 20, 900 + n, "cwnd_blocked") for n in range(30)]
_QUICK = [("halden", "edge-1", "/feed", 100_000, n % 20, 90, "network") for n in range(60)]
_LATER = [("savanna", "edge-1", "/feed", 100_000, 100 + n, 900, "loss_recovery") for n in range(15)]
_OTHERS = [("pacifica", "edge-2", "/img", 90_000, n, 900, "pto" if n % 2 else "queueing") for n in range(20)]
_CHANGED = [("metro", "edge-3", "/map", 50_000, 60 + n, 400, "network" if n < 60 else "pto") for n in range(80)]
_FEW = [("vale", "edge-1", "/feed", 100_000, n, 900, "pto") for n in range(5)]
_TRACED = [*_LIKE, *_QUICK, *_LATER, *_OTHERS, *_CHANGED, *_FEW]
_ASKED = {
    "near": ("halden", "edge-1", "/feed", 110_000, 5, 1_000, ""),
    "far": ("savanna", "edge-1", "/feed", 110_000, 5, 1_000, ""),
    "mixed": ("pacifica", "edge-1", "/feed", 100_000, 5, 1_000, ""),
    "few": ("vale", "edge-1", "/feed", 100_000, 5, 1_000, ""),
    "unseen": ("northlight", "edge-1", "/feed", 100_000, 5, 1_000, ""),
    "before": ("metro", "edge-3", "/map", 50_000, 65, 400, ""),
    "since": ("metro", "edge-3", "/map", 50_000, 139, 400, ""),
    "alone": ("halden", "edge-1", "/feed", 110_000, 1_500, 1_000, ""),
    "h2": ("halden", "edge-1", "/feed", 110_000, 5, 1_000, ""),
}


def _row(name: str, protocol: str, row: tuple[str, str, str, int, int, int, str]) -> str:
    carrier, server, path, size, minute, took_ms, cause = row
    at = f"toDateTime64('2026-11-20 10:00:00', 6, 'UTC') + INTERVAL {minute} MINUTE"
    causes = [took_ms * (750 if cause == each else 0) for each in ("cwnd_blocked", "loss_recovery", "pto", "queueing")]
    network = took_ms * 1_000 - sum(causes) if cause else 0
    is_traced = int(bool(cause))
    return (
        f"('{name}', toStartOfHour({at}), {at}, 'c{name}', 'u{name}', 'log', '{'id' if cause else 'none'}',"
        f" '{'full' if cause else 'none'}', 1, {is_traced}, true, {took_ms * 1_000}, {took_ms * 1_000}, '{carrier}',"
        f" '{server}', '{protocol}', '{path}', {size}, {', '.join(map(str, causes))}, {network},"
        f" '{cause or 'network'}')"
    )


_INTO = """INSERT INTO request_versions
    (request_id, started_hour, started_at, connection_id, user_hash, source, link, coverage, weight, trace_weight,
     complete, duration_us, logged_duration_us, carrier, server, protocol, path, response_bytes, cwnd_blocked_us,
     loss_recovery_us, pto_us, queueing_us, network_us, top_cause)
VALUES
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("siblings") / "store"
    rows = [_row(f"t{place}", "h3", row) for place, row in enumerate(_TRACED)]
    rows += [_row(name, "h2" if name == "h2" else "h3", row) for name, row in _ASKED.items()]
    plant(folder, _INTO + ", ".join(rows))
    with stores.open(f"chdb:{folder}") as opened:
        yield opened


def siblings(store: Store, name: str) -> dict[str, Any]:
    found = explain(store, name).document["siblings"]
    assert found is not None
    return dict(found)


def test_the_likest_are_taken_those_that_took_as_long(store: Store) -> None:
    found = siblings(store, "near")
    assert (found["requests"], found["clusters"], found["within_s"]) == (30, 30, 840)
    assert (found["alike_in"], found["unseen_in"]) == (["carrier", "duration_us"], [])
    first, second = found["causes"]
    assert (found["top_cause"], first["cause"], first["largest_of"]) == ("cwnd_blocked", "cwnd_blocked", 30)
    assert first["share"] == 0.75 and first["low"] <= 0.75 <= first["high"]
    assert (second["cause"], second["share"], second["largest_of"]) == ("network", 0.25, 0)
    assert explain(store, "near").document["sentence"] == (
        "The access log says 1.00 s, but no trace of its connection was loaded, so its time has no causes. Of 30 "
        "traced requests like it in carrier, within 14 min and about as long, 75 % [75 % to 75 %] of the "
        "time went to the full congestion window, the largest part of each."
    )


def test_those_that_are_far_in_time_count_where_none_are_nearer_and_it_is_said(store: Store) -> None:
    found = siblings(store, "far")
    assert (found["requests"], found["within_s"], found["top_cause"]) == (15, 6_540, "loss_recovery")
    assert "within 109 min" in explain(store, "far").document["sentence"]


def test_without_a_cause_in_common_none_is_named(store: Store) -> None:
    found = siblings(store, "mixed")
    assert (found["top_cause"], found["requests"]) == (None, 20) and found["alike_in"][0] == "carrier"
    said = explain(store, "mixed").document["sentence"]
    assert "about as long have no cause in common: the first of them, " in said


def test_too_few_say_nothing(store: Store) -> None:
    few = siblings(store, "few")
    assert (few["requests"], few["causes"], few["top_cause"]) == (5, [], None)
    said = explain(store, "few").document["sentence"]
    assert "There are five traced requests like it in carrier" in said and said.endswith(
        "too few to say what is usual."
    )


def test_where_nothing_is_traced_it_is_said(store: Store) -> None:
    assert siblings(store, "alone")["requests"] == 0
    assert explain(store, "alone").document["sentence"].endswith(" No request of those hours has a trace.")


def test_a_value_that_no_traced_request_has_is_said(store: Store) -> None:
    assert siblings(store, "unseen")["unseen_in"] == ["carrier"]
    assert explain(store, "unseen").document["sentence"].endswith(" None of them is like it in carrier.")


def test_an_hour_in_which_something_else_was_usual_is_told_apart(store: Store) -> None:
    """Of one carrier and path: before a moment it was the round trip, since then the probe timeout."""
    before, since = siblings(store, "before"), siblings(store, "since")
    assert (before["top_cause"], since["top_cause"]) == ("network", "pto")
    assert since["requests"] in (20, 21) and since["within_s"] < 3_600


def test_its_own_time_stays_without_causes_and_tcp_has_no_siblings(store: Store) -> None:
    document = explain(store, "near").document
    assert (document["parts"], document["top_cause"], document["coverage"]["traced"]) == ([], None, 0)
    assert explain(store, "h2").document["siblings"] is None


def test_the_page_shows_theirs_as_theirs(store: Store) -> None:
    client = TestClient(create_app(ApiSettings(store)), base_url="http://127.0.0.1:8123")
    page = client.get("/requests/near").text
    assert "What requests like it spent their time on" in page and "30 traced ones" in page
    assert 'id="part-cwnd_blocked"' in page and "75 % – 75 %" in page
    assert "Where its time went" not in page
    few = client.get("/requests/few").text
    assert "too few to say what is usual" in few and "spent their time on" not in few
    assert client.get("/api/v1/requests/near").json()["siblings"]["top_cause"] == "cwnd_blocked"


@pytest.mark.parametrize("users", [10, 40, 200])
def test_the_interval_of_a_share_of_time_holds_as_often_as_it_says(users: int) -> None:
    """Users differ in how much of their time it is, and in how much time they have."""
    draw = random.Random(users)
    held = 0
    for _ in range(1_000):
        clusters = []
        for _ in range(users):
            whole = draw.lognormvariate(0, 0.8)
            clusters.append((whole * draw.betavariate(3, 2), whole))
        found = share_of_sum(clusters)
        assert found.low is not None and found.high is not None
        held += found.low <= 0.6 <= found.high
    assert held >= 925


def test_few_users_bound_nothing() -> None:
    assert share_of_sum([(1.0, 2.0)] * 9).ends == (0.5, None, None)
    assert share_of_sum([]).ends == (None, None, None)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_width_cuts_them(store: Store, width: int) -> None:
    out = StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None, highlight=False)
    found = explain(store, "near")
    for part in explain_view(found, 25):
        console.print(part)
    said = out.getvalue()
    assert max(map(cell_len, said.splitlines())) <= width and "…" not in said
    words = " ".join(said.split())
    assert found.document["siblings"] is not None
    for request_id in found.document["siblings"]["examples"]:
        assert f"quiclens explain {request_id}" in words
    for cause in found.document["siblings"]["causes"]:
        assert all(
            word in words for word in (*look(cause["cause"]).name.split(), f"{cause['share']:.0%}".replace("%", " %"))
        )
