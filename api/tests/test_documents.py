"""The JSON documents of the contract, key by key."""

import itertools

import pytest
from api_ran import Run
from api_seed import UNDATED, A

from quiclens_questions.savings import interval_us

SLOW = {
    "request_id", "external_id", "connection_id", "stream_id", "started_at", "server", "carrier", "region", "vantage",
    "source", "method", "authority", "path", "status", "duration_us", "logged_duration_us", "top_cause", "top_cause_us",
    "coverage", "grade", "usual_us",
}  # fmt: skip
EXPLAIN = {
    "request_id", "duration_us", "logged_duration_us", "complete", "parts", "top_cause", "unattributed_us",
    "grade", "imputed_us", "bounds_us", "cannot_show", "overlapping", "sentence", "episodes", "episodes_all",
    "episodes_cut", "events", "events_all", "connection", "coverage", "siblings",
}  # fmt: skip
REPORT = {"name", "params", "columns", "rows", "samples", "groups", "groups_shown", "coverage", "warnings"}


def test_slow_lists_by_duration_and_counts_what_it_drew_from(run: Run) -> None:
    ran = run("slow", "--json")
    document = ran.document
    assert ran.code == 0 and set(document) == {"requests", "next", "values", "values_shown", "coverage"}
    assert all(set(row) == SLOW for row in document["requests"])
    ids = [row["request_id"] for row in document["requests"]]
    assert ids == [f"{A}/8", f"{A}/4", "log:0f0f/128", f"{UNDATED}/8", f"{A}/0"]
    assert document["coverage"] == {"requests": 5, "traced": 4, "repaired": 0, "damaged": 0, "weight": 6.5}
    assert document["requests"][1]["started_at"] == "2026-11-20T10:00:00.000000Z"
    assert document["requests"][2]["top_cause"] is None


def test_slow_keeps_undated_requests_out_of_a_window(run: Run) -> None:
    within = run("slow", "--since", "2026-11-20T00:00:00Z", "--json").document
    assert UNDATED + "/8" not in [row["request_id"] for row in within["requests"]]
    assert within["coverage"]["requests"] == 4
    until = run("slow", "--until", "2026-11-20T11:00:00Z", "--min-ms", "45", "--json").document
    assert [row["request_id"] for row in until["requests"]] == [f"{A}/8", f"{A}/4", f"{UNDATED}/8"]


def test_slow_says_how_old_the_newest_request_is_where_the_window_has_none(run: Run) -> None:
    ran = run("slow", "--since", "2026-11-23T00:00:00Z")
    assert ran.code == 1 and "before --since" in ran.err and "2026-11-20T11:30:00Z" in ran.err
    assert "newest" not in run("slow", "--since", "2026-11-20T00:00:00Z", "--min-ms", "99999").err


def test_slow_by_a_column_gives_the_slowest_of_each_value(run: Run) -> None:
    rows = run("slow", "--by", "carrier", "--limit", "1", "--json").document["requests"]
    assert [(row["carrier"], row["request_id"]) for row in rows] == [
        ("zeta", f"{A}/8"), ("acme", f"{A}/4"), (None, f"{UNDATED}/8"),
    ]  # fmt: skip
    other = run("slow", "--by", "link", "--limit", "1", "--json").document["requests"]
    assert {row["link"] for row in other} == {"id", "none"} and "by_value" not in other[0]


def test_explain_adds_up(run: Run) -> None:
    ran = run("explain", f"{A}/4", "--json")
    document = ran.document
    assert ran.code == 0 and set(document) == EXPLAIN
    between = interval_us("loss_recovery", 400_000, 640_000)
    assert between is not None
    unknown = {"bounds_us": None, "saves_us": None, "saves_interval_us": None}
    saved = {"bounds_us": None, "saves_us": 400_000, "saves_interval_us": between}
    assert document["parts"] == [
        {"cause": "server_think", "us": 100_000, "known": "observed", **unknown},
        {"cause": "loss_recovery", "us": 412_000, "known": "observed", **saved},
        {"cause": "queueing", "us": 48_000, "known": "inferred", **unknown},
        {"cause": "network", "us": 80_000, "known": "observed", **unknown},
    ]
    assert sum(part["us"] for part in document["parts"]) == document["duration_us"] == 640_000
    assert document["top_cause"] == "loss_recovery" and document["logged_duration_us"] == 655_000
    assert document["cannot_show"] == ["amplification", "scheduling"]
    assert [episode["kind"] for episode in document["episodes"]] == ["repair"]
    assert [event["seq"] for event in document["events"]] == [6, 8, 10, 12]
    assert document["events"][0]["frames"] == [
        {"frame_type": "stream", "stream_id": 4, "offset": 0, "length": 100, "fin": True}, {"frame_type": "ack"},
    ]  # fmt: skip
    assert document["connection"]["open_episodes"] == ["idle"]
    assert not {"header", "source_file", "version"} & set(document["connection"])
    assert document["coverage"]["coverage"] == "full" and document["coverage"]["traced"] == 1


@pytest.mark.parametrize("name", [f"{A}/4", "req-4", "c0ffee99/4", "C0FFEE99/4"])
def test_a_request_goes_by_many_names(run: Run, name: str) -> None:
    assert run("explain", name, "--json").document["request_id"] == f"{A}/4"


def test_an_open_request_says_so(run: Run) -> None:
    document = run("explain", f"{A}/8", "--json").document
    assert document["complete"] is False
    assert document["sentence"].startswith("Still open when the trace ended, after 1.00 s")


def test_a_request_without_a_trace_is_answered(run: Run) -> None:
    ran = run("explain", "log:0f0f/128", "--json")
    assert ran.code == 0 and set(ran.document) == EXPLAIN and ran.document["parts"] == []
    assert run("explain", "it's/9", "--json").document["request_id"] == "log:0f0f/128"


def test_an_unknown_request_is_a_valid_document(run: Run) -> None:
    ran = run("explain", "nobody/0", "--json")
    assert ran.code == 1 and set(ran.document) == EXPLAIN and ran.document["duration_us"] is None


@pytest.mark.parametrize(
    "words",
    [("report", "rtt"), ("report", "loss"), ("report", "rtt", "--by", "stack"), ("report", "loss", "--by", "carrier"),
     ("report", "handshake"), ("report", "goodput", "--by", "hour"),
     ("report", "closes", "--by", "hour"),
     ("report", "tail"), ("report", "tail", "--by", "carrier,region"), ("failed",), ("status",)],
)  # fmt: skip
def test_reports_have_one_shape(run: Run, words: tuple[str, ...]) -> None:
    ran = run(*words, "--json")
    document = ran.document
    members = REPORT | ({"title", "notes", "nothing", "words"} if words[0] == "report" else set())
    assert ran.code == 0 and set(document) == members and document["name"] == words[min(1, len(words) - 1)]
    assert all(set(column) == {"name", "unit"} for column in document["columns"])
    assert all(len(row) == len(document["columns"]) for row in document["rows"])
    assert set(document["coverage"]) == {"requests", "traced", "repaired", "damaged", "weight"}


def test_rtt_takes_one_trace_of_each_connection(run: Run) -> None:
    document = run("report", "rtt", "--json").document
    assert document["samples"] == 44 and document["rows"][0][-1] == 2
    client = run("report", "rtt", "--where", "vantage=client", "--json").document
    assert client["samples"] == 99


def test_loss_counts_connections_and_repairs(run: Run) -> None:
    rows = {row[0]: row for row in run("report", "loss", "--json").document["rows"]}
    assert rows["connections_with_loss"][2] == pytest.approx(1 / 3, abs=1e-5) and rows["connections_with_loss"][5] == 3
    assert rows["of_those_in_data"][2] == 1 and rows["of_those_in_handshake"][2] == 0
    assert rows["retransmission_delay_p50"][1:] == ["us", None, None, None, 1, 1]
    assert rows["losses_spurious"][2:3] + rows["losses_spurious"][5:6] == [0.5, 2]
    assert rows["connections_with_pto"][5] == 3 and rows["ptos_spurious"][2] == 0
    assert rows["lost_by_time_threshold"][2] == 1 and rows["detection_by_time_threshold_p50"][5] == 1


def test_failed_names_the_reason(run: Run) -> None:
    assert run("failed", "--json").document["rows"] == [["acme", "south", "handshake never completed", 1, 1]]


def test_status_counts_rejects_where_they_belong(run: Run) -> None:
    document = run("status", "--json").document
    rows = {(row[0], row[1], row[2]): row for row in document["rows"]}
    assert rows[(None, "aioquic", "server")][8] == {"truncated": 1}
    assert rows[(None, None, None)][8] == {"not_a_log": 1}
    assert rows[("edge1", None, None)][6] == "2026-11-20T10:00:02.000000Z"
    assert document["params"]["rejects"] == {"not_a_log": 1, "truncated": 1}


def test_the_same_question_gives_the_same_bytes(run: Run) -> None:
    for words in (("slow",), ("slow", "--by", "region"), ("explain", f"{A}/4"), ("report", "rtt", "--by", "stack")):
        first, second = (run(*words, "--json").out for _ in range(2))
        assert first == second


def test_every_human_form_prints(run: Run) -> None:
    for words in itertools.chain(
        (("slow",), ("slow", "--by", "carrier"), ("explain", f"{A}/4"), ("explain", f"{A}/8", "--events", "2")),
        (("explain", f"{UNDATED}/8"), ("explain", "log:0f0f/128"), ("failed",), ("status",), ("migrate",)),
        (("report", "rtt"), ("report", "loss", "--by", "carrier"), ("report", "rtt", "--by", "stack,vantage")),
        (("report", "tail", "--by", "carrier"), ("report", "tail", "--without", "loss_recovery", "--by", "region")),
    ):
        ran = run(*words)
        assert ran.code == 0 and ran.out.strip() and not ran.err, words
    assert "undated" in run("slow").out
    assert run("explain", f"{A}/4").out.splitlines()[2].endswith("detection took 1.9 RTT.")
    assert "not over when the trace ended: idle" in run("explain", f"{A}/4").out
    assert "without it 400 ms less (" in run("explain", f"{A}/4").out
    assert "too few samples" in run("report", "loss").out
