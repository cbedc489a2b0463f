"""What is written under faults: simulated connections as records of growing files, and their access log."""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from quiclens_lab.access_log import lines_of
from quiclens_lab.draws import digest, whole
from quiclens_lab.faults_schedule import OWN_LOGS
from quiclens_lab.population import population
from quiclens_lab.strikes import run_plan
from quiclens_lab.traces import document

DOCUMENTS = 3
"""Connections whose file is one JSON document."""
HEIRS = 2
"""Connections whose file takes the inode of one that was deleted, and has its size."""
SHARED = 3
"""Connections that share one NDJSON file."""
LINED = 4
"""Connections that share one file of quiclens line v1."""
SENT = 3
"""Connections whose lines go to a socket."""
REQUESTS = 6
PACKETS = 12
ROUND_US = 400_000


@dataclass(frozen=True)
class Traffic:
    """Records in the order in which they are written: of each own file by connection id, of the shared files, and rows
    that are sent to a socket. Where many share a place, each goes on until its end: silence would end a connection."""

    own: dict[str, list[bytes]]
    documents: dict[str, list[bytes]]
    heirs: dict[str, list[bytes]]
    shared_header: bytes
    shared: list[bytes]
    lines: list[bytes]
    sent: list[bytes]
    access: list[bytes]


def make_traffic(seed: int) -> Traffic:
    """A dozen connections, about ten thousand events; the same seed gives the same bytes."""
    logging.getLogger("quic").setLevel(logging.CRITICAL)
    own: dict[str, list[bytes]] = {}
    documents: dict[str, list[bytes]] = {}
    heirs: dict[str, list[bytes]] = {}
    shared: list[tuple[float, bytes]] = []
    access: list[dict[str, Any]] = []
    for number, plan in enumerate(population(OWN_LOGS + SHARED + DOCUMENTS + HEIRS, seed)):
        run = run_plan(plan, with_client_trace=False)
        (trace,) = document(run, run.server)["traces"]
        events = trace.pop("events")
        access += lines_of(run)
        if number < OWN_LOGS:
            header = {"qlog_format": "JSON-SEQ", "qlog_version": "0.3", "trace": trace}
            own[run.connection_id] = [b"\x1e" + _line(record) for record in (header, *events)]
        elif number < OWN_LOGS + DOCUMENTS:
            documents[run.connection_id] = _document(trace, events)
        elif number < OWN_LOGS + DOCUMENTS + HEIRS:
            header = {"qlog_format": "JSON-SEQ", "qlog_version": "0.3", "trace": trace}
            heirs[run.connection_id] = [b"\x1e" + _line(record) for record in (header, *events)]
        else:
            records = [_line({**each, "group_id": run.connection_id}) for each in events]
            shared += [(at / len(records), record) for at, record in enumerate(records)]
    shared.sort(key=lambda each: each[0])
    trace = {"vantage_point": {"type": "server"}, "common_fields": {"server": "edge-shared-01"}}
    return Traffic(
        own=own,
        documents=documents,
        heirs=heirs,
        shared_header=_line({"qlog_format": "NDJSON", "qlog_version": "0.3", "trace": trace}),
        shared=[record for _, record in shared],
        lines=_merged(seed, range(LINED)),
        sent=_merged(seed, range(LINED, LINED + SENT)),
        access=[_line(line) for line in sorted(access, key=lambda line: (line["time"], line["external_id"]))],
    )


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _document(trace: dict[str, Any], events: list[dict[str, Any]]) -> list[bytes]:
    """One JSON document in pieces of a line for each record."""
    head = json.dumps({"qlog_version": "0.3", "qlog_format": "JSON", "traces": [{**trace, "events": []}]})
    lines = [json.dumps(event).encode() for event in events]
    opened = head.removesuffix("]}]}").encode() + b"\n"
    return [opened, *(line + b",\n" for line in lines[:-1]), lines[-1] + b"]}]}\n"]


def _merged(seed: int, numbers: range) -> list[bytes]:
    return [row for _, row in sorted(row for number in numbers for row in _rows(seed, number))]


def _rows(seed: int, number: int) -> Iterator[tuple[int, bytes]]:
    """One connection in quiclens line v1: requests one after the other, each answered in a flight, some with a loss."""
    # One of them has an id of decimal digits alone, which is not to be taken for a time.
    connection_id = f"{whole(10**15, 10**16 - 1, seed, number)}" if number == 0 else digest(seed, "line", number).hex()
    start_us = 1_795_168_800_000_000 + number * 7_000
    facts = [(0, "clock_anchor", f"{start_us}, edge-line-01, 77, server")]
    for request in range(REQUESTS):
        facts += _exchange(4 * request, 1_000 + request * ROUND_US, PACKETS * request, is_lossy=request % 3 == 2)
    for seq, (time_us, name, value) in enumerate(facts):
        yield number * 7_000 + time_us, f"{connection_id}\t{seq}\t{time_us}\t{name}\t{value}\n".encode()


def _exchange(stream: int, begin_us: int, packet: int, is_lossy: bool) -> Iterator[tuple[int, str, str]]:
    """Request, think, a flight of packets, its acknowledgements a round trip later, and at most one repair."""
    yield begin_us, "packet_recvd", f"{packet}, 300"
    yield begin_us + 10, "stream_event", f"on_headers, {stream}, 0"
    yield begin_us + 12, "stream_event", f"on_eom, {stream}, 0"
    yield begin_us + 30_000, "stream_event", f"headers, {stream}, 30"
    yield begin_us + 30_010, "stream_event", f"eom, {stream}, 30"
    for each in range(PACKETS - 1):
        yield begin_us + 30_100 + 10 * each, "packet_sent", f"AppDataSpace, {packet + each}, 1232, 0, 0, 0"
    acked_us = begin_us + 110_000
    for each in range(PACKETS - 1):
        if not (is_lossy and each == 3):
            yield acked_us + each, "packet_acked", f"AppDataSpace, {packet + each}"
    yield acked_us + 50, "update_rtt", f"{79_900 + packet}, 0, 79900, 80000"
    yield acked_us + 55, "cubic_ack", f"Hystart, {14_784 + packet}, 1232, 0"
    if is_lossy:
        yield acked_us + 60, "packets_lost", f"{packet + 3}, 1232, 1"
        yield acked_us + 70, "packet_sent", f"AppDataSpace, {packet + PACKETS - 1}, 1232, 0, 0, 0"
        yield acked_us + 80_070, "packet_acked", f"AppDataSpace, {packet + PACKETS - 1}"
