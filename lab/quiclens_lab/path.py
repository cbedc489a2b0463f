"""A simulated path: rate, delay, a queue that drops its tail, random and bursty loss, blackouts.

Time is virtual, in whole microseconds. Whether a packet is lost depends only on (seed, direction, the time bin in which
it leaves the bottleneck), never on how many packets went before: taking another cause away leaves the same bins lossy.
"""

import struct
from dataclasses import dataclass, field
from hashlib import blake2b

IP_UDP_HEADER_BYTES = 28
LOSS_BIN_US = 500


@dataclass(frozen=True)
class Burst:
    """Bursty loss: a bin of `bin_us` is bad with `bad_probability`; in a bad bin a packet is lost with `loss_rate`."""

    bad_probability: float
    bin_us: int = 40_000
    loss_rate: float = 0.6


@dataclass(frozen=True)
class Window:
    """A stretch of virtual time, its start included and its end not."""

    start_us: int
    end_us: int

    def holds(self, time_us: int) -> bool:
        return self.start_us <= time_us < self.end_us


@dataclass(frozen=True)
class LinkSpec:
    """One direction of a path."""

    rate_bps: int
    delay_us: int
    queue_bytes: int
    loss_rate: float = 0.0
    burst: Burst | None = None
    blackouts: tuple[Window, ...] = ()


@dataclass(frozen=True)
class PathSpec:
    """Both directions: `up` is client to server, `down` is server to client."""

    up: LinkSpec
    down: LinkSpec

    @property
    def rtt_us(self) -> int:
        """The round trip of an empty packet over empty queues."""
        return self.up.delay_us + self.down.delay_us


def bin_fraction(seed: int, direction: str, kind: str, bin_number: int) -> float:
    """A number in [0, 1) that belongs to one time bin of one direction."""
    key = struct.pack("<qq", seed, bin_number)
    (value,) = struct.unpack("<Q", blake2b(key, digest_size=8, person=f"{direction}/{kind}".encode()).digest())
    return float((value >> 11) / (1 << 53))


def is_lost(spec: LinkSpec, seed: int, direction: str, departure_us: int) -> bool:
    """Whether a packet that leaves the bottleneck at this time is lost on the way."""
    if any(window.holds(departure_us) for window in spec.blackouts):
        return True
    fine_bin = departure_us // LOSS_BIN_US
    if spec.loss_rate > 0 and bin_fraction(seed, direction, "random", fine_bin) < spec.loss_rate:
        return True
    burst = spec.burst
    if burst is None or bin_fraction(seed, direction, "bad", departure_us // burst.bin_us) >= burst.bad_probability:
        return False
    return bin_fraction(seed, direction, "in bad", fine_bin) < burst.loss_rate


@dataclass
class Link:
    """One direction in use: what the bottleneck still has to send, and when each packet left it."""

    spec: LinkSpec
    seed: int
    direction: str
    busy_until_us: int = 0
    departures_us: list[int] = field(default_factory=list)

    def arrival_us(self, now_us: int, payload_bytes: int) -> int | None:
        """Take a datagram at `now_us` and return when it arrives, or None when the queue or the path lost it."""
        size_bits = (payload_bytes + IP_UDP_HEADER_BYTES) * 8
        starts_us = max(now_us, self.busy_until_us)
        waiting_bytes = (starts_us - now_us) * self.spec.rate_bps // 8_000_000
        if waiting_bytes + payload_bytes + IP_UDP_HEADER_BYTES > self.spec.queue_bytes:
            self.departures_us.append(starts_us)
            return None
        departure_us = starts_us + size_bits * 1_000_000 // self.spec.rate_bps
        self.busy_until_us = departure_us
        self.departures_us.append(departure_us)
        if is_lost(self.spec, self.seed, self.direction, departure_us):
            return None
        return departure_us + self.spec.delay_us
