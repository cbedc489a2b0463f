"""A lossy path in real time: datagrams between clients on loopback and one server, by way of the lab's own links.

Each client has links and a server-side address of its own, so that the server sees as many addresses as there are
clients. The links are those of the simulation (`path.py`): losses are hashes of (seed, direction, time bin).
"""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from quiclens_lab.path import Link, LinkSpec, PathSpec

HOST = "127.0.0.1"
LARGEST_DATAGRAM = 65_536
FORGOTTEN_AFTER_S = 60
FAST_KBPS = 1_000_000
LEAST_QUEUE_BYTES = 64_000
QUEUE_S = 0.2

Address = tuple[str, int]


@dataclass(frozen=True)
class Conditions:
    """What the relay does to each direction; the defaults do nothing."""

    loss: float = 0.0
    delay_ms: float = 0.0
    rate_kbps: int = FAST_KBPS
    seed: int = 1

    def path(self) -> PathSpec:
        queue = max(LEAST_QUEUE_BYTES, int(self.rate_kbps * 1000 / 8 * QUEUE_S))
        link = LinkSpec(self.rate_kbps * 1000, int(self.delay_ms * 1000), queue, self.loss)
        return PathSpec(link, link)


@dataclass
class Passed:
    """What went through and what did not, both directions together."""

    forwarded: int = 0
    lost: int = 0


@dataclass
class _Way:
    """One client: its address, its two links, and the socket that stands for it at the server."""

    client: Address
    up: Link
    down: Link
    socket: socket.socket
    used_s: float = field(default_factory=time.monotonic)


class Relay(asyncio.DatagramProtocol):
    """Faces the clients; opens a way for each address that it sees."""

    def __init__(self, server_port: int, conditions: Conditions) -> None:
        self.passed = Passed()
        self._server = (HOST, server_port)
        self._conditions = conditions
        self._path = conditions.path()
        self._ways: dict[Address, _Way] = {}
        self._opened = 0
        self._began_ns = time.monotonic_ns()
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, address: Any) -> None:
        way = self._ways.get(address) or self._open(address)
        way.used_s = time.monotonic()
        self._carry(way.up, data, lambda: self._to_server(way, data))

    def close(self) -> None:
        self._transport.close()
        for client in list(self._ways):
            self._close(client)

    def _open(self, client: Address) -> _Way:
        old = time.monotonic() - FORGOTTEN_AFTER_S
        for known in [each for each, way in self._ways.items() if way.used_s < old]:
            self._close(known)
        towards = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        towards.setblocking(False)
        towards.connect(self._server)
        seed = self._conditions.seed * 1_000_003 + self._opened
        self._opened += 1
        way = _Way(client, Link(self._path.up, seed, "up"), Link(self._path.down, seed, "down"), towards)
        self._ways[client] = way
        self._loop.add_reader(towards, self._from_server, way)
        return way

    def _close(self, client: Address) -> None:
        way = self._ways.pop(client)
        self._loop.remove_reader(way.socket)
        way.socket.close()

    def _to_server(self, way: _Way, data: bytes) -> None:
        try:
            way.socket.send(data)
        except OSError:  # the server is gone, or its way was closed: lost, as on any path
            self.passed.lost += 1

    def _from_server(self, way: _Way) -> None:
        while True:
            try:
                data = way.socket.recv(LARGEST_DATAGRAM)
            except OSError:  # nothing more to read, or the server is gone
                return
            way.used_s = time.monotonic()
            self._carry(way.down, data, lambda data=data: self._transport.sendto(data, way.client))  # type: ignore[misc]

    def _carry(self, link: Link, data: bytes, deliver: Callable[[], None]) -> None:
        now_us = (time.monotonic_ns() - self._began_ns) // 1000
        arrival_us = link.arrival_us(now_us, len(data))
        link.departures_us.clear()  # kept for simulated runs; here there is no end to them
        if arrival_us is None:
            self.passed.lost += 1
            return
        self.passed.forwarded += 1
        self._loop.call_later((arrival_us - now_us) / 1e6, deliver)


@asynccontextmanager
async def relayed(server_port: int, conditions: Conditions) -> AsyncIterator[tuple[int, Passed]]:
    """Relay to this server; the port for clients, and what passed so far."""
    loop = asyncio.get_running_loop()
    transport, relay = await loop.create_datagram_endpoint(lambda: Relay(server_port, conditions), local_addr=(HOST, 0))
    try:
        yield transport.get_extra_info("sockname")[1], relay.passed
    finally:
        relay.close()
