"""What a server logged of a request, for when no trace speaks of it. Pure."""

from collections.abc import Mapping
from typing import Any

from quiclens_questions.units import duration, size


def logged_facts(request: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values of what the line has; TCP's figures are of its connection, when the line was written."""
    rtt, variance = request.get("rtt_us"), request.get("rtt_variance_us")
    found = (
        ("protocol", request.get("protocol")),
        ("duration", _if(request.get("logged_duration_us"), duration)),
        ("request, response", _sizes(request.get("request_bytes"), request.get("response_bytes"))),
        ("smoothed round trip", _if(rtt, duration) + (f", deviation {duration(variance)}" if variance else "")),
        ("congestion window", _packets(request.get("tcp_congestion_window_packets"))),
        ("lost, not yet repaired", _packets(request.get("tcp_packets_lost_outstanding"))),
        ("sent again, not yet acknowledged", _packets(request.get("tcp_packets_retransmitted_outstanding"))),
        ("connection", request.get("connection_id")),
    )
    return [(name, str(value)) for name, value in found if value]


def asked_facts(request: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Who asked from where, and which server answered, as far as the line or the trace says it."""
    number, offset = request.get("request_number"), request.get("offset")
    found = (
        ("external id", request.get("external_id")),
        ("user", request.get("user_hash")),
        ("app", _several(request, "app", "app_version")),
        ("device", request.get("device")),
        ("arm of an experiment", request.get("arm")),
        ("network", _several(request, "carrier", "network_type")),
        ("autonomous system", request.get("asn")),
        ("client's network", request.get("client_network")),
        ("place", _several(request, "city", "region", "country")),
        ("server", _several(request, "server", "cluster", "pop")),
        ("server's release", request.get("server_release")),
        ("host", request.get("authority")),
        (
            "on its connection",
            "" if number is None else "the first request" if number == 0 else f"after {number:,} others",
        ),
        ("line of the access log", "" if offset is None else f"at byte {offset:,} of log {request['log_id']}"),
    )
    return [(name, str(value)) for name, value in found if value]


def _several(request: Mapping[str, Any], *names: str) -> str:
    return ", ".join(str(request[name]) for name in names if request.get(name))


def _if(us: int | None, told: Any) -> str:
    return "" if us is None else str(told(us))


def _sizes(request: int | None, response: int | None) -> str:
    if request is None and response is None:
        return ""
    return ", ".join("unknown" if each is None else size(each) for each in (request, response))


def _packets(count: int | None) -> str:
    return "" if count is None else f"{count:,} packet{'' if count == 1 else 's'}"
