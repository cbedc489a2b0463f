"""Every question over HTTP gives the document of the command line, and every mistake says what to change."""

import json
from collections.abc import Iterator

import pytest
from api_ran import Run
from fastapi.testclient import TestClient
from web_client import client

from quiclens_web.api.settings import QuestionLimits

WINDOW = {"since": "2026-11-20T09:00:00Z", "until": "2026-11-20T12:00:00Z"}


@pytest.fixture(scope="module")
def web(store_url: str) -> Iterator[TestClient]:
    with client(store_url) as made:
        yield made


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("/api/v1/requests?limit=3", ["slow", "--limit", "3"]),
        ("/api/v1/requests?by=carrier&limit=1", ["slow", "--by", "carrier", "--limit", "1"]),
        ("/api/v1/requests?where=carrier=acme&min_ms=100", ["slow", "--where", "carrier=acme", "--min-ms", "100"]),
        ("/api/v1/requests/aa11bb22/4", ["explain", "aa11bb22/4"]),
        ("/api/v1/requests/req-4", ["explain", "req-4"]),
        ("/api/v1/reports/tail?by=carrier", ["report", "tail", "--by", "carrier"]),
        ("/api/v1/reports/tail?without=loss_recovery", ["report", "tail", "--without", "loss_recovery"]),
        ("/api/v1/reports/rtt", ["report", "rtt"]),
        ("/api/v1/reports/rtt?of=requests&by=protocol", ["report", "rtt", "--of", "requests", "--by", "protocol"]),
        ("/api/v1/reports/loss?by=region", ["report", "loss", "--by", "region"]),
        (
            "/api/v1/reports/handshake?by=hour&time_zone=Asia/Kolkata",
            ["report", "handshake", "--by", "hour", "--time-zone", "Asia/Kolkata"],
        ),
        ("/api/v1/reports/goodput", ["report", "goodput"]),
        ("/api/v1/reports/closes?by=region", ["report", "closes", "--by", "region"]),
        ("/api/v1/reports/misrouted?by=cluster,server", ["report", "misrouted", "--by", "cluster,server"]),
        ("/api/v1/reports/restarts?by=since_start", ["report", "restarts", "--by", "since_start"]),
        ("/api/v1/reports/races?by=carrier", ["report", "races", "--by", "carrier"]),
    ],
)
def test_the_document_is_that_of_the_command_line(web: TestClient, run: Run, path: str, command: list[str]) -> None:
    answer = web.get(path)
    assert answer.status_code == 200
    assert answer.json() == json.loads(run(*command, "--json").out)


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/api/v1/requests?where=nope=1", 422, "no column 'nope'"),
        ("/api/v1/requests?where=carrier", 422, "duration_us>=1s"),
        ("/api/v1/requests?since=yesterday", 422, "RFC 3339"),
        ("/api/v1/requests?limit=0", 422, "limit"),
        ("/api/v1/requests?min_ms=nan", 422, "min_ms"),
        ("/api/v1/requests/none", 404, "no request"),
        ("/api/v1/over-time?since=2026-11-20T12:00:00Z&until=2026-11-20T10:00:00Z", 422, "before until"),
        ("/api/v1/over-time?since=2020-01-01T00:00:00Z&step_s=1", 422, "longer steps"),
        ("/api/v1/connections/none", 404, "no trace"),
        ("/api/v1/connections/aa11bb22?vantage=network", 404, "no trace"),
        ("/api/v1/reports/none", 404, "tail"),
        ("/api/v1/reports/rtt?without=pto", 422, "tail"),
        ("/api/v1/reports/rtt?of=streams", 422, "requests"),
        ("/api/v1/different?attributes=path", 422, "carrier"),
        ("/api/v1/requests?since=1h&until=2020-01-01T00:00:00Z", 422, "as long before until is 2019-12-31T23:00:00Z"),
        ("/api/v1/reports/tail?since=2020-01-02&until=2020-01-01", 422, "give since before until"),
        ("/api/v1/requests?by=a,b,c,d,e", 422, "by"),
        ("/api/v1/requests?by=carrier&after=WzEsImEiLCIiLDBd", 422, "after"),
    ],
)
def test_a_mistake_is_a_document_that_says_what_to_change(web: TestClient, path: str, status: int, says: str) -> None:
    answer = web.get(path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert set(problem) == {"type", "title", "status", "detail", "instance", "code", "hint"}
    assert problem["status"] == status and problem["type"] == f"/api/docs#{problem['code']}"
    assert says in problem["detail"] + problem["hint"]
    assert "SELECT" not in answer.text and "--" not in problem["detail"]


def test_over_time_counts_every_request_once(web: TestClient) -> None:
    whole = web.get("/api/v1/over-time", params=WINDOW).json()
    assert sum(whole["series"][0]["requests"]) == 4
    by = web.get("/api/v1/over-time", params={**WINDOW, "by": "carrier"}).json()
    assert {one["group"]["carrier"]: sum(one["requests"]) for one in by["series"]} == {"acme": 2, "zeta": 2}
    acme = next(one for one in by["series"] if one["group"]["carrier"] == "acme")
    largest = web.get("/api/v1/over-time", params={**WINDOW, "by": "carrier", "groups": 1}).json()
    # Of two alike the first by name; all others are the last.
    assert [one["group"] for one in largest["series"]] == [{"carrier": "acme"}, {}]
    assert [sum(one["requests"]) for one in largest["series"]] == [2, 2]
    assert largest["coverage"] == by["coverage"] == whole["coverage"]
    spent = web.get("/api/v1/spent-over-time", params=WINDOW).json()
    assert spent["requests"] == whole["series"][0]["requests"] and spent["coverage"] == whole["coverage"]
    assert sum(spent["cause_us"]["loss_recovery"]) == 412_000
    assert acme["p50"] == [41_000] and acme["p99"] == [None]


def test_cells_of_the_heat_map_hold_every_measured_request(web: TestClient) -> None:
    heat = web.get("/api/v1/heat", params=WINDOW).json()
    assert sum(heat["requests"]) == 4
    assert all(low < high for low, high in zip(heat["from_us"], heat["to_us"], strict=True))


def test_a_connection_is_found_by_any_of_its_ids(web: TestClient) -> None:
    own, alias = (web.get(f"/api/v1/connections/{name}").json() for name in ("aa11bb22", "C0FFEE99"))
    assert own == alias
    assert [each["vantage"] for each in own["traces"]] == ["server", "client"]
    assert own["connection"]["header"] == {"qlog_version": "0.3"}


def test_stops_and_recoveries_are_summed(web: TestClient) -> None:
    found = web.get("/api/v1/connections/aa11bb22/recovery").json()
    assert {each["kind"]: each["total_us"] for each in found["kinds"]} == {"repair": 412_000, "pto": 800_000}
    assert web.get("/api/v1/connections/aa11bb22/blocked").json()["kinds"] == []


def test_streams_carry_parts_that_add_up(web: TestClient) -> None:
    for stream in web.get("/api/v1/connections/aa11bb22/streams").json()["streams"]:
        assert sum(part["us"] for part in stream["parts"]) == stream["duration_us"]


@pytest.mark.parametrize(
    ("asked", "seqs"),
    [
        ({}, [5, 6, 7, 8, 10, 11, 12]),
        ({"text": "LOST"}, [10]),
        ({"name": "quic:packet_lost"}, [10]),
        ({"name": "packet_lost"}, [10]),
        ({"name": "Packet lost"}, [10]),
        ({"name": "recovery:packet_lost"}, [10]),
        ({"name": "transport:packet_lost"}, [10]),
        ({"name": "recovery:metric_update"}, [11]),
        ({"text": "packet lost"}, [10]),
        ({"text": "packet_lost"}, [10]),
        ({"text": "recovery:packet_lost"}, [10]),
        ({"text": "time threshold"}, [10]),
        ({"packet_number": 17, "way": "sent"}, [8, 10]),
        ({"packet_number": 17, "way": "received"}, []),
        ({"way": "received"}, [5, 6]),
        ({"stream_id": 4}, [5, 6, 8, 10]),
        ({"stream_id": 4, "text": "lost"}, [10]),
        ({"stream_id": 0}, [7]),
        ({"packet_number": 17}, [8, 10]),
        ({"from_us": 120_000, "to_us": 200_000}, [7, 8]),
        ({"first_seq": 11}, [11, 12]),
        ({"text": "recovery"}, [11, 12]),
    ],
)
def test_events_are_searched(web: TestClient, asked: dict[str, str | int], seqs: list[int]) -> None:
    found = web.get("/api/v1/connections/aa11bb22/events", params=asked).json()
    assert [event["seq"] for event in found["events"]] == seqs
    assert found["next_seq"] is None


def test_a_loss_has_what_its_packet_carried(web: TestClient) -> None:
    (lost,) = web.get("/api/v1/connections/aa11bb22/events", params={"text": "lost"}).json()["events"]
    (sent,) = web.get(
        "/api/v1/connections/aa11bb22/events", params={"packet_number": 17, "name": "quic:packet_sent"}
    ).json()["events"]
    assert lost["carried"] == sent["frames"] and lost["carried"][1]["stream_id"] == 4


def test_events_come_in_pages_without_gap_or_overlap(web: TestClient) -> None:
    seqs: list[int] = []
    following: int | None = 0
    while following is not None:
        page = web.get("/api/v1/connections/aa11bb22/events", params={"limit": 3, "first_seq": following}).json()
        seqs += [event["seq"] for event in page["events"]]
        following = page["next_seq"]
    assert seqs == [5, 6, 7, 8, 10, 11, 12]


def test_series_have_every_event_while_they_are_few(web: TestClient) -> None:
    series = web.get("/api/v1/connections/aa11bb22/series").json()
    assert series["exact"] and series["events"] == 7
    assert series["packets"]["seq"] == [5, 6, 7, 8]
    assert series["metrics"]["congestion_window"] == [12_000]
    assert series["marks"]["name"] == ["quic:packet_lost", "quic:congestion_state_updated"]


def test_a_question_that_takes_too_long_says_so(store_url: str) -> None:
    with client(store_url, limits=QuestionLimits(seconds=0.000_001)) as impatient:
        answer = impatient.get("/api/v1/requests")
    assert answer.status_code == 504
    assert answer.json()["code"] == "too_slow"


def test_the_description_can_be_read(web: TestClient) -> None:
    described = web.get("/api/openapi.json").json()
    for path, methods in described["paths"].items():
        for operation in methods.values():
            assert operation["summary"] and operation["description"], path
            for parameter in operation.get("parameters", []):
                assert parameter["in"] != "query" or "schema" in parameter


def test_an_answer_that_is_still_the_same_is_not_sent_again(web: TestClient) -> None:
    first = web.get("/api/v1/requests")
    tag = first.headers["etag"]
    again = web.get("/api/v1/requests", headers={"If-None-Match": f'"other", {tag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    other = web.get("/api/v1/requests?limit=1", headers={"If-None-Match": tag})
    assert other.status_code == 200 and other.headers["etag"] != tag and other.json() != first.json()


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("where", [[], ["coverage!=none"]])
def test_pages_of_requests_are_the_whole_list_each_request_once(web: TestClient, limit: int, where: list[str]) -> None:
    """Also of requests that took equally long, and of those whose duration is not known, which come last."""
    whole = web.get("/api/v1/requests", params={"limit": 1000, "where": where}).json()
    assert whole["next"] is None and len(whole["requests"]) >= 3
    found, after = [], ""
    for _ in range(1000):
        page = web.get("/api/v1/requests", params={"limit": limit, "where": where, "after": after}).json()
        assert page["coverage"] == whole["coverage"]
        found += page["requests"]
        after = page["next"]
        if after is None:
            break
        assert len(page["requests"]) == limit
    assert found == whole["requests"]
    assert len({each["request_id"] for each in found}) == len(found)


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "bnVsbA",
        "WzEsMl0",
        "W1tbW1tb",
        "WzEsIlx1ZDgwMCJd",
        "Wy0xLCJhIl0",
        "WzFlOTksImEiXQ",
        "W10",
        "€",
        "W3RydWUsImEiXQ",
    ],
)
def test_what_is_no_cursor_is_refused(web: TestClient, cursor: str) -> None:
    answer = web.get("/api/v1/requests", params={"after": cursor})
    assert answer.status_code == 422 and "cursor" in answer.json()["detail"], answer.text
