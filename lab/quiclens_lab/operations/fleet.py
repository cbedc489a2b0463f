"""The invented hosts of an edge, and the connection ids that mvfst gives out for them.

Layouts by mvfst's DefaultConnectionIdAlgo: bits are counted from the first byte's highest. Which of them a cluster
uses changes where its host ids stand in a connection id, so each layout is used by one cluster.
"""

from dataclasses import dataclass

from quiclens_lab.draws import Label, digest, whole

ID_BYTES = 8


@dataclass(frozen=True)
class Layout:
    """Where a version of mvfst's connection ids has its fields: first bit and width. The version is bits 0 and 1."""

    host: tuple[int, int]
    worker: tuple[int, int]
    process: tuple[int, int]


LAYOUTS = {
    1: Layout(host=(2, 16), worker=(18, 8), process=(26, 1)),
    2: Layout(host=(8, 24), worker=(32, 8), process=(40, 1)),
    3: Layout(host=(8, 32), worker=(40, 8), process=(48, 1)),
}


@dataclass(frozen=True)
class Host:
    """One server: its names, its id inside connection ids, and the layout of those."""

    server: str
    cluster: str
    pop: str
    host_id: int
    layout: int


def _cluster(name: str, pop: str, layout: int, first_id: int) -> tuple[Host, ...]:
    return tuple(Host(f"edge-{pop}-{n + 1:02d}", name, pop, first_id + n, layout) for n in range(3))


EUROPE = _cluster("edge-eu", "fra", 1, 0x1A01)
AMERICA = _cluster("edge-us", "lax", 2, 0x05_0B01)  # more than 16 bits
ASIA = _cluster("edge-ap", "sin", 3, 0x0900_0C01)  # more than 24 bits
RESTARTED = _cluster("edge-sa", "gru", 2, 0x07_0D01)


def connection_id(host: Host, process: int, seed: int, *labels: Label) -> str:
    """Hex of a connection id that names the host and one of its workers; the rest of its bits are drawn."""
    layout = LAYOUTS[host.layout]
    value = int.from_bytes(digest(seed, "connection id", *labels, size=ID_BYTES), "big")
    worker = whole(0, 15, seed, "worker", *labels)
    fields = (((0, 2), host.layout), (layout.host, host.host_id), (layout.worker, worker), (layout.process, process))
    for (first, width), content in fields:
        shift = 8 * ID_BYTES - first - width
        value = value & ~(((1 << width) - 1) << shift) | content << shift
    return value.to_bytes(ID_BYTES, "big").hex()
