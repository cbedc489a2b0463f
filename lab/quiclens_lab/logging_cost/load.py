"""The load: `python -m quiclens_lab.logging_cost.load --port N …`, whose time is not the server's.

Every run asks for the same, on connections that have the same first destination ids, so that the same ones are logged
at a share. stdout is one JSON document, a `Loaded`.
"""

import argparse
import asyncio
import json
import ssl
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from typing import Any

from aioquic.asyncio.client import connect
from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

from quiclens_lab.aioquic_inside import call_by
from quiclens_lab.aioquic_server import is_logged
from quiclens_lab.draws import digest
from quiclens_lab.live_client import HOST, LiveClient

SMALL, LARGE, LARGE_EACH = 1_000, 100_000, 5  # bytes of an answer; each fifth is a large one


@dataclass(frozen=True, slots=True)
class Load:
    """Connections, requests of each, and connections at once; `share` is of the connections that have a log."""

    connections: int
    requests: int
    together: int
    share: float


@dataclass(frozen=True, slots=True)
class Loaded:
    """How long each answer took, us, by connection; and what all of it took."""

    latencies_us: list[list[int]]
    seconds: float
    cpu_s: float  # the client's own


def ids(load: Load) -> list[bytes]:
    """First destination ids of the connections, so drawn that the hash chooses evenly: at 0.01 each hundredth."""
    return [_id(number, load.share) for number in range(load.connections)]


def chosen(load: Load, share: float) -> set[str]:
    """The ids of the connections that are logged at this share."""
    return {each.hex() for each in ids(load) if is_logged(each, share)}


def _id(number: int, share: float) -> bytes:
    is_one = int((number + 1) * share) > int(number * share)
    drawn = (digest(number, "logging cost", attempt) for attempt in count())
    return next(each for each in drawn if is_logged(each, share) == is_one)


def paths(requests: int) -> Iterator[str]:
    """What each connection asks for, one after the other."""
    for number in range(requests):
        yield f"/{LARGE if number % LARGE_EACH == LARGE_EACH - 1 else SMALL}/0"


async def ask(port: int, load: Load) -> Loaded:
    """Ask until everything is answered."""
    waiting = iter(enumerate(ids(load)))
    latencies: list[list[int]] = [[] for _ in range(load.connections)]

    async def one_after_the_other() -> None:
        for number, connection_id in waiting:
            latencies[number] = await _connection(port, number, connection_id, load.requests)

    began, cpu_began = time.monotonic(), time.process_time()
    await asyncio.gather(*(one_after_the_other() for _ in range(load.together)))
    return Loaded(latencies, time.monotonic() - began, time.process_time() - cpu_began)


async def _connection(port: int, number: int, connection_id: bytes, requests: int) -> list[int]:
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE)
    called = partial(_called, connection_id)
    async with connect(HOST, port, configuration=configuration, create_protocol=called) as protocol:
        assert isinstance(protocol, LiveClient)
        return [await protocol.get(path, f"cost-{number}-{at}") for at, path in enumerate(paths(requests))]


def _called(connection_id: bytes, connection: QuicConnection, **named: Any) -> LiveClient:
    call_by(connection, connection_id)
    return LiveClient(connection, **named)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m quiclens_lab.logging_cost.load", description=__doc__)
    for name in ("--port", "--connections", "--requests", "--together"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--share", type=float, required=True)
    options = parser.parse_args()
    load = Load(options.connections, options.requests, options.together, options.share)
    print(json.dumps(asdict(asyncio.run(ask(options.port, load)))))


if __name__ == "__main__":
    main()
