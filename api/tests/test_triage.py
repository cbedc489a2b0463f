"""What has become worse: the planted incident at every window, each kind of it, and nothing where there is none."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from long import some
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store
from starlette.testclient import TestClient

from quiclens_questions.documents import TriageDocument, TriageFinding
from quiclens_questions.triage import Triage, triage
from quiclens_questions.triage_words import ticket
from quiclens_questions.where import read
from quiclens_web.api.app import create_app
from quiclens_web.api.settings import ApiSettings

ENDS = datetime(2026, 11, 20, 15, tzinfo=UTC)
BEGAN = datetime(2026, 11, 20, 14, 7, tzinfo=UTC)
HOURS, ROWS = 27, 130_000
# Users have one to three requests; a third are traced. A path's length differs, and a carrier's.
_ROWS = """
INSERT INTO request_versions
    (request_id, started_hour, started_at, connection_id, user_hash, source, link, coverage, weight, trace_weight,
     complete, duration_us, end_is, carrier, city, pop, server, server_release, protocol, path, network_type,
     app_version, status,
     cwnd_blocked_us, network_us, top_cause, packets_lost, handshake_us, loss_recovery_us)
WITH
    number AS n,
    toDateTime64({ends:DateTime('UTC')}, 6, 'UTC') - toIntervalSecond({hours:UInt32} * 3600)
        + toIntervalMicrosecond(toUInt64(n * {hours:UInt32} * 3600. * 1e6 / {rows:UInt64})) AS at,
    cityHash64(n, 1) AS one,
    cityHash64(n, 2) AS two,
    cityHash64(n, 3) AS three,
    ['Halden Mobile', 'Northlight Fiber', 'Vale DSL', 'Metro Wireless'][1 + intDiv(one, 7) % 4] AS carrier_name,
    ['Munich', 'Berlin', 'Oslo', 'Rome', 'Lyon'][1 + two % 5] AS city_name,
    ['fra', 'ams'][1 + intDiv(two, 5) % 2] AS pop_name,
    concat('edge-', pop_name, '-0', toString(1 + three % 2)) AS server_name,
    ['/feed', '/img', '/video', '/api'][1 + intDiv(three, 2) % 4] AS path_name,
    one % 3 = 0 AS is_traced,
    sqrt(-2 * log((cityHash64(n, 11) % 1000003 + 1) / 1000004)) AS radius,
    radius * cos(2 * pi() * (cityHash64(n, 12) % 1000003) / 1000003) AS z,
    at >= {began:DateTime('UTC')} AND (WHO) AS is_hit,
    60000. * (1 + intDiv(one, 7) % 4) * (1 + intDiv(three, 2) % 4) * exp(0.7 * z) AS usual_us
SELECT
    toString(n),
    toStartOfHour(at),
    at,
    concat('c', toString(cityHash64(intDiv(n, 2), 5))),
    concat('u', toString(cityHash64(intDiv(n, 3), 6))),
    'log',
    'id',
    if(is_traced, 'full', 'none'),
    1,
    is_traced,
    true,
    toUInt64(if(is_hit, HOW, usual_us)) AS took,
    if(is_hit AND FAILS, 'reset', 'fin'),
    carrier_name,
    city_name,
    pop_name,
    server_name,
    if(server_name = 'edge-ams-02' AND at >= {began:DateTime('UTC')}, '2.0', '1.9'),
    if(is_hit AND OTHER OR BESIDE, 'h2', 'h3'),
    path_name,
    'lte',
    toString(1 + three % 3),
    200,
    if(is_traced AND is_hit, took * 0.8, 0),
    if(is_traced, took - if(is_hit, took * 0.8, 0), 0),
    'network',
    if(is_traced, toUInt64(one % 40 = 1 OR is_hit AND LOST), NULL),
    if(is_traced AND (two % 30 = 1 OR is_hit AND SHAKEN), 200, 0),
    if(is_traced AND (three % 50 = 1 OR is_hit AND REPAIRED), 200, 0)
FROM numbers({rows:UInt64})
"""
INCIDENTS = {
    "a carrier on a server": (
        "carrier_name = 'Halden Mobile' AND server_name = 'edge-fra-02'",
        "usual_us + 500000",
        "0",
    ),
    "a city": ("city_name = 'Oslo'", "usual_us * 2", "0"),
    "a release": ("server_name = 'edge-ams-02'", "usual_us * 2", "0"),
    "a path": ("path_name = '/api'", "usual_us * 2", "0"),
    "all": ("1", "usual_us * 1.6", "0"),
    "only the tail": ("carrier_name = 'Vale DSL'", "if(intDiv(two, 10) % 15 = 0, usual_us * 30, usual_us)", "0"),
    "failures": ("pop_name = 'ams'", "usual_us", "one % 12 = 5"),
    "a carrier over QUIC": ("carrier_name = 'Vale DSL' AND two % 4 != 1", "usual_us * 3", "0"),
    "a city, that is over": ("city_name = 'Oslo' AND at < {began:DateTime('UTC')} + 1500", "usual_us * 2", "0"),
    "nothing": ("0", "usual_us", "0"),
}
# Users feel none of these: the duration is that of others.
ON_THE_WAY = {
    "lost packets": ("LOST", "city_name = 'Oslo'", {("city", "Oslo")}, "loss"),
    "handshakes": ("SHAKEN", "carrier_name = 'Vale DSL'", {("carrier", "Vale DSL")}, "handshake"),
    "retransmissions": ("REPAIRED", "pop_name = 'ams'", {("pop", "ams")}, "retransmission"),
    "another protocol": ("OTHER", "carrier_name = 'Halden Mobile'", {("carrier", "Halden Mobile")}, "not_quic"),
}
WHO = {
    "a carrier on a server": {("carrier", "Halden Mobile"), ("server", "edge-fra-02")},
    "a city": {("city", "Oslo")},
    "a path": {("path", "/api")},
    "all": set(),
    "only the tail": {("carrier", "Vale DSL")},
    "failures": {("pop", "ams")},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with stores.open(f"chdb:{tmp_path_factory.mktemp('incidents') / 'store'}") as opened:
        migrate(opened)
        yield opened


def planted(store: Store, name: str, weight: int = 1, beside: str = "0") -> None:
    """`weight`: of requests with a trace; `beside`: which are not over QUIC, before and after."""
    happens = ""
    if name in ON_THE_WAY:
        happens, who, *_ = ON_THE_WAY[name]
        how, fails = "usual_us", "0"
    else:
        who, how, fails = INCIDENTS[name]
    store.command("TRUNCATE TABLE request_versions")
    text = _ROWS.replace("WHO", who).replace("HOW", how).replace("FAILS", fails)
    text = text.replace("    is_traced,\n    true,", f"    is_traced * {weight},\n    true,")
    text = text.replace("BESIDE", beside)
    for mark in ("OTHER", "LOST", "SHAKEN", "REPAIRED"):
        text = text.replace(mark, "(intDiv(one, 1000) % 3 = 1)" if mark == happens else "0")
    given = {"rows": ROWS, "hours": HOURS, "ends": f"{ENDS:%Y-%m-%d %H:%M:%S}", "began": f"{BEGAN:%Y-%m-%d %H:%M:%S}"}
    store.command(text, given)


def found(store: Store, hours: float, **more: Any) -> TriageDocument:
    return triage(store, Triage(ENDS - timedelta(hours=hours), ENDS, **more))


def who(finding: TriageFinding) -> set[tuple[str, str]]:
    return {(each["attribute"], each["value"]) for each in finding["conditions"]}


@pytest.mark.parametrize("name", some(WHO, "a carrier on a server", "only the tail"))
def test_a_planted_incident_is_found_alone_with_who_and_since(store: Store, name: str) -> None:
    planted(store, name)
    # The last quarter is wholly after it began, and so is the last half an hour.
    for hours in (24, 1, 0.75, 0.5, 0.25) if name == "a carrier on a server" else (24, 0.25):
        document = found(store, hours)
        (finding,) = document["findings"]
        assert who(finding) == WHO[name], finding["sentence"]
        assert finding["since_low"] <= BEGAN <= finding["since_high"], finding["sentence"]
        assert finding["since_high"] - finding["since_low"] <= timedelta(minutes=12)
        assert finding["measure"] == {"failures": "failed", "only the tail": "extreme"}.get(name, "slow")


@pytest.mark.parametrize("name", some(ON_THE_WAY, "handshakes"))
def test_what_happens_on_the_way_is_found_where_users_feel_nothing(store: Store, name: str) -> None:
    *_, cell, measure = ON_THE_WAY[name]
    told = []
    for weight in (1, 50):
        planted(store, name, weight)
        (finding,) = found(store, 24)["findings"]
        assert who(finding) == cell and finding["measure"] == measure, finding["sentence"]
        assert finding["since_low"] <= BEGAN <= finding["since_high"], finding["sentence"]
        assert 0.3 <= finding["share_after"] <= 0.4 and finding["share_before"] < 0.05
        told.append((finding["chance"], finding["excess"]))
    # One traced request of fifty is worth no more than one of one.
    assert told[0] == told[1]


def test_what_users_feel_is_told_before_what_happens_on_the_way(store: Store) -> None:
    planted(store, "a city")
    store.command(
        "INSERT INTO request_versions SELECT * REPLACE (1 AS packets_lost) FROM request_versions"
        " WHERE city = 'Oslo' AND started_at >= {began:DateTime('UTC')} AND trace_weight > 0",
        {"began": f"{BEGAN:%Y-%m-%d %H:%M:%S}"},
    )
    (finding,) = found(store, 24)["findings"]
    assert finding["measure"] == "slow" and who(finding) == {("city", "Oslo")}


def test_what_is_left_of_a_finding_is_not_told_as_less_quic(store: Store) -> None:
    """Without those over QUIC that became slower, a carrier would have others alone."""
    planted(store, "a carrier over QUIC", beside="two % 4 = 1")
    (finding,) = found(store, 24)["findings"]
    assert who(finding) == {("carrier", "Vale DSL"), ("protocol", "h3")}


def test_a_release_is_named_or_the_server_that_runs_it(store: Store) -> None:
    planted(store, "a release")
    (finding,) = found(store, 24)["findings"]
    assert len(who(finding)) == 1 and who(finding) <= {("server_release", "2.0"), ("server", "edge-ams-02")}


def test_every_number_is_that_of_the_rows(store: Store) -> None:
    planted(store, "a carrier on a server")
    document = found(store, 24)
    (finding,) = document["findings"]
    since = f"{finding['since']:%Y-%m-%d %H:%M:%S}"
    cell = "carrier = 'Halden Mobile' AND server = 'edge-fra-02'"
    requests, users, every, all_users = store.query(
        f"SELECT countIf({cell}), uniqExactIf(user_hash, {cell}), count(), uniqExact(user_hash) FROM requests"
        " WHERE started_at >= {since:DateTime('UTC')}",
        {"since": since},
    ).one()
    told = [finding[name] for name in ("requests", "users", "requests_all", "users_all")]
    assert told == [requests, users, every, all_users]
    assert finding["cause"] == "cwnd_blocked" and (finding["cause_before_us"] or 0) < 5_000
    assert 0.5e6 * 0.8 <= (finding["slower_us"] or 0) <= 0.5e6 * 1.2
    for word in (
        "Halden Mobile",
        "edge-fra-02",
        f"{requests:,} of {every:,} requests",
        f"{users:,} of",
        "congestion window",
    ):
        assert word in finding["sentence"]
    assert len(finding["examples"]) == 3
    text = "\n".join(ticket(document, "https://pages.example"))
    assert "https://pages.example/requests?since=" in text and "carrier Halden Mobile, server edge-fra-02" in text


def test_a_request_that_stands_for_ten_counts_for_ten(store: Store) -> None:
    """A path's traces stand for all its requests there: half of those that it lost are of that path."""
    planted(store, "a carrier on a server")
    (usual,) = found(store, 24)["findings"]
    store.command(
        "INSERT INTO request_versions SELECT * REPLACE (10 AS weight, trace_weight * 10 AS trace_weight)"
        " FROM request_versions WHERE path = '/video'"
    )
    (finding,) = found(store, 24)["findings"]
    assert who(finding) == who(usual) and finding["requests"] == usual["requests"]
    ((lost_s, traced, of_traces),) = store.query(
        "SELECT sum((after - before) * many) / 1e6, sum(traced), sum((cause - cause_before) * traced) FROM"
        " (SELECT sumIf(weight, is_after) AS many, sumIf(weight * duration_us, is_after) / many AS after,"
        " sumIf(weight * duration_us, NOT is_after) / sumIf(weight, NOT is_after) AS before,"
        " sumIf(trace_weight, is_after) AS traced, sumIf(trace_weight * cwnd_blocked_us, is_after) / traced AS cause,"
        " sumIf(trace_weight * cwnd_blocked_us, NOT is_after) / sumIf(trace_weight, NOT is_after) AS cause_before"
        " FROM (SELECT *, started_at >= {since:DateTime('UTC')} AS is_after FROM requests"
        " WHERE carrier = 'Halden Mobile' AND server = 'edge-fra-02' AND started_at >= {oldest:DateTime('UTC')})"
        " GROUP BY path)",
        {
            "since": f"{finding['since']:%Y-%m-%d %H:%M:%S}",
            "oldest": f"{ENDS - timedelta(hours=48):%Y-%m-%d %H:%M:%S}",
        },
    ).rows
    assert finding["lost_s"] == pytest.approx(lost_s, rel=1e-3) and finding["lost_s"] > 2 * usual["lost_s"]
    told = (finding["cause_after_us"] or 0) - (finding["cause_before_us"] or 0)
    assert told == pytest.approx(of_traces / traced, abs=1)


def test_paths_beyond_the_most_frequent_are_compared_as_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(store, "a carrier on a server")
    (every,) = found(store, 24)["findings"]
    monkeypatch.setattr("quiclens_questions.triage.PATHS_AT_MOST", 1)
    (few,) = found(store, 24)["findings"]
    assert few["lost_s"] == pytest.approx(every["lost_s"], rel=0.25) and few["lost_s"] != every["lost_s"]
    same = every.keys() - {"slower_us", "lost_s", "cause_before_us", "cause_after_us", "sentence"}
    assert {name: few[name] for name in same} == {name: every[name] for name in same}  # type: ignore[literal-required]


def test_what_was_not_planted_is_not_told(store: Store) -> None:
    planted(store, "nothing")
    for hours in (24, 1, 0.25):
        assert not found(store, hours)["findings"]
    planted(store, "a city, that is over")
    assert not found(store, 0.25)["findings"]
    planted(store, "a city")
    before = triage(store, Triage(BEGAN - timedelta(hours=6), BEGAN))
    assert not before["findings"] and before["tested"] > 1_000
    others = found(store, 24, where=read(["city!=Oslo"], ENDS))
    assert not others["findings"]


def test_an_empty_store_has_nothing(store: Store) -> None:
    store.command("TRUNCATE TABLE request_versions")
    document = found(store, 24)
    assert document["findings"] == [] and document["coverage"]["requests"] == 0 and document["tested"] == 0


def test_the_api_answers_as_the_question_does(store: Store) -> None:
    planted(store, "a city")
    client = TestClient(create_app(ApiSettings(store)), base_url="http://127.0.0.1:8123")
    stretch = {"since": f"{ENDS - timedelta(hours=6):%Y-%m-%dT%H:%M:%SZ}", "until": f"{ENDS:%Y-%m-%dT%H:%M:%SZ}"}
    (finding,) = client.get("/api/v1/triage", params=stretch).json()["findings"]
    assert finding["sentence"].startswith("city Oslo: since 14:0") and finding["requests"] > 500
    assert client.get("/api/v1/triage", params={"since": "1h", "until": "2h"}).status_code == 422


def test_a_ticket_has_the_ids_of_requests_as_text_and_nothing_else() -> None:
    example = {"request_id": "`[x](https://evil.example)@ada`\n# y", "duration_us": 1}
    finding = {"conditions": [], "sentence": "", "examples": [example]}
    coverage = {"requests": 1, "traced": 0}
    document = {"since": BEGAN, "until": ENDS, "findings": [finding], "level": 0.01, "coverage": coverage}
    lines = "\n".join(ticket(cast(TriageDocument, document))).splitlines()
    assert "- `[x](https://evil.example)@ada\\n# y`: 1 µs" in lines
