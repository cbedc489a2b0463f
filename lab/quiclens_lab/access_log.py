"""The HTTP access log beside the traces: one JSON object a line, with the column names of `request_lines`.

`time` is when the first packet of the request arrived. `duration_us` runs from there until every byte of the response
was acknowledged, or, when the trace ended before that, until its last byte was sent.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from quiclens_lab.aioquic_pair import ConnectionRun
from quiclens_lab.draws import between, digest, fraction, skewed, whole
from quiclens_lab.plan import DIMENSIONS, ConnectionPlan, RequestPlan
from quiclens_lab.server_application import Exchange

USERS_OF_A_PLACE = 60
H2_LOSSY_SHARE = 0.3  # of the lines over HTTP/2, packets were lost and not repaired when they were written

Line = dict[str, Any]


def rfc3339(epoch_us: int) -> str:
    """UTC with microseconds."""
    at = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=epoch_us)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def lines_of(run: ConnectionRun) -> list[Line]:
    """One line for each request of a connection that the server began to answer."""
    return [
        _line(run, exchange, exchange.request)
        for exchange in run.exchanges
        if exchange.request is not None and exchange.response_start_us is not None
    ]


def _line(run: ConnectionRun, exchange: Exchange, request: RequestPlan) -> Line:
    end_us = exchange.acknowledged_us or exchange.last_send_us or run.server.last_event_us
    return {
        "time": rfc3339(run.epoch_us + exchange.arrived_us),
        "time_is": "start",
        "external_id": exchange.external_id,
        **_exchange_fields(run.plan, request),
        "duration_us": end_us - exchange.arrived_us,
        "protocol": "h3",
        **_ids(run, exchange),
        "stream_id": exchange.stream_id,
        "request_number": exchange.number,
        **_client_fields(run.plan),
    }


def _ids(run: ConnectionRun, exchange: Exchange) -> Line:
    """A client that roams is logged by the id and address that the request's first packet had."""
    if exchange.came_by is None:
        return {"connection_id": run.connection_id}
    address, port = exchange.came_by.address
    return {"connection_id": exchange.came_by.connection_id, "client_address": address, "client_port": port}


def h2_line(plan: ConnectionPlan, number: int) -> Line:
    """A line of a client that came over HTTP/2, so that requests without a trace exist."""
    request = replace(plan.requests[0], request_bytes=0, method="GET")
    return {
        "time": rfc3339(plan.wall_start_us + 250_000),
        "time_is": "start",
        "external_id": digest(plan.seed, "h2", number, size=16).hex(),
        **_exchange_fields(plan, request),
        "duration_us": int(skewed(20_000, 500_000, plan.seed, "h2 duration", number)),
        "protocol": "h2",
        **_tcp_figures(plan, number),
        **_client_fields(plan),
    }


def _tcp_figures(plan: ConnectionPlan, number: int) -> Line:
    """What the kernel would have said of the connection; TCP itself is not simulated."""
    rtt_us = int(plan.path.rtt_us * between(1.02, 1.5, plan.seed, "h2 rtt", number))
    is_lossy = fraction(plan.seed, "h2 loss", number) < H2_LOSSY_SHARE
    lost = whole(1, 4, plan.seed, "h2 lost", number) if is_lossy else 0
    return {
        "rtt_us": rtt_us,
        "rtt_variance_us": int(rtt_us * between(0.05, 0.4, plan.seed, "h2 variance", number)),
        "tcp_congestion_window_packets": whole(10, 60, plan.seed, "h2 window", number),
        "tcp_packets_lost_outstanding": lost,
        "tcp_packets_retransmitted_outstanding": whole(0, lost, plan.seed, "h2 retransmitted", number),
    }


def _exchange_fields(plan: ConnectionPlan, request: RequestPlan) -> Line:
    return {
        "method": request.method,
        "authority": plan.authority,
        "path": request.path,
        "status": request.status,
        "request_bytes": request.request_bytes,
        "response_bytes": request.response_bytes,
    }


def _client_fields(plan: ConnectionPlan) -> Line:
    of_client = {name: getattr(plan.dimensions, name) for name in ("client_network", *DIMENSIONS)}
    return {**of_client, **_user_fields(plan)}


def _user_fields(plan: ConnectionPlan) -> Line:
    """Who it is: one of some users of a carrier in a city, half of them in each arm of an experiment that changes
    nothing (an A/A test)."""
    place = plan.dimensions
    if not place.city:
        return {}
    user = whole(1, USERS_OF_A_PLACE, plan.seed, "user")
    return {"user_hash": digest(user, place.carrier, place.city, size=8).hex(), "arm": "ab"[user % 2]}


def write_access_log(lines: Iterable[Line], target: Path) -> int:
    """Write the lines in the order of their time and return how many there are."""
    ordered = sorted(lines, key=lambda line: (line["time"], line["external_id"]))
    target.write_text("".join(json.dumps(line) + "\n" for line in ordered))
    return len(ordered)
