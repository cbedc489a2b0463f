"""The client's application: makes the plan's requests turn by turn and closes when all are answered."""

from collections.abc import Callable, Sequence

from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived

from quiclens_lab.endpoint import Endpoint
from quiclens_lab.plan import ConnectionPlan, RequestPlan

Schedule = Callable[[int, Callable[[int], None]], None]


class ClientApplication:
    """Walks through the turns of a plan; `done_us` is set when every request was answered."""

    def __init__(
        self, endpoint: Endpoint, plan: ConnectionPlan, external_ids: Sequence[str], schedule: Schedule
    ) -> None:
        self.done_us: int | None = None
        self.before_turn: Callable[[int], None] = _ignore
        self._endpoint = endpoint
        self._plan = plan
        self._external_ids = external_ids
        self._schedule = schedule
        self._turn = -1
        self._next_request = 0
        self._open_streams: set[int] = set()
        if not plan.is_resumed:
            endpoint.on_ready = self.start
        endpoint.on_h3 = self._on_h3

    def start(self, now_us: int) -> None:
        """Begin with the first turn: once the handshake is done, or at once in 0-RTT."""
        self._next_turn(now_us)

    def _next_turn(self, now_us: int) -> None:
        self._turn += 1
        if self._turn < len(self._plan.turns):
            self._schedule(now_us + self._plan.turns[self._turn].gap_us, self._make_requests)
            return
        self.done_us = now_us
        if self._plan.is_closed_by_client:
            self._schedule(now_us + self._plan.path.rtt_us + 30_000, self._close)

    def _make_requests(self, now_us: int) -> None:
        self.before_turn(self._turn)
        for request in self._plan.turns[self._turn].requests:
            self._make(request, now_us)

    def _make(self, request: RequestPlan, now_us: int) -> None:
        h3, connection = self._endpoint.h3, self._endpoint.connection
        assert h3 is not None
        stream_id = connection.get_next_available_stream_id()
        headers = [
            (b":method", request.method.encode()),
            (b":scheme", b"https"),
            (b":authority", self._plan.authority.encode()),
            (b":path", request.path.encode()),
            (b"user-agent", f"quiclens-lab/{self._plan.dimensions.app_version}".encode()),
            (b"x-request-id", self._external_ids[self._next_request].encode()),
        ]
        if request.request_bytes > 0:
            headers.append((b"content-length", str(request.request_bytes).encode()))
        h3.send_headers(stream_id, headers, end_stream=request.request_bytes == 0)
        if request.request_bytes > 0:
            self._upload(h3, stream_id, request, now_us)
        self._open_streams.add(stream_id)
        self._next_request += 1

    def _upload(self, h3: H3Connection, stream_id: int, request: RequestPlan, now_us: int) -> None:
        """Send the body; a client that pauses sends half of it now and the rest later."""
        size = request.request_bytes
        if request.upload_pause_us == 0:
            h3.send_data(stream_id, bytes(size), end_stream=True)
            return
        h3.send_data(stream_id, bytes(size // 2), end_stream=False)
        self._schedule(
            now_us + request.upload_pause_us,
            lambda _then_us: h3.send_data(stream_id, bytes(size - size // 2), end_stream=True),
        )

    def _on_h3(self, event: H3Event, now_us: int) -> None:
        if isinstance(event, HeadersReceived | DataReceived) and event.stream_ended:
            self._open_streams.discard(event.stream_id)
            if not self._open_streams:
                self._next_turn(now_us)

    def _close(self, _now_us: int) -> None:
        self._endpoint.connection.close(error_code=0x100, reason_phrase="")


def _ignore(_turn: int) -> None:
    """Most clients stay where they are."""
