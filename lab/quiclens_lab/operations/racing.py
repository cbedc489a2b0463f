"""Clients whose app lets QUIC race TCP, and what their requests came by: where QUIC is used, and where it never is.

One carrier lets no UDP through; another has too few requests to say so. One hexagon is slow for one carrier only.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from quiclens_lab.access_log import Line, rfc3339
from quiclens_lab.draws import choice, digest, fraction, skewed, whole
from quiclens_lab.networks import CARRIERS, Carrier
from quiclens_lab.operations.clients import dimensions_of
from quiclens_lab.operations.logs import LENGTH_US, START_US, Fields, Log, MadeScenario, client_fields

TCP_DELAY_US = 100_000  # the head start that QUIC has
ATTEMPT_DELAY_US = 100_000  # happy eyeballs' timer in mvfst since 2019-08; RFC 8305 recommends 250 ms
IPV6_SHARE = {"quic": 0.65, "tcp": 0.7}
TIMER_FIRED_SHARE = 0.08
SECOND_FAMILY_SHARE = 0.75  # of those whose timer fired
LATE_SHARE = 0.4  # of the races that QUIC lost where it works at all, it came up after all
CANCELLED_SHARE = 0.3  # of these, the app gave it up when TCP had won
CLIENTS = 12  # of each carrier
RACES = (4, 10)  # of each client
SLOW_CARRIER, SLOW_CELL = "Metro Wireless", "84a8313ffffffff"
SLOW_TIMES = 5


@dataclass(frozen=True)
class Used:
    """How often QUIC wins for a carrier's clients, and how many requests it has."""

    carrier: Carrier
    quic_share: float
    requests: int


def _without_quic(name: str, asn: int, of: Carrier) -> Carrier:
    return replace(of, name=name, asn=asn, client_network="203.0.113.0/24")


_HALDEN = CARRIERS[1]
USES = (
    *(Used(carrier, share, 320) for carrier, share in zip(CARRIERS, (0.97, 0.93, 0.7, 0.9, 0.95, 0.8), strict=True)),
    Used(_without_quic("Wall Telecom", 64502, _HALDEN), 0.0, 240),
    Used(_without_quic("Little Mobile", 64503, _HALDEN), 0.0, 6),
)


def racing(seed: int) -> MadeScenario:
    """Logs of clients' apps and an access log. Truth: counts by carrier, and of families by protocol."""
    logs: list[Log] = []
    truth: dict[str, Counter[str]] = {used.carrier.name: Counter() for used in USES}
    families: dict[str, Counter[str]] = {protocol: Counter() for protocol in IPV6_SHARE}
    for used in USES:
        for number in range(CLIENTS):
            name = f"{used.carrier.name} {number}"
            dimensions = dimensions_of(used.carrier, seed, name)
            own_id = digest(seed, "client", name).hex()
            log = Log(f"apps/{own_id}.sqlog", f"client:{own_id}", "client", client_fields(dimensions))
            for race in range(whole(*RACES, seed, "races", name)):
                _race(log, used, seed, (name, race), truth[used.carrier.name], families)
            logs.append(log)
    lines = [_line(used, number, seed) for used in USES for number in range(used.requests)]
    for line in lines:
        truth[line["carrier"]]["requests"] += 1
        truth[line["carrier"]]["requests_quic"] += line["protocol"] == "h3"
    slow = {"carrier": SLOW_CARRIER, "h3_cell": SLOW_CELL, "times": SLOW_TIMES}
    told = {"carriers": {name: dict(each) for name, each in truth.items()}, "slow": slow}
    return MadeScenario(logs, {**told, "families": {name: dict(each) for name, each in families.items()}}, lines)


def _race(
    log: Log, used: Used, seed: int, labels: tuple[str, int], truth: Counter[str], families: dict[str, Counter[str]]
) -> None:
    at_us = whole(0, LENGTH_US - 2_000_000, seed, "race", *labels)
    rtt_us = used.carrier.rtt_ms[0] * 1000
    tcp_us = int(TCP_DELAY_US + skewed(2, 4, seed, "tcp", *labels) * rtt_us)
    data: Fields = {"winner": "tcp", "tcp_delay_us": TCP_DELAY_US, "tcp_us": tcp_us}
    if fraction(seed, "quic wins", *labels) < used.quic_share:
        data = {
            "winner": "quic",
            "tcp_delay_us": TCP_DELAY_US,
            "quic_us": int(skewed(1, 2, seed, "quic", *labels) * rtt_us),
        }
    else:
        truth[_lost(data, used, seed, labels)] += 1
    truth["races"] += 1
    truth["quic_won"] += data["winner"] == "quic"
    for protocol in IPV6_SHARE:
        if f"{protocol}_us" in data:
            outcome = _families(protocol, seed, labels)
            log.add(at_us + data[f"{protocol}_us"] - 1, "client:happy_eyeballs_ended", **outcome)
            families[protocol]["connections"] += 1
            families[protocol]["ipv6"] += outcome["winner"] == "ipv6"
            families[protocol]["timer_fired"] += outcome["timer_fired"]
            families[protocol]["winner_delay_us"] += outcome["winner_delay_us"]
    log.add(at_us + max(data.get("quic_us", 0), data.get("tcp_us", 0)), "client:race_ended", **data)


def _lost(data: Fields, used: Used, seed: int, labels: tuple[str, int]) -> str:
    """What became of QUIC in a race that TCP won, written into the event."""
    drawn = fraction(seed, "lost", *labels) if used.quic_share else 1
    if drawn < LATE_SHARE:
        data["quic_us"] = data["tcp_us"] + whole(1_000, 400_000, seed, "later", *labels)
        return "late"
    if drawn < LATE_SHARE + CANCELLED_SHARE:
        return "cancelled"
    data["quic_error"] = "handshake_timeout"
    return "failed"


def _families(protocol: str, seed: int, labels: tuple[str, int]) -> Fields:
    """Which family won, whether the other was tried at all, and how long after the first the winner was tried."""
    names = (protocol, *labels)
    is_fired = fraction(seed, "fired", *names) < TIMER_FIRED_SHARE
    is_second = is_fired and fraction(seed, "second", *names) < SECOND_FAMILY_SHARE
    return {
        "protocol": protocol,
        "winner": "ipv6" if fraction(seed, "family", *names) < IPV6_SHARE[protocol] else "ipv4",
        "timer_fired": is_fired,
        "winner_delay_us": ATTEMPT_DELAY_US if is_second else 0,
    }


def _line(used: Used, number: int, seed: int) -> Line:
    name = f"{used.carrier.name} request {number}"
    client: dict[str, Any] = client_fields(dimensions_of(used.carrier, seed, name))
    is_slow = (client["carrier"], client["h3_cell"]) == (SLOW_CARRIER, SLOW_CELL)
    times = SLOW_TIMES if is_slow else 1
    low, high = used.carrier.rtt_ms
    return {
        "time": rfc3339(START_US + whole(0, LENGTH_US - 1, seed, name)),
        "time_is": "start",
        "external_id": digest(seed, name, size=16).hex(),
        "method": "GET",
        "authority": "www.shop.example",
        "path": choice(("/api/search", "/api/cart", "/img/1.avif"), seed, "path", name),
        "status": 200,
        "request_bytes": 0,
        "response_bytes": int(skewed(50, 2_000_000, seed, "bytes", name)),
        "duration_us": int(skewed(low * 1500, high * 6000, seed, "duration", name)) * times,
        "protocol": "h3" if fraction(seed, "h3", name) < used.quic_share else "h2",
        **client,
    }
