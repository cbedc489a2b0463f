"""The only module that reaches into aioquic: its clock, its random bytes, its stream order, its limits, its state.

Three traps are handled here and in `aioquic_pair`: its qlog stamps wall time; timers may lie in the past and
connections may never end; its client doubles MAX_DATA and MAX_STREAM_DATA by itself. A fourth one was found: the order
in which parallel streams are served comes out of a set keyed by memory address, which differs from run to run.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

from aioquic import tls as tls_module
from aioquic.quic import connection as connection_module
from aioquic.quic import logger as logger_module
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.congestion.base import register_congestion_control
from aioquic.quic.congestion.cubic import CubicCongestionControl
from aioquic.quic.congestion.reno import RenoCongestionControl
from aioquic.quic.connection import Limit, QuicConnection, QuicNetworkPath
from aioquic.quic.packet import QuicFrameType
from aioquic.quic.recovery import QuicPacketPacer
from aioquic.quic.stream import QuicStream
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate

from quiclens_lab.draws import SeededBytes
from quiclens_lab.plan import Transport


class VirtualClock:
    """Stands in for the `time` module in aioquic's qlog writer."""

    def __init__(self, epoch_us: int) -> None:
        self.epoch_us = epoch_us
        self.now_us = 0
        self.skew_us = 0

    def time(self) -> float:
        return (self.epoch_us + self.skew_us + self.now_us) / 1_000_000


class LabStream(QuicStream):
    """A stream that is served in a repeatable order and whose receive window may be held."""

    held_window: int | None = None
    _granted: int

    def __hash__(self) -> int:
        return hash(self.stream_id)

    def __eq__(self, other: object) -> bool:
        return self is other

    @property
    def max_stream_data_local(self) -> int:
        return self._granted

    @max_stream_data_local.setter
    def max_stream_data_local(self, value: int) -> None:
        self._granted = value if self.held_window is None else slid(self._granted, self._read, self.held_window)

    @property
    def _read(self) -> int:
        return int(self.receiver.starting_offset())


class HeldLimit(Limit):
    """A MAX_DATA limit that slides with what was received instead of doubling."""

    def __init__(self, window: int) -> None:
        self._granted = window
        self.window = window
        super().__init__(frame_type=QuicFrameType.MAX_DATA, name="max_data", value=window)

    @property
    def value(self) -> int:
        return self._granted

    @value.setter
    def value(self, _wanted: int) -> None:
        self._granted = slid(self._granted, getattr(self, "used", 0), self.window)


def slid(granted: int, consumed: int, window: int) -> int:
    """The limit of a receiver that grants `window` beyond what it consumed, in steps of half a window."""
    wanted = consumed + window
    return wanted if wanted - granted >= window // 2 else granted


class UnpacedPacer(QuicPacketPacer):
    """A pacer that never learns a rate, and so never holds a packet back."""

    def update_rate(self, congestion_window: int, smoothed_rtt: float) -> None:
        pass


class FixedPacer(QuicPacketPacer):
    """A pacer that keeps one rate, whatever the path can carry, and never sends two packets together.

    aioquic's own often does: a rounding error left in its bucket counts as room for a packet.
    """

    def __init__(self, *, max_datagram_size: int, rate_bps: int) -> None:
        super().__init__(max_datagram_size=max_datagram_size)
        self._apart = max_datagram_size * 8 / rate_bps
        self._next = 0.0

    def next_send_time(self, now: float) -> float | None:  # type: ignore[override]
        return self._next if self._next > now else None

    def update_after_send(self, now: float) -> None:
        self._next = now + self._apart

    def update_rate(self, congestion_window: int, smoothed_rtt: float) -> None:
        pass


class UnlimitedConnection(QuicConnection):
    """A server that takes every client's address for validated."""

    def _find_network_path(self, addr: Any) -> QuicNetworkPath:
        path = super()._find_network_path(addr)
        path.is_validated = True
        return path


class HeldStreamsConnection(QuicConnection):
    """A client whose request streams keep a fixed window."""

    def _get_or_create_stream_for_send(self, stream_id: int) -> QuicStream:
        stream = super()._get_or_create_stream_for_send(stream_id)
        if stream_id % 4 == 0 and isinstance(stream, LabStream):
            stream.held_window = self.configuration.max_stream_data
        return stream


def hold_connection_credit(connection: QuicConnection, window: int) -> None:
    """Keep the connection's receive window at `window`; call before connecting."""
    connection._local_max_data = HeldLimit(window)


@contextmanager
def repeatable(seed: int, clock: VirtualClock) -> Iterator[None]:
    """Give aioquic the virtual clock, seeded bytes and an ordered stream queue; put everything back afterwards."""
    modules: list[tuple[Any, str, Any]] = [
        (logger_module, "time", clock),
        (connection_module, "os", SeededBytes(seed, "connection")),
        (tls_module, "os", SeededBytes(seed, "tls")),
        (connection_module, "QuicStream", LabStream),
    ]
    before = [(module, name, getattr(module, name)) for module, name, _ in modules]
    for module, name, value in modules:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def load_certificate(configuration: QuicConfiguration) -> None:
    """Use the lab's own certificate: an Ed25519 key, so that signatures always have the same length."""
    folder = files("quiclens_lab")
    configuration.certificate = load_pem_x509_certificate((folder / "test_only_certificate.pem").read_bytes())
    configuration.private_key = load_pem_private_key((folder / "test_only_key.pem").read_bytes(), password=None)


def congestion_algorithm(transport: Transport) -> str:
    """The name under which aioquic finds the wanted controller; a capped one is registered on first use."""
    if transport.cwnd_cap_bytes is None:
        return transport.congestion_controller
    cap: int = transport.cwnd_cap_bytes
    base: type[Any] = {"reno": RenoCongestionControl, "cubic": CubicCongestionControl}[transport.congestion_controller]

    class Capped(base):  # type: ignore[misc]
        def on_packet_acked(self, *, now: float, packet: Any) -> None:
            super().on_packet_acked(now=now, packet=packet)
            self.congestion_window: int = min(self.congestion_window, cap)

    name = f"{transport.congestion_controller}-{cap}"
    register_congestion_control(name, Capped)
    return name


def shape_sending(connection: QuicConnection, transport: Transport) -> None:
    """Give a server the pacer and the first window of its plan; aioquic's own stay where the plan has none."""
    size = connection.configuration.max_datagram_size
    if not transport.is_paced:
        connection._loss._pacer = UnpacedPacer(max_datagram_size=size)
    elif transport.pace_bps is not None:
        connection._loss._pacer = FixedPacer(max_datagram_size=size, rate_bps=transport.pace_bps)
    if transport.initial_window_bytes is not None:
        connection._loss._cc.congestion_window = transport.initial_window_bytes


def received_streams(connection: QuicConnection) -> list[int]:
    """The request streams of which anything has arrived and that are not yet forgotten."""
    return [
        stream_id
        for stream_id, stream in connection._streams.items()
        if stream_id % 4 == 0 and (stream.receiver.highest_offset > 0 or stream.receiver.is_finished)
    ]


def stream_of(connection: QuicConnection, stream_id: int) -> QuicStream:
    return connection._streams[stream_id]


def call_by(connection: QuicConnection, connection_id: bytes) -> None:
    """Give a client that has sent nothing yet its first destination id, which is drawn else."""
    connection._peer_cid.cid = connection_id
    connection._original_destination_connection_id = connection_id


def is_ending(connection: QuicConnection) -> bool:
    """Whether a close was sent or received."""
    return connection._state in connection_module.END_STATES


def events_logged(trace: Any) -> int:
    return len(trace._events)
