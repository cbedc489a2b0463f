"""Sentences by table: facts in, words out."""

import pytest
from quiclens_schema.catalogue import CAUSES

from quiclens_questions.logged import logged_facts
from quiclens_questions.sentence import CAUSE_WORDS, Facts, _rate, sentence, untraced

MS = 1_000
TABLE = [
    (
        Facts(
            640 * MS, (("server_think", 100 * MS), ("loss_recovery", 412 * MS)),
            packets_lost=2, detection_us=152 * MS, rtt_us=80 * MS,
        ),
        "Slow because two lost packets had to be repaired: 412 ms of 640 ms; detection took 1.9 RTT.",
    ),
    (
        Facts(49_874, (("upload", 10), ("server_think", 49_364), ("network", 500))),
        "Slow because the application took 49.4 ms of 49.9 ms to answer.",
    ),
    (
        Facts(50 * MS, (("server_think", 48 * MS), ("network", 2 * MS)), cannot_show=("scheduling", "receiving")),
        "Slow because the application took 48.0 ms of 50.0 ms to answer; or the answer was ready and other streams "
        "went first: this log does not tell which.",
    ),
    (
        Facts(900 * MS, (("pto", 700 * MS), ("network", 200 * MS)), probes=1, probe_wait_us=200 * MS, rtt_us=80 * MS),
        "Slow because nothing came back and the sender had to probe the silence: 700 ms of 900 ms; one probe sent, "
        "the first after 2.5 RTT; then the round trip, 200 ms.",
    ),
    (
        Facts(
            410_612, (("cwnd_blocked", 300_000), ("network", 80_000)),
            congestion_window=12_320, response_bytes=50_000,
        ),
        "Slow because the congestion window was full and data was waiting: 300 ms of 411 ms; the window was "
        "12.3 kB in its longest wait, for a response of 50.0 kB.",
    ),
    (
        Facts(421 * MS, (("cwnd_blocked", 205 * MS), ("network", 209 * MS)), min_rtt_us=209 * MS),
        "Its largest part is the round trip itself: 209 ms of 421 ms; minimum RTT 209 ms; then the full congestion "
        "window, 205 ms.",
    ),
    (
        Facts(322 * MS, (("unattributed", 322 * MS),), complete=False, end_is="last_event", vantage="client"),
        "Its end is not in this log; over 322 ms, it waited mostly because of something this log does not show: "
        "322 ms of that.",
    ),
    (
        Facts(3130 * MS, (("remote_wait", 3130 * MS),), complete=False, end_is="trace_end", vantage="client"),
        "Still open when the trace ended, after 3.13 s, mostly because of the wait for the first byte, and the "
        "client's log cannot tell whether server or path held it: 3.13 s of that.",
    ),
    (
        Facts(81 * MS, (("queueing", 1 * MS), ("network", 80 * MS)), min_rtt_us=80 * MS),
        "Nothing held it up but the round trip itself: 80.0 ms of 81.0 ms; minimum RTT 80.0 ms.",
    ),
    (
        Facts(10 * MS, (("unattributed", 10 * MS),), cannot_show=("pto", "loss_recovery")),
        "This log cannot say why: 10.0 ms of 10.0 ms have no cause that it shows; it cannot show pto, loss_recovery, "
        "and `quiclens check` says what to switch on.",
    ),
    (
        Facts(640 * MS, (("loss_recovery", 412 * MS),), complete=False, packets_lost=1),
        "Still open when the trace ended, after 640 ms, mostly because a lost packet had to be repaired: "
        "412 ms of that.",
    ),
    (
        Facts(2_984 * MS, (("stream_flow_control", 2_484 * MS), ("network", 500 * MS)), credit_stalls=10),
        "Slow because the peer's flow control credit for this stream was used up: 2.48 s of 2.98 s; it ran out ten "
        "times, and new credit takes a round trip.",
    ),
    (
        Facts(500 * MS, (("handshake", 400 * MS), ("network", 90 * MS)), zero_rtt="rejected"),
        "Slow because it came in 0-RTT and could not be read before the handshake had its keys: 400 ms of 500 ms; its "
        "0-RTT was rejected, so it had to be sent again.",
    ),
    (
        Facts(500 * MS, (("amplification", 300 * MS), ("network", 90 * MS)), limit_stops=1),
        "Slow because the server may send only three times what it received until the client's address is proven: "
        "300 ms of 500 ms; it stopped once, until the client's next packet.",
    ),
    (
        Facts(500 * MS, (("scheduling", 300 * MS), ("network", 90 * MS)), other_requests=2),
        "Slow because other streams of the connection were sent first: 300 ms of 500 ms; it shared the connection with "
        "two other requests.",
    ),
    (
        Facts(900 * MS, (("bandwidth", 800 * MS), ("network", 90 * MS)), response_bytes=100_000, sending_us=800 * MS),
        "Slow because the path was full and a larger window would have bought nothing: 800 ms of 900 ms; 100 kB went "
        "out at 1 Mbit/s.",
    ),
    (
        Facts(900 * MS, (("pacing", 800 * MS), ("network", 90 * MS)), response_bytes=100_000, sending_us=800 * MS),
        "Slow because the pacer held packets back that the window would have let go: 800 ms of 900 ms; 100 kB went "
        "out at 1 Mbit/s.",
    ),
    (
        Facts(900 * MS, (("app_limited", 800 * MS),), pauses=2, longest_pause_us=500 * MS),
        "Slow because the application was slow to produce the rest of its response: 800 ms of 900 ms; it paused twice, "
        "500 ms at the longest.",
    ),
    (
        Facts(900 * MS, (("pto", 700 * MS),), probes=1, probes_needless=True),
        "Slow because nothing came back and the sender had to probe the silence: 700 ms of 900 ms; one probe sent, "
        "though what was sent before had arrived.",
    ),
    (
        Facts(640 * MS, (("loss_recovery", 412 * MS),), packets_lost=3, losses_spurious=1),
        "Slow because two lost packets had to be repaired: 412 ms of 640 ms; one more packet declared lost arrived "
        "all the same.",
    ),
    (Facts(0, ()), "It took no measurable time."),
    (
        Facts(5, (("unattributed", 5),), vantage="network"),
        "Seen from the middle of the network, where waiting looks like travelling: look at an end's trace.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "words"), TABLE)
def test_facts_become_words(facts: Facts, words: str) -> None:
    assert sentence(facts) == words


@pytest.mark.parametrize(
    ("sent", "rate"), [(123_456, "0.99 Mbit/s"), (12_430_000, "99 Mbit/s"), (12_450_000, "100 Mbit/s")]
)
def test_a_rate_has_two_digits_or_is_whole(sent: int, rate: str) -> None:
    assert _rate(sent, 1_000_000) == rate


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("complete", [True, False])
def test_every_cause_has_a_sentence(cause: str, complete: bool) -> None:
    words = sentence(Facts(640 * MS, ((cause, 412 * MS), ("network", 140 * MS)), complete=complete))
    assert cause in CAUSE_WORDS and "412 ms" in words and words.endswith(".") and "{" not in words


def test_ties_are_decided_by_the_vocabulary() -> None:
    assert "application" in sentence(Facts(20, (("server_think", 10), ("network", 10))))


@pytest.mark.parametrize(
    ("request_row", "word"),
    [
        ({}, "no request x"),
        ({"logged_duration_us": 5_000, "link": "ambiguous"}, "several streams"),
        ({"logged_duration_us": 5_000, "protocol": "h2", "link": "none"}, "came over h2"),
        ({"logged_duration_us": None, "link": "none"}, "no duration"),
    ],
)
def test_no_trace_says_why(request_row: dict[str, object], word: str) -> None:
    assert word in untraced("x", request_row)


def test_of_tcp_the_page_has_what_the_server_logged() -> None:
    row = {
        "protocol": "h2",
        "logged_duration_us": 820_000,
        "response_bytes": 50_000,
        "rtt_us": 61_000,
        "rtt_variance_us": 4_000,
        "tcp_congestion_window_packets": 10,
        "tcp_packets_lost_outstanding": 1,
        "tcp_packets_retransmitted_outstanding": 0,
    }
    assert logged_facts(row) == [
        ("protocol", "h2"),
        ("duration", "820 ms"),
        ("request, response", "unknown, 50.0 kB"),
        ("smoothed round trip", "61.0 ms, deviation 4.00 ms"),
        ("congestion window", "10 packets"),
        ("lost, not yet repaired", "1 packet"),
        ("sent again, not yet acknowledged", "0 packets"),
    ]
    assert logged_facts({"logged_duration_us": 5_000}) == [("duration", "5.00 ms")]
