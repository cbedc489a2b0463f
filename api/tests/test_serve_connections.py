"""Sockets that hold a connection and do nothing, or next to nothing: whoever sends a request is served beside them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from quiclens_web.front.connections import ConnectionLimits, Connections
from quiclens_web.front.metrics import FrontMetrics
from quiclens_web.front.serving import Listening, _Server, bind

LIMITS = ConnectionLimits(head_seconds=0.5, idle_seconds=1, body_seconds=0.5, write_seconds=0.5)
HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the length of the body that came; /large with more than a socket takes."""
    if scope["type"] == "lifespan":
        for each in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{each}.complete"})
        return
    size = 0
    while True:
        message = await receive()
        size += len(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message["more_body"]:
            break
    body = bytes(64 << 20) if scope["path"] == "/large" else b"%d" % size
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def running(limits: ConnectionLimits) -> AsyncIterator[tuple[Connect, FrontMetrics]]:
    metrics, started = FrontMetrics(), asyncio.Event()
    connections = Connections(limits, metrics)
    config = uvicorn.Config(app, ws="none", log_config=None, timeout_keep_alive=limits.idle_seconds)
    config.timeout_graceful_shutdown = 1
    with bind("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        server = _Server(config, Listening(bound), connections, started.set, None, lambda: None)
        task = asyncio.create_task(server.serve(sockets=[]))
        await started.wait()
        opened: list[asyncio.StreamWriter] = []

        async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            opened.append(writer)
            return reader, writer

        try:
            yield connect, metrics
        finally:
            for each in opened:
                each.transport.abort()
            server.should_exit = True
            await task


def closed(metrics: FrontMetrics, why: str) -> float:
    return metrics.registry.get_sample_value("quiclens_serve_connections_closed_total", {"why": why}) or 0.0


async def ended(reader: asyncio.StreamReader) -> bool:
    """Wait until the server ends the connection."""
    with contextlib.suppress(ConnectionError):
        while await asyncio.wait_for(reader.read(1 << 20), 20):
            pass
    return True


async def answers(connect: Connect) -> bool:
    reader, writer = await connect()
    writer.write(HEAD + b"\r\n")
    line = await asyncio.wait_for(reader.readline(), 20)
    writer.transport.abort()
    return line == b"HTTP/1.1 200 OK\r\n"


def ran(limits: ConnectionLimits, test: Callable[[Connect, FrontMetrics], Awaitable[None]]) -> None:
    async def run() -> None:
        async with running(limits) as (connect, metrics):
            await asyncio.wait_for(test(connect, metrics), 600)

    asyncio.run(run())


@pytest.mark.parametrize("begun", [b"", b"G", HEAD, HEAD + b"X-Long: "])
def test_a_head_that_does_not_end_is_waited_for_so_long(begun: bytes) -> None:
    async def test(connect: Connect, metrics: FrontMetrics) -> None:
        reader, writer = await connect()
        writer.write(begun)
        assert await ended(reader) and closed(metrics, "head") == 1

    ran(LIMITS, test)


def test_a_head_that_comes_byte_by_byte_has_no_more_time_for_it() -> None:
    async def test(connect: Connect, metrics: FrontMetrics) -> None:
        reader, writer = await connect()
        over = asyncio.create_task(ended(reader))
        while not over.done():
            writer.write(b"G" if closed(metrics, "head") else b"X")
            await asyncio.sleep(0.05)
        assert closed(metrics, "head") == 1

    ran(LIMITS, test)


def test_a_second_head_has_its_time_too() -> None:
    async def test(connect: Connect, metrics: FrontMetrics) -> None:
        reader, writer = await connect()
        writer.write(HEAD + b"\r\n")
        await reader.readuntil(b"\r\n\r\n0")
        writer.write(b"GET ")
        assert await ended(reader) and closed(metrics, "head") == 1

    ran(replace(LIMITS, idle_seconds=20), test)


def test_a_body_comes_at_a_least_rate() -> None:
    async def test(connect: Connect, metrics: FrontMetrics) -> None:
        reader, writer = await connect()
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + b"x" * 100)
        assert await ended(reader) and closed(metrics, "body") == 1

    ran(LIMITS, test)


def test_a_body_that_was_waited_for_with_100_continue_comes_at_a_least_rate() -> None:
    async def test(connect: Connect, metrics: FrontMetrics) -> None:
        reader, writer = await connect()
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\nExpect: 100-continue\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert await ended(reader) and closed(metrics, "body") == 1

    ran(LIMITS, test)


def test_whoever_goes_on_after_100_continue_is_served() -> None:
    async def test(connect: Connect, metrics: FrontMetrics) -> None:
        reader, writer = await connect()
        for _ in range(2):
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\nExpect: 100-continue\r\n\r\n")
            await reader.readuntil(b"100 Continue\r\n\r\n")
            writer.write(b"x" * 2000)
            await reader.readuntil(b"\r\n\r\n2000")
        assert closed(metrics, "body") == 0

    ran(LIMITS, test)


class Idle:
    """A connection that can be counted."""

    def __init__(self, peer: str) -> None:
        self.peer = peer

    def is_idle(self, seconds: float) -> bool:
        return False

    def close(self, why: str) -> None:
        raise AssertionError(why)


@pytest.mark.parametrize(
    ("peer", "neighbours", "others"),
    [
        ("2001:db8::{}", 8, "2001:db8:0:1::{}"),
        ("::ffff:192.0.2.{}", 1, "::ffff:198.51.100.{}"),
        ("192.0.2.{}", 1, "192.0.3.{}"),
    ],
)
def test_a_peer_of_ipv6_is_a_network(peer: str, neighbours: int, others: str) -> None:
    connections = Connections(ConnectionLimits(of_one_peer=4), FrontMetrics())
    added = [connections.add(Idle(peer.format(at % neighbours + 1))) for at in range(9)]
    assert added == [True] * 8 + [False]
    assert connections.add(Idle(others.format(1)))


def test_a_body_that_keeps_coming_is_taken_however_long_it_is() -> None:
    async def test(connect: Connect, metrics: FrontMetrics) -> None:
        reader, writer = await connect()
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n")
        for _ in range(20):
            writer.write(b"x" * 1000)
            await asyncio.sleep(0.1)
        await reader.readuntil(b"\r\n\r\n20000")
        assert closed(metrics, "body") == 0

    ran(LIMITS, test)


def test_an_answer_that_is_not_taken_is_given_up() -> None:
    async def test(connect: Connect, metrics: FrontMetrics) -> None:
        _, writer = await connect()
        writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        while not closed(metrics, "write"):
            await asyncio.sleep(0.05)

    ran(LIMITS, test)


@pytest.mark.parametrize("limits", [{"of_one_peer": 20}, {"at_once": 20}])
@pytest.mark.parametrize("begun", [b"", HEAD])
def test_who_sends_a_request_is_served_beside_any_number_of_idle_sockets(limits: dict[str, int], begun: bytes) -> None:
    async def test(connect: Connect, metrics: FrontMetrics) -> None:
        for _ in range(3):
            for _ in range(40):
                _, writer = await connect()
                writer.write(begun)
            assert await answers(connect)
            await asyncio.sleep(1.1)  # after which none of them is new
        for _ in range(10):
            assert await answers(connect)
        assert closed(metrics, "crowded") >= 80 and not closed(metrics, "refused")
        assert metrics.registry.get_sample_value("quiclens_serve_connections") <= 40  # type: ignore[operator]

    ran(replace(LIMITS, head_seconds=60, **limits), test)


def test_requests_that_run_are_not_crowded_out() -> None:
    async def test(connect: Connect, metrics: FrontMetrics) -> None:
        working = []
        for _ in range(8):
            reader, writer = await connect()
            writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")
            working.append((reader, writer))
        await asyncio.sleep(1.2)
        refused, _ = await connect()
        assert await ended(refused) and closed(metrics, "refused") == 1
        for reader, writer in working:
            writer.write(b"12345")
            await reader.readuntil(b"\r\n\r\n5")

    ran(replace(LIMITS, body_seconds=60, of_one_peer=4), test)


def test_heads_that_are_not_complete_hold_so_many_bytes_in_all() -> None:
    async def test(connect: Connect, metrics: FrontMetrics) -> None:
        for _ in range(20):
            _, writer = await connect()
            writer.write(HEAD + b"X: " + b"x" * 10_000)
            await writer.drain()
        while closed(metrics, "crowded") < 15:
            await asyncio.sleep(0.05)
        assert await answers(connect)

    ran(replace(LIMITS, head_seconds=60, heads_bytes=50_000), test)


def test_what_is_no_http_is_refused_and_counted() -> None:
    async def test(connect: Connect, metrics: FrontMetrics) -> None:
        reader, writer = await connect()
        writer.write(b"\x16\x03\x01 hello\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 400")
        assert await ended(reader) and closed(metrics, "invalid") == 1

    ran(LIMITS, test)
