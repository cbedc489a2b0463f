"""Sending one answer: ClickHouse's headers, compression, a bound on waiting, and errors before or in the middle."""

import asyncio
import re
import secrets
from collections.abc import AsyncIterator

from starlette.types import Message, Send

from quiclens_store_server.codecs import Encoder
from quiclens_store_server.running import ReceiverGone
from quiclens_web.front.faults import Fault
from quiclens_web.front.metrics import StoreMetrics

_CONTENT_TYPES = {
    "json": "application/json",
    "jsoneachrow": "application/x-ndjson",
    "csv": "text/csv; charset=UTF-8; header=absent",
    "tabseparated": "text/tab-separated-values; charset=UTF-8",
    "tsv": "text/tab-separated-values; charset=UTF-8",
    "arrowstream": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
    "native": "application/octet-stream",
    "rowbinary": "application/octet-stream",
}

_PART_BYTES = 1 << 20
_NOT_OF_A_FIELD = re.compile(rb"[^\x21-\x7e]")


class AnswerSender:
    """One answer's way to the client."""

    def __init__(self, send: Send, metrics: StoreMetrics, stall_seconds: float, timezone: str) -> None:
        self._send = send
        self._metrics = metrics
        self._stall_seconds = stall_seconds
        self.headers: dict[str, str] = {
            "X-ClickHouse-Server-Display-Name": "quiclens",
            "X-ClickHouse-Timezone": timezone,
        }
        self.is_begun = False

    def is_of(self, format: str) -> None:
        """Say which format the answer has."""
        self.headers["X-ClickHouse-Format"] = format
        self.headers["Content-Type"] = _CONTENT_TYPES.get(format.lower(), "text/plain; charset=UTF-8")

    async def whole(self, data: bytes, status: int = 200, encoder: Encoder | None = None, encoding: str = "") -> None:
        """Send an answer that is all there."""
        if encoder is not None and data:
            data = await asyncio.to_thread(lambda: encoder.add(data) + encoder.end())
            self._encoded(encoding)
        self.headers["Content-Length"] = str(len(data))
        await self._begin(status)
        await self._piece(data, more=False)

    async def streamed(self, pieces: AsyncIterator[bytes], encoder: Encoder | None, encoding: str) -> None:
        """Send an answer as it is made. One that fails is cut, after its error, so nobody can take it for whole."""
        tag = secrets.token_hex(8)
        self.headers["X-ClickHouse-Exception-Tag"] = tag
        self._encoded(encoding)
        await self._begin(200)
        try:
            async for piece in pieces:
                data = piece if encoder is None else await asyncio.to_thread(encoder.add, piece)
                if data:
                    await self._piece(data, more=True)
        except Fault as fault:
            self._metrics.errors.labels(str(fault.code)).inc()
            text = fault.body
            told = b"\r\n__exception__\r\n%b\r\n%b%d %b\r\n__exception__\r\n" % (
                tag.encode(),
                text,
                len(text),
                tag.encode(),
            )
            await self._piece(told if encoder is None else encoder.add(told) + encoder.end(), more=True)
            return  # without an end, so that the connection is closed
        await self._piece(b"" if encoder is None else encoder.end(), more=False)

    async def fault(self, fault: Fault) -> None:
        """Send an error, unless the answer has begun."""
        self._metrics.errors.labels(str(fault.code)).inc()
        if self.is_begun:
            return
        self.headers["X-ClickHouse-Exception-Code"] = str(fault.code)
        self.headers["Content-Type"] = "text/plain; charset=UTF-8"
        self.headers.pop("X-ClickHouse-Format", None)
        if fault.retry_after_seconds:
            self.headers["Retry-After"] = str(fault.retry_after_seconds)
        if fault.status == 401:
            self.headers["WWW-Authenticate"] = 'Basic realm="ClickHouse server HTTP API"'
        await self.whole(fault.body, fault.status)

    def _encoded(self, encoding: str) -> None:
        if encoding:
            self.headers["Content-Encoding"] = encoding
            self.headers["Vary"] = "Accept-Encoding"

    async def _begin(self, status: int) -> None:
        self.is_begun = True
        # A header is one line: what a client put into a format or a summary stays inside it.
        headers = [(name.lower().encode(), _line(value)) for name, value in self.headers.items()]
        await self._out({"type": "http.response.start", "status": status, "headers": headers})

    async def _piece(self, data: bytes, more: bool) -> None:
        self._metrics.bytes_sent.inc(len(data))
        # In parts, so that what the client has not taken yet is held once, here, and not in the socket's buffer too.
        for at in range(0, max(len(data), 1), _PART_BYTES):
            part = data[at : at + _PART_BYTES]
            more_body = more or at + _PART_BYTES < len(data)
            await self._out({"type": "http.response.body", "body": part, "more_body": more_body})

    async def _out(self, message: Message) -> None:
        try:
            await asyncio.wait_for(self._send(message), self._stall_seconds)
        except (TimeoutError, OSError) as error:
            raise ReceiverGone from error


def _line(value: str) -> bytes:
    # RFC 9110, 5.5: visible characters, and spaces between them.
    return _NOT_OF_A_FIELD.sub(b" ", value.encode("ascii", "replace")).strip()
