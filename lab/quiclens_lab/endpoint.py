"""One end of a simulated connection: an aioquic connection with HTTP/3 on top, its outgoing link and its timer."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from aioquic.h3.connection import H3Connection
from aioquic.h3.events import H3Event
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import HandshakeCompleted, ProtocolNegotiated
from aioquic.quic.logger import QuicLoggerTrace

from quiclens_lab.aioquic_inside import VirtualClock, events_logged
from quiclens_lab.path import Link


@dataclass(frozen=True)
class Flight:
    """A datagram that will arrive."""

    arrival_us: int
    payload: bytes


PEER = ("peer", 443)


class Endpoint:
    """Feeds one connection with time and datagrams and collects what it sends; decides nothing itself."""

    def __init__(
        self,
        connection: QuicConnection,
        link: Link,
        clock: VirtualClock,
        skew_us: int,
        trace: QuicLoggerTrace | None,
        lateness_us: Callable[[int], int],
    ) -> None:
        self.connection = connection
        self.link = link
        self.h3: H3Connection | None = None
        self.timer_us: int | None = None
        self.first_event_us: int | None = None
        self.last_event_us = 0
        self.on_ready: Callable[[int], None] = _ignore
        self.on_h3: Callable[[H3Event, int], None] = _ignore
        self._clock = clock
        self._skew_us = skew_us
        self._trace = trace
        self._lateness_us = lateness_us
        self._events_before = 0

    def enter(self, now_us: int) -> float:
        """Set the clock to this end's time and return it in aioquic's unit."""
        self._clock.now_us = now_us
        self._clock.skew_us = self._skew_us
        return now_us / 1_000_000

    def receive(self, payload: bytes, now_us: int, address: tuple[str, int] = PEER) -> None:
        self.connection.receive_datagram(payload, address, self.enter(now_us))

    def fire_timer(self, now_us: int) -> None:
        self.connection.handle_timer(self.enter(now_us))

    def open_h3(self) -> None:
        """Put HTTP/3 on top: once the protocol is negotiated, or before that for requests in 0-RTT."""
        self.h3 = H3Connection(self.connection)

    def deliver_events(self, now_us: int) -> None:
        """Hand everything that has happened to HTTP/3 and to the application."""
        self.enter(now_us)
        while (event := self.connection.next_event()) is not None:
            if isinstance(event, ProtocolNegotiated) and self.h3 is None:
                self.open_h3()
            if isinstance(event, HandshakeCompleted):
                self.on_ready(now_us)
            if self.h3 is not None:
                for h3_event in self.h3.handle_event(event):
                    self.on_h3(h3_event, now_us)

    def send(self, now_us: int) -> list[Flight]:
        """Send what may be sent now, set the next timer, and return the datagrams that will arrive."""
        flights = []
        now = self.enter(now_us)
        for payload, _ in self.connection.datagrams_to_send(now):
            arrival_us = self.link.arrival_us(now_us, len(payload))
            if arrival_us is not None:
                flights.append(Flight(arrival_us, payload))
        self.timer_us = self._next_timer_us(now_us)
        self._note_activity(now_us)
        return flights

    def _next_timer_us(self, now_us: int) -> int | None:
        """When to fire next: never now or in the past, or the run would stand still."""
        timer = self.connection.get_timer()
        if timer is None:
            return None
        timer_us = math.ceil(timer * 1_000_000 - 1e-4)
        if timer_us / 1_000_000 < timer:
            timer_us += 1
        return max(timer_us + self._lateness_us(timer_us), now_us + 1)

    def _note_activity(self, now_us: int) -> None:
        if self._trace is None:
            return
        events = events_logged(self._trace)
        if events == self._events_before:
            return
        self._events_before = events
        self.last_event_us = now_us
        if self.first_event_us is None:
            self.first_event_us = now_us


def _ignore(*_arguments: object) -> None:
    """Until the application is attached, nothing is listening."""
