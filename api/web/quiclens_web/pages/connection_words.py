"""What pages say of a connection in words. Pure."""

from collections import defaultdict
from typing import Any

from quiclens_questions.units import duration

Row = dict[str, Any]

# RFC 9368; RFC 9369, 3.1. Others are told as they are written.
_VERSIONS = {"1": "1", "6b3343cf": "2"}


def connection_about(trace: Row) -> list[str]:
    """A connection in a few words, for the line under its title."""
    started = trace["started_at"]
    words = [
        f"{trace['vantage']}'s log" if trace["vantage"] else "",
        trace["stack"],
        trace["congestion_controller"],
        *(trace[name] for name in ("carrier", "region", "server")),
        duration(trace["duration_us"]),
        f"{trace['requests']} requests",
        f"{trace['events_seen']:,} events" + ("" if trace["events_kept"] != "none" else ", not kept"),
        "" if trace["complete"] else "cut",
        f"{started:%Y-%m-%d %H:%M:%S} UTC" if started else "undated",
    ]
    return [str(word) for word in words if word]


def connection_facts(connection: Row) -> list[tuple[str, str]]:
    """What a request's page says of its connection."""
    connection = defaultdict(lambda: None, connection)  # an explanation leaves out what is not known
    sent = connection["packets_sent"] or 0
    lost = connection["packets_lost"] or 0
    facts = (
        ("connection", connection["connection_id"]),
        ("stack", _stack(connection["stack"], connection["stack_version"])),
        ("version of QUIC", _VERSIONS.get(connection["quic_version"], connection["quic_version"])),
        ("server's release", connection["server_release"]),
        ("congestion controller", connection["congestion_controller"]),
        ("handshake", duration(connection["handshake_us"]) if connection["handshake_us"] is not None else ""),
        ("0-RTT", connection["zero_rtt"]),
        ("round trip", _rtt(connection)),
        (
            "packets",
            f"{sent:,} sent, {connection['packets_received'] or 0:,} received, {lost:,} lost"
            + (f" ({lost / sent:.1%})" if sent else ""),
        ),
        ("declared lost, but arrived", f"{connection['packets_spurious']:,}" if connection["packets_spurious"] else ""),
        ("silences that were probed", f"{connection['ptos']:,}" if connection["ptos"] else ""),
        ("migrations", str(connection["migrations"]) if connection["migrations"] else ""),
        (
            "closed",
            " ".join(
                str(connection[name]) for name in ("close_owner", "close_reason", "close_code") if connection[name]
            ),
        ),
        ("requests on it", str(connection["requests"])),
    )
    return [(name, str(value)) for name, value in facts if value]


def _stack(name: str | None, version: str | None) -> str:
    if name and version and version.startswith(name):
        return version
    return " ".join(each for each in (name, version) if each)


def _rtt(connection: Row) -> str:
    if connection["rtt_min_us"] is None:
        return ""
    mean = connection["rtt_mean_us"]
    return (
        f"{duration(connection['rtt_min_us'])} least, {duration(mean)} mean, {duration(connection['rtt_max_us'])} most"
    )
