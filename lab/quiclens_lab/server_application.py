"""The server's application: reads a request, thinks, answers in one piece or in pieces, and keeps the marks."""

from collections.abc import Callable
from dataclasses import dataclass

from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.stream import QuicStream

from quiclens_lab.aioquic_inside import received_streams, stream_of
from quiclens_lab.endpoint import Endpoint
from quiclens_lab.plan import RequestPlan
from quiclens_lab.roaming import Arrival

Schedule = Callable[[int, Callable[[int], None]], None]


@dataclass
class Exchange:
    """The marks of one request as the server's application saw them, in virtual microseconds."""

    stream_id: int
    arrived_us: int
    request: RequestPlan | None = None
    number: int | None = None
    external_id: str = ""
    request_end_us: int | None = None
    response_start_us: int | None = None
    last_send_us: int | None = None
    acknowledged_us: int | None = None
    stream: QuicStream | None = None
    is_all_written: bool = False
    came_by: Arrival | None = None


class ServerApplication:
    """Answers the requests of a plan; a request is told by its x-request-id."""

    def __init__(self, endpoint: Endpoint, requests: dict[str, tuple[int, RequestPlan]], schedule: Schedule) -> None:
        self.exchanges: dict[int, Exchange] = {}
        self.arrival: Arrival | None = None
        self._endpoint = endpoint
        self._requests = requests
        self._schedule = schedule
        endpoint.on_h3 = self._on_h3

    def note_arrivals(self, now_us: int) -> None:
        """Remember when the first packet of each request came in."""
        for stream_id in received_streams(self._endpoint.connection):
            if stream_id not in self.exchanges:
                self.exchanges[stream_id] = Exchange(stream_id, now_us, came_by=self.arrival)

    def note_progress(self, now_us: int) -> None:
        """Remember when the last byte of each response went out and when all of it was acknowledged."""
        for exchange in self.exchanges.values():
            stream = exchange.stream
            if stream is None or exchange.acknowledged_us is not None:
                continue
            if exchange.is_all_written and exchange.last_send_us is None and stream.sender.buffer_is_empty:
                exchange.last_send_us = now_us
            if stream.sender.is_finished:
                exchange.acknowledged_us = now_us

    def _on_h3(self, event: H3Event, now_us: int) -> None:
        if not isinstance(event, HeadersReceived | DataReceived):
            return
        exchange = self.exchanges[event.stream_id]
        if isinstance(event, HeadersReceived):
            exchange.external_id = dict(event.headers)[b"x-request-id"].decode()
            exchange.number, exchange.request = self._requests[exchange.external_id]
        if event.stream_ended and exchange.request is not None:
            exchange.request_end_us = now_us
            self._schedule(now_us + exchange.request.think_us, lambda then_us: self._answer(exchange, then_us))

    def _answer(self, exchange: Exchange, now_us: int) -> None:
        request, h3 = exchange.request, self._endpoint.h3
        assert request is not None and h3 is not None
        exchange.response_start_us = now_us
        exchange.stream = stream_of(self._endpoint.connection, exchange.stream_id)
        headers = [
            (b":status", str(request.status).encode()),
            (b"content-type", b"application/octet-stream"),
            (b"content-length", str(request.response_bytes).encode()),
            (b"server", b"quiclens-lab"),
        ]
        h3.send_headers(exchange.stream_id, headers, end_stream=request.response_bytes == 0)
        exchange.is_all_written = request.response_bytes == 0
        if request.response_bytes > 0:
            self._write(exchange, request, request.response_bytes, now_us)

    def _write(self, exchange: Exchange, request: RequestPlan, left_bytes: int, now_us: int) -> None:
        """Write the next piece of the body; a dribbling server comes back for the rest later."""
        h3 = self._endpoint.h3
        assert h3 is not None
        size = min(left_bytes, request.chunk_bytes or left_bytes)
        left_bytes -= size
        h3.send_data(exchange.stream_id, bytes(size), end_stream=left_bytes == 0)
        exchange.is_all_written = left_bytes == 0
        if left_bytes > 0:
            self._schedule(
                now_us + request.chunk_gap_us, lambda then_us: self._write(exchange, request, left_bytes, then_us)
            )
