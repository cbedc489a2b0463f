"""Connections, between the sockets and the app: uvicorn's h11 protocol, with limits that it lacks.

uvicorn counts idle sockets as work (`limit_concurrency`) and waits for ever for the head of a request. Here a
connection has so long for a head, a body comes at a least rate, and a connection that takes no bytes is closed. Where
there are too many, of one peer or in all, the one that has waited longest without a request makes room for the newest:
a client that sends its request at once is served, however many others only hold a socket.
"""

import asyncio
import select
import socket
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from itertools import islice
from typing import Any, Protocol
from uuid import uuid4

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from quiclens_web.front.access import Network, is_in
from quiclens_web.front.attempts import network_of
from quiclens_web.front.metrics import FrontMetrics
from quiclens_web.front.observed import HEADERS
from quiclens_web.front.problems import MEDIA_TYPE, kind_of, problem_text

_NEW_SECONDS = 1.0
_LONGEST_REASON = 300
_GONE_ON_SECONDS = 1.0  # how often a client that waits for our 100 is looked at
_LOOKED_AT = 16  # of those that wait, when one has to go


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of one connection and of all together."""

    head_seconds: float = 10  # from the first byte, or from the connection's beginning, to a head's end
    idle_seconds: int = 30  # between two requests; uvicorn's own timer
    body_bytes_a_second: float = 500  # at least, over each `body_seconds`
    body_seconds: float = 20
    write_seconds: float = 120  # without one byte taken
    heads_bytes: int = 64 << 20  # of all heads that are not complete
    of_one_peer: int = 512  # a /64 of IPv6 is one; twice as many for a moment, where all are new
    at_once: int = 8192


class Phase(Enum):
    """What a connection waits for."""

    HEAD = "head"
    IDLE = "idle"
    BODY = "body"
    ANSWER = "answer"


class Connection(Protocol):
    """What can be counted and closed: a connection that speaks HTTP, or one that does not speak TLS yet."""

    peer: str

    def is_idle(self, seconds: float) -> bool:
        """Whether it waits for so long, and there is nothing of it that was not read yet."""
        ...

    def close(self, why: str) -> None:
        """End the connection at once, whatever is on its way."""
        ...


class Connections:
    """All connections of one server."""

    def __init__(self, limits: ConnectionLimits, metrics: FrontMetrics, proxies: tuple[Network, ...] = ()) -> None:
        self.limits = limits
        self.closed = metrics.connections_closed
        self._proxies = proxies
        self._peers: dict[str, _Waiting] = {}
        self._all = _Waiting()
        self._heads_bytes = 0
        metrics.connections.set_function(lambda: self._all.count)

    def add(self, connection: Connection) -> bool:
        """Count one more; where there are too many, one that waits is closed. False where none can be."""
        peer = self._peers.setdefault(network_of(connection.peer), _Waiting())
        is_limited = bool(connection.peer) and not is_in(connection.peer, self._proxies)
        for most, crowd in ((self.limits.of_one_peer if is_limited else 0, peer), (self.limits.at_once, self._all)):
            if not most or crowd.count < most or crowd.close_oldest(_NEW_SECONDS):
                continue
            if crowd.count >= 2 * most and not crowd.close_oldest(0):
                return False
        for crowd in (peer, self._all):
            crowd.count += 1
        return True

    def move(self, connection: Connection, phase: Phase | None) -> None:
        """A connection waits for something else now, or, None, is no more."""
        network = network_of(connection.peer)
        peer = self._peers[network]
        for crowd in (peer, self._all):
            crowd.move(connection, phase)
        if phase is None and not peer.count:
            del self._peers[network]

    def hold(self, size: int) -> None:
        """Count bytes of a head that is not complete, or, negative, of one that is or was given up."""
        self._heads_bytes += size
        while self._heads_bytes > self.limits.heads_bytes and self._all.close_oldest(0):
            pass


class _Waiting:
    """Connections of a peer, or of all: those that may be closed, the longest waiting first."""

    def __init__(self) -> None:
        self.count = 0
        self._by_phase: dict[Phase, OrderedDict[Connection, None]] = {
            Phase.HEAD: OrderedDict(),
            Phase.IDLE: OrderedDict(),
        }

    def move(self, connection: Connection, phase: Phase | None) -> None:
        for waiting in self._by_phase.values():
            waiting.pop(connection, None)
        if phase is None:
            self.count -= 1
        elif phase in self._by_phase:
            self._by_phase[phase][connection] = None

    def close_oldest(self, seconds: float) -> bool:
        """Close the one that has waited longest for a head, or, where none does, between requests; one that waited so
        long at least, and has sent nothing that we were too busy to read."""
        for waiting in self._by_phase.values():
            for connection in list(islice(waiting, _LOOKED_AT)):
                if connection.is_idle(seconds):
                    connection.close("crowded")
                    return True
                waiting.move_to_end(connection)
        return False


class GuardedProtocol(H11Protocol):
    """One connection."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        connections: Connections,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._connections = connections
        self._limits = connections.limits
        self._phase: Phase | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._since = self.loop.time()
        self._head_bytes = 0
        self._bytes = 0  # of a body, since the timer was set
        self._was_paused = False  # by us, since then: then nothing can be said of the client
        self._is_over = False
        self.peer = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.peer = self.client[0] if self.client else ""
        if not self._connections.add(self):
            self._is_over = True
            self._connections.closed.labels("refused").inc()
            transport.abort()
            return
        _give_up_after(transport, self._limits.write_seconds)
        self._enter(Phase.HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_timers()
        if not self._is_over:
            if isinstance(exc, TimeoutError):  # the kernel was quicker than our timer: see _give_up_after
                self._connections.closed.labels("write").inc()
            self._end()

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        self._bytes += len(data)
        super().data_received(data)
        if self._phase is Phase.HEAD and not self._is_over:
            self._head_bytes += len(data)
            self._connections.hold(len(data))

    def handle_events(self) -> None:
        super().handle_events()
        self._settle()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._settle()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self.loop.call_later(self._limits.write_seconds, self.close, "write")

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def send_400_response(self, msg: str) -> None:
        """Answer what h11 does not take for a request, as all other failures are told, and close the connection."""
        self._connections.closed.labels("invalid").inc()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            for event in _refusal(sys.exc_info()[1], str(uuid4())):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def close(self, why: str) -> None:
        """End the connection at once, whatever is on its way."""
        if not self._is_over:
            self._connections.closed.labels(why).inc()
            self._end()
            self.transport.abort()

    def is_idle(self, seconds: float) -> bool:
        """Whether it waits for so long, and there is nothing of it that was not read yet."""
        return self.loop.time() - self._since >= seconds and has_sent_nothing(self.transport)

    def _end(self) -> None:
        """Be counted no more."""
        self._is_over = True
        self._stop_timers()
        self._release_head()
        self._connections.move(self, None)

    def _settle(self) -> None:
        """Find out what the connection waits for now."""
        if self._is_over or self.transport.is_closing():
            return
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if self.conn.their_state is h11.SEND_BODY and not self._waits_for_us():  # also after its answer
            self._enter(Phase.BODY)
        elif is_answering:
            self._enter(Phase.ANSWER)
        elif self.cycle is None or self.conn.trailing_data[0]:
            self._enter(Phase.HEAD)
        else:
            self._enter(Phase.IDLE)

    def _release_head(self) -> None:
        held, self._head_bytes = self._head_bytes, 0
        self._connections.hold(-held)

    def _enter(self, phase: Phase) -> None:
        if phase is self._phase:  # a head or a body that comes in pieces has its time once
            return
        self._release_head()
        self._phase, self._since = phase, self.loop.time()
        self._connections.move(self, phase)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if phase is Phase.HEAD:
            self._timer = self.loop.call_later(self._limits.head_seconds, self.close, "head")
        elif phase is Phase.BODY:
            self._watch_body()
        elif phase is Phase.ANSWER and self._waits_for_us():
            self._watch_going_on()

    def _watch_body(self) -> None:
        self._bytes, self._was_paused = 0, self.flow.read_paused
        self._timer = self.loop.call_later(self._limits.body_seconds, self._look_at_body)

    def _look_at_body(self) -> None:
        least = self._limits.body_bytes_a_second * self._limits.body_seconds
        if self._bytes < least and not self._was_paused and not self.flow.read_paused:
            self.close("body")
        else:
            self._watch_body()

    def _waits_for_us(self) -> bool:
        """Whether the client sends its body when it was told to go on, which the app does when it reads."""
        return bool(self.cycle.waiting_for_100_continue)

    def _watch_going_on(self) -> None:
        self._timer = self.loop.call_later(_GONE_ON_SECONDS, self._look_at_going_on)

    def _look_at_going_on(self) -> None:
        """Once the client was told to go on, which nothing tells us, its body has its time."""
        if self._waits_for_us():
            self._watch_going_on()
        else:
            self._settle()

    def _stop_timers(self) -> None:
        for timer in (self._timer, self._write_timer):
            if timer is not None:
                timer.cancel()


def protocol_factory(
    config: Config, server_state: ServerState, app_state: dict[str, Any], connections: Connections
) -> Callable[[], GuardedProtocol]:
    """What makes a protocol for each connection."""
    return lambda: GuardedProtocol(config, server_state, app_state, connections=connections)


def _refusal(error: BaseException | None, id: str) -> tuple[h11.Response, h11.Data, h11.EndOfMessage]:
    """RFC 9457's answer to what h11 does not take; `id` is that of the answer, for there is no request."""
    is_large = isinstance(error, h11.RemoteProtocolError) and error.error_status_hint == 431
    code, hint = ("head_too_large", "ask with POST") if is_large else ("no_request", "HTTP/1.1, with a Host header")
    body = problem_text(id, code, str(error or "it cannot be read")[:_LONGEST_REASON], hint).encode()
    headers = [
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        (b"x-request-id", id.encode()),
        *HEADERS.items(),
    ]
    status = kind_of(code).status
    reason = HTTPStatus(status).phrase.encode()
    return h11.Response(status_code=status, headers=headers, reason=reason), h11.Data(data=body), h11.EndOfMessage()


def has_sent_nothing(transport: asyncio.BaseTransport) -> bool:
    """Whether there is nothing to be read of a connection: we may have been too busy to."""
    made = transport.get_extra_info("socket")
    if made is None:
        return True
    asked = select.poll()
    asked.register(made.fileno(), select.POLLIN)
    return not asked.poll(0)


def _give_up_after(transport: asyncio.Transport, seconds: float) -> None:
    """Have the kernel end a connection whose peer takes nothing, also while it is being closed."""
    made = transport.get_extra_info("socket")
    if made is not None and made.family != socket.AF_UNIX and hasattr(socket, "TCP_USER_TIMEOUT"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))
