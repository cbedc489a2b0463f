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


def _if(us: int | None, told: Any) -> str:
    return "" if us is None else str(told(us))


def _sizes(request: int | None, response: int | None) -> str:
    if request is None and response is None:
        return ""
    return ", ".join("unknown" if each is None else size(each) for each in (request, response))


def _packets(count: int | None) -> str:
    return "" if count is None else f"{count:,} packet{'' if count == 1 else 's'}"
