"""Packets that land on another host than their connection id names: 3 % of one cluster's, in another cluster.

Beside them stand packets of dead connections, which land where they should and find nobody: the wrong first suspicion.
"""

from collections import Counter

from quiclens_lab.draws import choice, fraction, whole
from quiclens_lab.operations.fleet import AMERICA, ASIA, EUROPE, Host, connection_id
from quiclens_lab.operations.logs import LENGTH_US, Log, MadeScenario, host_log

MEANT_FOR, LANDED_IN = EUROPE, AMERICA
MISROUTED_SHARE = 0.03
INSIDE_SHARE = 0.002  # of every cluster's packets land on another host of the same cluster
UNKNOWN_SHARE = 0.005  # are of connections that are over
TICK_US = 10_000_000
PACKETS = (30, 50)  # addressed to a host in a tick
PACKET_BYTES = 1252
RELEASE = "2026.44.0"


def misrouting(seed: int) -> MadeScenario:
    """The logs of nine hosts in three clusters. Truth: packets by the cluster of their connection id."""
    clusters = (EUROPE, AMERICA, ASIA)
    logs = {host: host_log(host, 0, RELEASE) for cluster in clusters for host in cluster}
    addressed: Counter[str] = Counter()
    wrong: Counter[tuple[str, str]] = Counter()
    unknown = 0
    for tick in range(LENGTH_US // TICK_US):
        received: Counter[Host] = Counter()
        for cluster in clusters:
            for host in cluster:
                for number in range(whole(*PACKETS, seed, "packets", host.server, tick)):
                    labels = (host.server, tick, number)
                    landed, is_known = _landing(cluster, host, seed, *labels)
                    addressed[host.cluster] += 1
                    received[landed] += 1
                    at_us = tick * TICK_US + whole(0, TICK_US - 2, seed, "at", *labels)
                    dcid = connection_id(host, 0, seed, *labels)
                    if landed != host:
                        wrong[host.cluster, landed.cluster] += 1
                        drop(logs[landed], at_us, dcid, "wrong_host")
                    elif not is_known:
                        unknown += 1
                        drop(logs[landed], at_us, dcid, "connection_unknown")
                        reset(logs[landed], at_us + 1, dcid, "connection_unknown")
        for host, log in logs.items():
            log.add((tick + 1) * TICK_US - 1, "quic:udp_datagrams_received", count=received[host])
    truth = {
        "addressed": dict(addressed),
        "wrong_host": [{"meant_for": a, "landed_in": b, "packets": n} for (a, b), n in sorted(wrong.items())],
        "connection_unknown": unknown,
        "resets_sent": unknown,
    }
    return MadeScenario(list(logs.values()), truth)


def drop(log: Log, at_us: int, dcid: str, trigger: str) -> None:
    """A packet that no connection took, and why."""
    header = {"packet_type": "1RTT", "dcid": dcid}
    log.add(at_us, "quic:packet_dropped", header=header, raw={"length": PACKET_BYTES}, trigger=trigger)


def reset(log: Log, at_us: int, dcid: str, trigger: str) -> None:
    """The stateless reset that answers such a packet."""
    log.add(at_us, "host:stateless_reset_sent", header={"dcid": dcid}, trigger=trigger)


def _landing(
    cluster: tuple[Host, ...], host: Host, seed: int, server: str, tick: int, number: int
) -> tuple[Host, bool]:
    """Where a packet lands, and whether its connection is there."""
    labels = (server, tick, number)
    drawn = fraction(seed, "landing", *labels)
    astray = MISROUTED_SHARE if cluster == MEANT_FOR else 0.0
    if drawn < astray:
        return choice(LANDED_IN, seed, "which", *labels), True
    if drawn < astray + INSIDE_SHARE:
        return choice([each for each in cluster if each != host], seed, "which", *labels), True
    return host, drawn >= astray + INSIDE_SHARE + UNKNOWN_SHARE
