"""TLS handshakes as connections that are counted.

asyncio's own TLS server holds as many as there are sockets, and the app sees none before its end. Here a handshake is a
connection of its peer from its first moment, and makes room for a newer one like any other that has sent nothing.
"""

import asyncio
import ssl
from collections.abc import Callable

from quiclens_web.front.connections import Connections, GuardedProtocol, Phase, has_sent_nothing

_SECONDS = 10.0


class Handshakes:
    """Makes a protocol for each connection that is to speak TLS first."""

    def __init__(self, context: ssl.SSLContext, make: Callable[[], GuardedProtocol], connections: Connections) -> None:
        self.context = context
        self.make = make
        self.connections = connections

    def __call__(self) -> "Handshake":
        return Handshake(self)


class Handshake(asyncio.Protocol):
    """One connection, until TLS is spoken; then its socket belongs to a `GuardedProtocol`."""

    def __init__(self, common: Handshakes) -> None:
        self._common = common
        self._since = 0.0
        self._is_over = False
        self._task: asyncio.Task[None] | None = None  # kept, since the loop does not
        self.peer = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        loop = asyncio.get_running_loop()
        self._transport, self._since = transport, loop.time()
        client = transport.get_extra_info("peername")
        self.peer = str(client[0]) if isinstance(client, tuple) else ""
        if not self._common.connections.add(self):
            self._is_over = True
            self._common.connections.closed.labels("refused").inc()
            transport.abort()
            return
        self._common.connections.move(self, Phase.HEAD)
        self._task = loop.create_task(self._shake())

    def is_idle(self, seconds: float) -> bool:
        """Whether it goes on for so long, and there is nothing of it that was not read yet."""
        is_old = asyncio.get_running_loop().time() - self._since >= seconds
        return is_old and has_sent_nothing(self._transport)

    def close(self, why: str) -> None:
        """End the connection at once."""
        if not self._is_over:
            self._common.connections.closed.labels(why).inc()
            self._end()
            self._transport.abort()

    async def _shake(self) -> None:
        loop, early = asyncio.get_running_loop(), _Early()
        try:
            secure = await loop.start_tls(
                self._transport, early, self._common.context, server_side=True, ssl_handshake_timeout=_SECONDS
            )
        except OSError:  # those of TLS among them
            self.close("handshake")
            return
        if self._is_over or secure is None:
            self.close("handshake")
            return
        self._end()
        protocol = self._common.make()
        secure.set_protocol(protocol)
        protocol.connection_made(secure)
        early.hand_on(protocol)

    def _end(self) -> None:
        """Be counted no more."""
        self._is_over = True
        self._common.connections.move(self, None)


class _Early(asyncio.Protocol):
    """Keeps what comes between the end of the handshake and the moment in which the connection has its protocol."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._has_eof = False
        self._lost: list[Exception | None] = []

    def data_received(self, data: bytes) -> None:
        self._data += data

    def eof_received(self) -> bool:
        self._has_eof = True
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost.append(exc)

    def hand_on(self, protocol: asyncio.Protocol) -> None:
        if self._data:
            protocol.data_received(bytes(self._data))
        if self._has_eof:
            protocol.eof_received()
        for why in self._lost:
            protocol.connection_lost(why)
