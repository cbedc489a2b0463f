"""What reports are called, what their figures and intervals are, and what to say where there is nothing. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from quiclens_questions.causes import look
from quiclens_questions.closes import WAYS_AT_MOST
from quiclens_questions.documents import NamedReportDocument
from quiclens_questions.goodput import LEAST_BYTES
from quiclens_questions.report import Report

_BY_USER = "intervals: by user, else by connection"
_NO_CONNECTION = "No connections match."
_NO_HOSTS = "No host logged any: hosts say so in logs of their own (host:…)."

_FIGURES = {
    "connections_with_loss": "connections with loss",
    "of_those_in_handshake": "  of those, in the handshake",
    "of_those_in_data": "  of those, in data",
    "packets_lost": "packets lost",
    "packets_lost_in_lossy": "packets lost, of connections with loss",
    "packets_retransmitted": "packets that repeat data",
    "retransmission_delay": "delay until retransmission",
    "retransmission_delay_rtts": "  in round trips",
    "detection_delay": "delay until declared lost",
    "retransmissions": "retransmissions of one range",
    "losses_spurious": "declared lost, and arrived all the same",
    "connections_with_pto": "connections with a probe timeout",
    "ptos_spurious": "probe timeouts that were not needed",
    "detected_after_4_rtts": "declared lost after more than 4 RTT",
    "handshakes_complete": "handshakes that were completed",
    "handshake": "handshake",
    "handshake_rtts": "  in round trips",
    "connections_with_retry": "connections with a Retry",
    "with_loss_seen_by_server": "with loss, as servers saw it",
    "with_loss_seen_by_client": "with loss, as clients saw it",
    "with_loss_unseen_by_server": "  that the server did not see",
    "zero_rtt_attempted": "0-RTT attempted",
    "zero_rtt_accepted": "  of those, accepted",
    "zero_rtt_rejected": "  of those, rejected",
    "goodput": "goodput",
    "connections_with_request": "connections with a request",
    "time_idle": "  of their time, idle",
    "time_in_cwnd_blocked": "busy time with a full congestion window",
    "time_in_bandwidth": "busy time at the path's rate",
    "time_in_connection_flow_control": "busy time without flow-control credit",
    "time_in_recovery": "busy time in a recovery period",
    "time_in_pto": "busy time behind a probe timeout",
    "connections_with_outage": "connections with an outage",
    "outage": "outage, from the last send",
    "outage_recovery": "outage, from the first probe",
    "won_by_quic": "races won by QUIC",
    "quic_late": "QUIC was late",
    "quic_cancelled": "QUIC was cancelled",
    "quic_failed": "QUIC failed",
    "quic_failed_otherwise": "  with rarer errors",
    "quic": "QUIC took",
    "tcp": "TCP took",
    "tcp_delay": "QUIC's head start",
    "use_rate": "requests over QUIC",
    "sessions_all_quic": "sessions all over QUIC",
    "sessions_mixed": "sessions mixed",
    "sessions_without_quic": "sessions without QUIC",
    "mixed_began_over_tcp": "  mixed: began over TCP, and stayed with QUIC",
    "mixed_fell_back": "  mixed: fell back to TCP",
    "mixed_back_and_forth": "  mixed: went back and forth",
    "left_quic_after_failure": "  mixed: left QUIC after a failure",
    "users": "users, against the plan",
    "rtt": "RTT",
    "closes_logged": "a close was logged",
    "idle_timeouts": "idle timeout",
    "stateless_resets": "stateless reset",
    "errors": "an error",
    "ended_otherwise": "ended in rarer ways",
}
_STRATA = {
    "responses_below_4_kib": "responses below 4 KiB",
    "rtt_below_500_ms": "RTT below 500 ms",
    "later_and_rtt_below_500_ms": "later, RTT below 500 ms",
}
_OF_FAMILIES = {
    "ipv6": "ended on IPv6",
    "timer_fired": "timer fired, both families tried",
    "second_won": "the second family won",
    "added_mean": "added by the second, mean of all",
}
_TRIGGERS = {
    "inferred": "lost by what was sent again (inferred)",
    "pto": "found lost by probe timeout",
    "unknown": "found lost, the log does not say how",
}


def figure_words(figure: str) -> str:
    """In words; two blanks stand before what is a part of the figure before it."""
    if figure.startswith("quic_failed_with_"):
        return f"  with {figure.removeprefix('quic_failed_with_')}"
    name, _, quantile = figure.rpartition("_p")
    if quantile.isdigit():
        return f"{figure_words(name)}, p{quantile}"
    family, _, protocol = figure.partition("_of_")
    if family in _OF_FAMILIES:
        return f"{protocol}: {_OF_FAMILIES[family]}"
    if figure.startswith("detection_by_"):
        return "  declared lost after"
    if figure.startswith("lost_by_"):
        trigger = figure.removeprefix("lost_by_")
        return _TRIGGERS.get(trigger, f"found lost by {trigger.replace('_', ' ')}")
    return _FIGURES.get(figure, figure.replace("_", " "))  # such as p50


def stratum_words(stratum: str) -> str:
    """In words: of which requests the arms are compared."""
    return _STRATA.get(stratum, stratum.replace("_", " "))


OF_COLUMNS: Mapping[str, Callable[[str], str]] = {"figure": figure_words, "stratum": stratum_words}
"""Columns that hold names of ours, and how these are told."""


@dataclass(frozen=True)
class ReportWords:
    """A title; what is to be known of the figures and of their intervals; and what to say where there is no row."""

    title: str
    notes: tuple[str, ...] = ()
    nothing: str = _NO_CONNECTION


def words_of(report: Report) -> ReportWords:
    """Of any report that has a name in `REPORTS`."""
    words = _WORDS[report.name]
    return words if isinstance(words, ReportWords) else words(report)


def _nothing(report: Report, words: ReportWords) -> str:
    """Why there is no row: what was asked leaves nothing, or nothing of this kind was logged at all."""
    if report.coverage.get("requests") == 0:
        return "No requests match."
    return f"Of what the conditions leave: {words.nothing}" if report.params.get("where") else words.nothing


def document_in_words(report: Report) -> NamedReportDocument:
    """The document of a report, and how to show it."""
    words = words_of(report)
    told = {
        row[name]: in_words(row[name]) for row in report.dicts() for name, in_words in OF_COLUMNS.items() if name in row
    }
    return {
        **report.document(),
        "title": words.title,
        "notes": words.notes,
        "nothing": "" if report.rows else _nothing(report, words),
        "words": told,
    }


def _tail(report: Report) -> ReportWords:
    without = report.params.get("without")
    title = (
        f"Durations of traced requests, as they were and without {look(without).name}"
        if without
        else "Durations of requests"
    )
    return ReportWords(title, (f"{_BY_USER}; failed ones are no samples",), "No requests match.")


def _compare(report: Report) -> ReportWords:
    base, between = report.params["base"], report.params["between"]
    nothing = f"There are no two values of {between} to compare: log it with each request, or name another column."
    return ReportWords(f"Latency of requests that succeeded, against {between} {base}", (_BY_USER,), nothing)


def _rtt(report: Report) -> ReportWords:
    varies = any(name == "deviation" for name, _ in report.columns)
    notes = ("deviation: of a connection's samples, on average",) if varies else ()
    return ReportWords("Round trip times", (*notes, _BY_USER))


def _handshake(report: Report) -> ReportWords:
    has_clients = any(row["figure"] == "with_loss_seen_by_client" and row["samples"] for row in report.dicts())
    unseen = "a server cannot see a client's packet that never arrived, and no trace of a client is here to tell"
    return ReportWords("Handshakes", (*([] if has_clients else [unseen]), _BY_USER))


def _misrouted(report: Report) -> ReportWords:
    nothing = "No packet landed on the wrong host." if report.coverage.get("hosts") else _NO_HOSTS
    return ReportWords("Packets on the wrong host", (), nothing)


_WORDS: Mapping[str, ReportWords | Callable[[Report], ReportWords]] = {
    "tail": _tail,
    "compare": _compare,
    "rtt": _rtt,
    "loss": ReportWords("Loss and repair", (_BY_USER,)),
    "handshake": _handshake,
    "goodput": ReportWords(
        "Goodput, idle time and outages",
        (
            "goodput: stream bytes sent once, by the time that is not idle, of connections with "
            f"{LEAST_BYTES // 1000} kB",
            "outage: nothing was acknowledged until after a probe timeout; shares of busy time can overlap",
            _BY_USER,
        ),
    ),
    "coverage": ReportWords(
        "Sessions over QUIC",
        (
            "a session is a user's requests with less than half an hour between two; what mixed ones began with, and "
            "whether the request before QUIC was left had failed, are shares of those; intervals by user",
        ),
        "No request has both a user and a time, so there are no sessions (user_hash of the access log).",
    ),
    "use-rate": ReportWords(
        "Requests over QUIC",
        ("of the requests whose protocol is known; intervals by user, else by connection",),
        "No request's protocol is known.",
    ),
    "load": ReportWords(
        "Requests by size of response, and connections",
        ("means over the whole stretch, intervals by minute; the peak is the most within one second",),
        "No request has a time.",
    ),
    "grid": ReportWords(
        "Durations by implementation, round trip and loss",
        ("least round trip of the stream, lost packets of the connection; intervals by user, else by connection",),
        "No traced requests match.",
    ),
    "events": ReportWords(
        "Of all connections, by their events",
        (
            "kept connections weigh 1 / probability; connections out of reach could not have been kept, no figure "
            "speaks of them",
        ),
    ),
    "closes": ReportWords(
        "How connections ended",
        (
            f"each way in which connections ended, the {WAYS_AT_MOST} commonest; an error: by its code, else reason",
            _BY_USER,
        ),
    ),
    "misrouted": _misrouted,
    "restarts": ReportWords(
        "Packets around restarts",
        (
            "from a minute before the new process took over to five minutes after; lost between: forwarded, and not "
            "received by the old process; dropped: they could not be forwarded",
        ),
        "No restart was logged: hosts say so in logs of their own (host:…).",
    ),
    "races": ReportWords(
        "QUIC against TCP",
        (
            "late: up after TCP had won; cancelled: given up when TCP had won; each took from the race's beginning",
            "intervals: by app",
        ),
        "No app logged a race: apps say so in logs of their own (client:…).",
    ),
}
