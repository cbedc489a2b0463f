"""The client of a live server: aioquic's, one connection after the other, each request measured."""

import asyncio
import ssl
import time
from typing import Any

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent

from quiclens_lab.draws import skewed, whole
from quiclens_lab.errors import LabError

HOST = "127.0.0.1"


class LiveClient(QuicConnectionProtocol):
    """A client: one request at a time."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._h3 = H3Connection(self._quic)

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ConnectionTerminated):
            while self._waiting:
                _, future = self._waiting.popitem()
                future.set_exception(ConnectionError(f"ended before an answer: {event.reason_phrase!r}"))
            return
        for each in self._h3.handle_event(event):
            self._note(each)

    def _note(self, event: H3Event) -> None:
        if isinstance(event, HeadersReceived | DataReceived) and event.stream_ended:
            self._waiting.pop(event.stream_id).set_result(None)

    async def get(self, path: str, request_id: str) -> int:
        """Ask and wait for the whole answer; how long that took, us."""
        began = time.monotonic_ns()
        stream_id = self._quic.get_next_available_stream_id()
        headers = {":method": "GET", ":scheme": "https", ":authority": "live.lab.example", ":path": path}
        fields = {**headers, "x-request-id": request_id}
        self._waiting[stream_id] = asyncio.get_running_loop().create_future()
        waiting = self._waiting[stream_id]
        self._h3.send_headers(stream_id, [(name.encode(), value.encode()) for name, value in fields.items()], True)
        self.transmit()
        await waiting
        return (time.monotonic_ns() - began) // 1000


async def client(port: int, number: int, requests: int, pause_s: float) -> list[tuple[str, int]]:
    """One connection: some requests with pauses; their ids and how long each took, us."""
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE)
    measured = []
    try:
        async with connect(HOST, port, configuration=configuration, create_protocol=LiveClient) as protocol:
            assert isinstance(protocol, LiveClient)
            for request in range(requests):
                size = int(skewed(1_000, 60_000, number, "size", request))
                path = f"/{size}/{whole(200, 40_000, number, 'think', request)}"
                request_id = f"live-{number}-{request}"
                measured.append((request_id, await protocol.get(path, request_id)))
                await asyncio.sleep(pause_s)
    except ConnectionError as error:
        raise LabError(f"connection {number} failed: {error or 'no handshake'}") from error
    return measured
