"""What one simulated connection is asked to do. Plain values: the same plan always gives the same traces."""

from dataclasses import dataclass, field

from quiclens_lab.path import PathSpec
from quiclens_lab.roaming import Roaming

START_US = 1_000_000  # virtual time of the client's first packet

DIMENSIONS = (
    "server", "cluster", "pop", "carrier", "asn", "country", "region", "city", "network_type", "app_version",
    "h3_cell",
)  # fmt: skip


@dataclass(frozen=True)
class Dimensions:
    """Where a connection came from and who answered it, by the catalogue's names."""

    server: str
    cluster: str
    pop: str
    carrier: str
    asn: int
    country: str
    region: str
    city: str
    network_type: str
    app_version: str
    h3_cell: str
    client_network: str


@dataclass(frozen=True)
class RequestPlan:
    """One exchange: what the client sends, how long the server thinks, what it answers and in which pieces."""

    path: str
    response_bytes: int
    think_us: int = 1_000
    method: str = "GET"
    request_bytes: int = 0
    status: int = 200
    chunk_bytes: int | None = None
    chunk_gap_us: int = 0
    upload_pause_us: int = 0  # how long the client stops in the middle of its body


@dataclass(frozen=True)
class Turn:
    """Requests sent at one moment, `gap_us` after the turn before it was answered."""

    requests: tuple[RequestPlan, ...]
    gap_us: int = 0


@dataclass(frozen=True)
class ClientLimits:
    """The client's flow control. A held limit slides with what was read; otherwise aioquic doubles it by itself."""

    connection_bytes: int = 1_048_576
    stream_bytes: int = 1_048_576
    is_connection_held: bool = False
    is_stream_held: bool = False


@dataclass(frozen=True)
class Transport:
    """How the server sends. A fixed pace stands for a rate that is wrong for the path."""

    congestion_controller: str = "reno"
    is_paced: bool = True
    pace_bps: int | None = None
    cwnd_cap_bytes: int | None = None
    initial_window_bytes: int | None = None
    is_amplification_limited: bool = True


@dataclass(frozen=True)
class AimedLoss:
    """A loss aimed at one response: a first run without it shows where its `place` is, a second run has it.

    A `gap` is an early packet that is lost, and lost again when it is repaired: that takes a third run.
    """

    request_number: int
    place: str  # middle | tail | blackout | gap
    packets: int = 3
    duration_us: int = 0


@dataclass(frozen=True)
class ConnectionPlan:
    """Everything about one connection; `wall_start_us` is the epoch time of the client's first packet.

    A resumed one has a ticket of an earlier connection and makes its first turn's requests in 0-RTT.
    """

    seed: int
    wall_start_us: int
    authority: str
    path: PathSpec
    dimensions: Dimensions
    turns: tuple[Turn, ...]
    limits: ClientLimits = field(default_factory=ClientLimits)
    transport: Transport = field(default_factory=Transport)
    strike: AimedLoss | None = None
    is_resumed: bool = False
    is_closed_by_client: bool = True
    client_skew_us: int = 0
    max_steps: int = 400_000
    roaming: Roaming | None = None
    has_late_timers: bool = False
    """Timers of both ends fire up to a millisecond late."""

    @property
    def requests(self) -> tuple[RequestPlan, ...]:
        """All requests in the order in which the client makes them; the index is the request number."""
        return tuple(request for turn in self.turns for request in turn.requests)
