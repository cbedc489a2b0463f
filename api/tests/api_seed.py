"""Handmade rows: small enough to know every answer by heart."""

from typing import Any

from quiclens_schema.catalogue import CAUSES

DAY, AT = "2026-11-20", "2026-11-20 10:00:00.000000"
A, UNDATED, FAILED = "aa11bb22", "t-5d0f", "dead01"
SERVER = {"connection_id": A, "vantage": "server", "trace_id": "1" * 16}
CLIENT = {"connection_id": A, "vantage": "client", "trace_id": "2" * 16}
OLD = {"connection_id": UNDATED, "vantage": "server", "trace_id": "3" * 16}
NEVER = {"connection_id": FAILED, "vantage": "server", "trace_id": "4" * 16}

Row = dict[str, Any]


def parts(**causes: int) -> Row:
    return {f"{cause}_us": causes.get(cause, 0) for cause in CAUSES}


def connection(name: Row, **more: Any) -> Row:
    row = {
        **name,
        "version": 1,
        "analysis_version": 1,
        "trace_day": DAY,
        "started_at": AT,
        "duration_us": 2_000_000,
        "complete": True,
        "source_file": "a.qlog",
        "serialization": "contained",
        "header": '{"qlog_version":"0.3"}',
        "time_unit": "ms",
        "unit_rule": "time=ms rtt=ms delay=ms pacing=bit/s",
        "dialect": "aioquic",
        "stack": "aioquic",
        "events_seen": 40,
        "events_kept": "all",
        "event_probability": 1,
        "trace_probability": 1,
        "handshake_complete": True,
        "requests": 3,
        "packets_sent": 30,
    }
    return row | more


def stream(name: Row, stream_id: int, start_us: int, causes: Row, **more: Any) -> Row:
    duration_us = sum(causes.values())
    row = {
        **name,
        "stream_id": stream_id,
        "version": 1,
        "analysis_version": 1,
        "trace_day": DAY,
        "started_at": AT,
        "start_us": start_us,
        "end_us": start_us + duration_us,
        "start_is": "observed",
        "end_is": "acked",
        "complete": True,
        "duration_us": duration_us,
        "method": "GET",
        "path": f"/{stream_id}",
        "status": 200,
        "request_bytes": 100,
        "response_bytes": 50_000,
    }
    return row | causes | more


def request(request_id: str, name: Row | None, duration_us: int | None, **more: Any) -> Row:
    place: Row = {}
    if name is not None:
        place = {**name, "stream_id": int(request_id.rpartition("/")[2])}
    row = {
        "request_id": request_id,
        "started_hour": "2026-11-20 10:00:00",
        "started_at": AT,
        **place,
        "source": "log",
        "link": "id" if name else "none",
        "coverage": "full" if name else "none",
        "weight": 1,
        "complete": True,
        "duration_us": duration_us,
    }
    row |= more
    return {**row, "trace_weight": row["weight"] if name else 0}


LOSSY = parts(server_think=100_000, loss_recovery=412_000, network=80_000, queueing=48_000)
QUICK = parts(server_think=1_000, network=40_000)
OPEN = parts(pto=700_000, server_think=300_000)
THINKING = parts(upload=10, server_think=49_364, network=500)


def event(seq: int, time_us: int, name: str, **more: Any) -> Row:
    return {**SERVER, "seq": seq, "trace_day": DAY, "time_us": time_us, "name": name} | more


def frames(*frame: tuple[str, int, int, int, int]) -> Row:
    columns = ("frame_type", "stream_id", "offset", "length", "fin")
    empty = {f"frames.{name}": [0] * len(frame) for name in ("maximum", "ack_delay_us", "ack_ranges")}
    shapes = {"frames.shape": [""] * len(frame)}
    return {f"frames.{name}": [one[i] for one in frame] for i, name in enumerate(columns)} | empty | shapes


TABLES: dict[str, list[Row]] = {
    "connections": [
        connection(
            SERVER,
            packets_lost=2,
            packets_lost_data=2,
            packets_spurious=1,
            ptos=1,
            rtt_mean_us=80_000,
            open_episodes='["idle"]',
            rtt_histogram={"570": 30, "580": 10},
            rtt_samples=40,
        ),
        connection(CLIENT, events_seen=90, rtt_histogram={"600": 99}),
        connection(OLD, started_at=None, trace_day="1970-01-01", stack="mvfst", requests=1, rtt_histogram={"500": 4}),
        connection(
            NEVER, handshake_complete=False, requests=0, packets_sent=3, carrier="acme", region="south", server="edge1"
        ),
    ],
    "streams": [
        stream(SERVER, 0, 1_000, QUICK),
        stream(
            SERVER,
            4,
            100_000,
            LOSSY,
            packets_lost=2,
            detection_us=152_000,
            rtt_us=80_000,
            min_rtt_us=78_000,
            inferred=["queueing"],
            cannot_show=["scheduling", "amplification"],
            saves={"loss_recovery": 400_000},
            overlapping={"loss_recovery": 412_000},
        ),
        stream(SERVER, 8, 900_000, OPEN, complete=False, end_is="trace_end"),
        stream(CLIENT, 4, 100_000, parts(remote_wait=640_000)),
        stream(OLD, 8, 0, THINKING, method=None, path=None, status=None, started_at=None, trace_day="1970-01-01"),
    ],
    "episodes": [
        {
            **SERVER,
            "kind": "repair",
            "stream_id": 4,
            "first_seq": 10,
            "last_seq": 20,
            "version": 1,
            "analysis_version": 1,
            "trace_day": DAY,
            "start_us": 200_000,
            "end_us": 612_000,
            "trigger": "time_threshold",
            "packet_number": 17,
            "bytes": 1_200,
            "count": 1,
            "detection_us": 152_000,
            "wait_us": 153_000,
        },
        {
            **SERVER,
            "kind": "pto",
            "stream_id": -1,
            "first_seq": 30,
            "last_seq": 34,
            "version": 1,
            "analysis_version": 1,
            "trace_day": DAY,
            "start_us": 1_000_000,
            "end_us": 1_800_000,
            "count": 3,
            "wait_us": 200_000,
        },
    ],
    "events": [
        event(5, 90_000, "quic:packet_received", **frames(("stream", 4, 0, 100, 1))),
        event(
            6, 100_000, "quic:packet_received", packet_number=9, **frames(("stream", 4, 0, 100, 1), ("ack", 0, 0, 0, 0))
        ),
        event(7, 120_000, "quic:packet_sent", packet_number=12, **frames(("stream", 0, 0, 900, 0))),
        event(
            8,
            200_000,
            "quic:packet_sent",
            packet_number=17,
            packet_bytes=1_250,
            **frames(("ack", 0, 0, 0, 0), ("stream", 4, 0, 1_200, 0)),
        ),
        event(10, 352_000, "quic:packet_lost", packet_number=17, trigger="time_threshold"),
        event(11, 353_000, "quic:recovery_metrics_updated", congestion_window=12_000),
        event(12, 353_500, "quic:congestion_state_updated", new_state="recovery"),
    ],
    "connection_aliases": [
        {**SERVER, "alias": "c0ffee99", "role": "dcid", "version": 1, "trace_day": DAY},
    ],
    "rejects": [
        {"source": "1" * 16, "offset": 9, "reason": "truncated", "trace_id": "1" * 16},
        {"source": "9" * 16, "offset": 0, "reason": "not_a_log", "trace_id": ""},
    ],
    "requests": [
        request(
            f"{A}/0",
            SERVER,
            41_000,
            top_cause="network",
            top_cause_us=40_000,
            carrier="acme",
            region="north",
            method="GET",
            path="/0",
            status=200,
            saves={"upload": 20_000},
            **QUICK,
        ),
        request(
            f"{A}/4",
            SERVER,
            640_000,
            logged_duration_us=655_000,
            external_id="req-4",
            top_cause="loss_recovery",
            top_cause_us=412_000,
            carrier="acme",
            region="south",
            method="GET",
            path="/4",
            status=200,
            saves={"loss_recovery": 400_000, "server_think": 100_000},
            cannot_show=["scheduling", "amplification"],
            **LOSSY,
        ),
        request(
            f"{A}/8",
            SERVER,
            1_000_000,
            coverage="partial",
            complete=False,
            top_cause="pto",
            top_cause_us=700_000,
            carrier="zeta",
            region="north",
            method="GET",
            path="/8",
            **OPEN,
        ),
        request(
            f"{UNDATED}/8",
            OLD,
            49_874,
            started_at=None,
            started_hour="1970-01-01 00:00:00",
            source="stream",
            link="none",
            top_cause="server_think",
            top_cause_us=49_364,
            weight=2.5,
            **THINKING,
        ),
        request(
            "log:0f0f/128",
            None,
            77_000,
            logged_duration_us=77_000,
            external_id="it's/9",
            protocol="h3",
            carrier="zeta",
            started_at="2026-11-20 11:30:00.000000",
            started_hour="2026-11-20 11:00:00",
        ),
    ],
}
