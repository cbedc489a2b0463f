"""A real HTTP/3 server and its clients on loopback, in real time, that log while they run.

The clients come through a relay where the path is to lose, delay or limit; else straight to the server.
"""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from quiclens_lab.live_client import client
from quiclens_lab.relay import Conditions, Passed, relayed
from quiclens_lab.servers import serving


@dataclass(frozen=True)
class LiveTraffic:
    """What the clients do: `connections` in all, `together` at once, with so many requests and pauses between them."""

    connections: int
    requests: int
    together: int
    pause_s: float


@dataclass
class _Done:
    connections: int = 0
    requests: int = 0


async def live(
    folder: Path, server: str, traffic: LiveTraffic, conditions: Conditions, stays: bool = False
) -> dict[str, Any]:
    """Serve and ask until everything is answered, or SIGTERM; what was done. With `stays` it serves until SIGTERM.

    Each answer's duration as its client saw it is a line of `folder/client.jsonl`.
    """
    done = _Done()
    with serving(server, folder) as running, (folder / "client.jsonl").open("a", buffering=1) as log:
        async with _path(running.port, conditions) as (entry, passed):
            asking = asyncio.ensure_future(_ask(entry, traffic, log, done, stays))
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asking.cancel)
            with suppress(asyncio.CancelledError):
                await asking
            # The client's last packets are on their way.
            await asyncio.sleep(0.2 + conditions.delay_ms / 1000)
    return {"server": server, "connections": done.connections, "requests": done.requests, **passed.__dict__}


@asynccontextmanager
async def _path(port: int, conditions: Conditions) -> AsyncIterator[tuple[int, Passed]]:
    """Where clients enter: the relay, or the server itself where the path does nothing to them."""
    if conditions == Conditions(seed=conditions.seed):
        yield port, Passed()
        return
    async with relayed(port, conditions) as entry:
        yield entry


async def _ask(port: int, traffic: LiveTraffic, log: TextIO, done: _Done, stays: bool) -> None:
    numbers = iter(range(traffic.connections))

    async def one_after_the_other() -> None:
        for number in numbers:
            for external_id, duration_us in await client(port, number, traffic.requests, traffic.pause_s):
                log.write(json.dumps({"external_id": external_id, "duration_us": duration_us}) + "\n")
                done.requests += 1
            done.connections += 1

    await asyncio.gather(*(one_after_the_other() for _ in range(traffic.together)))
    if stays:
        await asyncio.Event().wait()
