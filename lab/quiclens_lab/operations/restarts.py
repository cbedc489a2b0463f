"""Zero-downtime restarts: a new process takes the sockets over and forwards what belongs to the old one's connections.

A share of the packets is lost on the hop between the two; some cannot be forwarded while the old process is not ready
yet; when it is gone, its last connections get stateless resets, which some of their clients log.
"""

import math
from collections import Counter
from typing import Any

from quiclens_lab.draws import choice, digest, fraction, whole
from quiclens_lab.networks import CARRIERS
from quiclens_lab.operations.clients import dimensions_of
from quiclens_lab.operations.fleet import RESTARTED, Host, connection_id
from quiclens_lab.operations.logs import LENGTH_US, Log, MadeScenario, client_fields, host_log
from quiclens_lab.operations.misrouting import TICK_US, drop, reset

SECOND_US = 1_000_000
RESTARTS = ((RESTARTED[0], 12 * 60 * SECOND_US), (RESTARTED[1], 32 * 60 * SECOND_US))
OLD_RELEASE, NEW_RELEASE = "2026.44.0", "2026.44.1"
DRAIN_S = 180  # for so long the old process goes on
FORWARDED_FIRST, FORWARDED_DECAY_S = 200, 45  # packets forwarded in the first second, and how slowly they get fewer
HOP_LOSS_SHARE = 0.01
NOT_READY = (5, 3, 1)  # packets that cannot be forwarded, in each of the first seconds
LEFT_BEHIND = 24  # connections of the old process that outlive it
TOLD_SHARE = 0.5  # of their clients log the reset
CLOSED_OTHERWISE = (("idle_timeout", "", 14), ("", "256", 9), ("", "267", 3))  # trigger, error code, connections


def restarts(seed: int) -> MadeScenario:
    """Two restarts, and three hosts' packets. Truth: sums of each restart, and by ten seconds since it began."""
    logs: list[Log] = []
    told: list[dict[str, Any]] = []
    for host in RESTARTED:
        began_us = next((at_us for each, at_us in RESTARTS if each == host), None)
        old = host_log(host, 0, OLD_RELEASE)
        logs.append(old)
        old_until_us = LENGTH_US if began_us is None else began_us
        _received(old, host, 0, old_until_us, seed)
        if began_us is None:
            continue
        new = host_log(host, 1, NEW_RELEASE)
        logs.append(new)
        _received(new, host, began_us, LENGTH_US, seed)
        clients, truth = _restart(host, began_us, old, new, seed)
        logs += clients
        told.append(truth)
    closed = [log for way in CLOSED_OTHERWISE for log in _closed_otherwise(*way, seed)]
    closes = {trigger or f"code {code}": number for trigger, code, number in CLOSED_OTHERWISE}
    resets_received = sum(truth["resets_received"] for truth in told)
    return MadeScenario([*logs, *closed], {"restarts": told, "closes": {**closes, "stateless_reset": resets_received}})


def _received(log: Log, host: Host, since_us: int, until_us: int, seed: int) -> None:
    for at_us in range(since_us + TICK_US, until_us, TICK_US):
        log.add(at_us, "quic:udp_datagrams_received", count=whole(2500, 3500, seed, "received", host.server, at_us))


def _restart(host: Host, began_us: int, old: Log, new: Log, seed: int) -> tuple[list[Log], dict[str, Any]]:
    bins: dict[str, Counter[int]] = {"forwarded": Counter(), "forwarded_received": Counter(), "dropped": Counter()}
    new.add(began_us, "host:restart_started", release=NEW_RELEASE)
    for second in range(DRAIN_S):
        at_us = began_us + second * SECOND_US + 900_000
        packets = max(1, round(FORWARDED_FIRST * math.exp(-second / FORWARDED_DECAY_S)))
        arrived = sum(fraction(seed, "hop", host.server, second, n) >= HOP_LOSS_SHARE for n in range(packets))
        new.add(at_us, "host:packet_forwarded", count=packets)
        old.add(at_us, "host:forwarded_packet_received", count=arrived)
        bins["forwarded"][second // 10] += packets
        bins["forwarded_received"][second // 10] += arrived
        if second < len(NOT_READY):
            new.add(at_us, "quic:packet_dropped", trigger="cannot_forward", count=NOT_READY[second])
            bins["dropped"][second // 10] += NOT_READY[second]
    new.add(began_us + DRAIN_S * SECOND_US, "host:restart_ended", release=NEW_RELEASE)
    clients: list[Log] = []
    for number in range(LEFT_BEHIND):
        at_us = began_us + (DRAIN_S + 1) * SECOND_US + whole(0, 90 * SECOND_US, seed, "left", host.server, number)
        dcid = connection_id(host, 0, seed, "left", host.server, number)
        drop(new, at_us, dcid, "connection_unknown")
        reset(new, at_us + 1, dcid, "connection_unknown")
        if fraction(seed, "told", host.server, number) < TOLD_SHARE:
            client = _client(f"{host.server} {number}", at_us - 60 * SECOND_US, seed)
            client.add(at_us + 40_000, "quic:connection_closed", owner="remote", trigger="stateless_reset")
            clients.append(client)
    return clients, {
        "server": host.server,
        "at_us": began_us,
        **{name: counts.total() for name, counts in bins.items()},
        "by_ten_seconds": {name: dict(counts) for name, counts in bins.items()},
        "resets_sent": LEFT_BEHIND,
        "resets_received": len(clients),
    }


def _closed_otherwise(trigger: str, code: str, number: int, seed: int) -> list[Log]:
    logs: list[Log] = []
    for each in range(number):
        name = f"closed {trigger}{code} {each}"
        at_us = whole(2 * 60 * SECOND_US, LENGTH_US - SECOND_US, seed, name)
        log = _client(name, at_us - 60 * SECOND_US, seed)
        why = {"trigger": trigger} if trigger else {"application_code": int(code)}
        log.add(at_us, "quic:connection_closed", owner="local", **why)
        logs.append(log)
    return logs


def _client(name: str, at_us: int, seed: int) -> Log:
    """A client's trace of a connection: one packet each way, and what is added."""
    dimensions = dimensions_of(choice(CARRIERS, seed, "carrier", name), seed, name)
    connection = digest(seed, "connection", name).hex()
    log = Log(f"clients/{connection}.sqlog", connection, "client", client_fields(dimensions))
    log.add(at_us, "quic:packet_sent", header={"packet_type": "initial", "packet_number": 0}, raw={"length": 1252})
    log.add(
        at_us + 60_000,
        "quic:packet_received",
        header={"packet_type": "initial", "packet_number": 0},
        raw={"length": 1252},
    )
    return log
