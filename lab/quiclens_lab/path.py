"""A simulated path: rate, delay, a queue that drops its tail, random and bursty loss, blackouts.

A script changes it from the moment on at which the target is asked for.

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
class Script:
    """What a path does beside its rate and delay; times count from the moment at which the target is asked for."""

    slow: Window | None = None
    """When the rate is only one `slow_by`th of itself."""
    slow_by: int = 1
    dark: Window | None = None
    """When nothing passes, either way."""
    queue_bytes: int | None = None
    longest_jitter_us: int = 0
    """How late a datagram can be; none overtakes another."""
    others_tenths: int = 0
    """Every other 60 ms another flow sends at so many tenths of the rate."""


CONSTANT = "constant"
SCRIPTS = {
    CONSTANT: Script(),
    "shallow": Script(queue_bytes=15_000),
    "deep": Script(queue_bytes=2_000_000),
    "jitter": Script(longest_jitter_us=8_000),
    "drop-and-back": Script(slow=Window(100_000, 500_000), slow_by=8),
    "low-and-up": Script(slow=Window(0, 300_000), slow_by=4),
    "black-hole": Script(dark=Window(150_000, 450_000)),
    "cross-traffic": Script(others_tenths=7),
    "late-hole": Script(dark=Window(300_000, 500_000)),
    "high-and-low": Script(slow=Window(200_000, 1_000_000), slow_by=5),
    "narrow-jitter": Script(queue_bytes=30_000, longest_jitter_us=15_000),
}
"""Those of lab/injected/src/link.rs and lab/quicgo/script.go."""

OTHERS_PACKET_BYTES = 1_250
OTHERS_TURN_US = 60_000


@dataclass(frozen=True)
class PathSpec:
    """Both directions: `up` is client to server, `down` is server to client."""

    up: LinkSpec
    down: LinkSpec
    script: str = CONSTANT

    @property
    def rtt_us(self) -> int:
        """The round trip of an empty packet over empty queues."""
        return self.up.delay_us + self.down.delay_us


@dataclass(frozen=True)
class PathFacts:
    """What a path did from the moment on at which the target was asked for: it says what was no cause."""

    lost: int
    """Datagrams, both ways."""
    busy_us: int
    """The longest stretch in which the bottleneck to the client never stood still."""
    rtt_us: int
    """Of an empty packet over empty queues."""


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
    script: Script = field(default_factory=Script)
    busy_until_us: int = 0
    departures_us: list[int] = field(default_factory=list)
    lost: int = 0
    """Since the target was asked for, as `busy_us`."""
    busy_us: int = 0
    _busy_since_us: int = 0
    _origin_us: int | None = None
    _last_arrival_us: int = 0
    _others_next_us: int | None = None

    def begin(self, now_us: int) -> None:
        """The target is asked for."""
        self._origin_us = now_us
        self.lost = self.busy_us = 0
        if self.script.others_tenths:
            self._others_next_us = now_us

    def arrival_us(self, now_us: int, payload_bytes: int) -> int | None:
        """Take a datagram at `now_us` and return when it arrives, or None when the queue or the path lost it."""
        self._let_others_send(now_us)
        if self._is_dark(now_us):
            self.departures_us.append(now_us)
            self.lost += 1
            return None
        departure_us = self._departure_us(now_us, payload_bytes + IP_UDP_HEADER_BYTES)
        self.departures_us.append(max(now_us, self.busy_until_us) if departure_us is None else departure_us)
        if departure_us is None or is_lost(self.spec, self.seed, self.direction, departure_us):
            self.lost += 1
            return None
        self._last_arrival_us = max(self._last_arrival_us, departure_us + self.spec.delay_us + self._jitter_us())
        return self._last_arrival_us

    def _departure_us(self, now_us: int, size_bytes: int) -> int | None:
        """Put bytes into the queue and return when they have left the bottleneck, or None when it is full."""
        starts_us = max(now_us, self.busy_until_us)
        queue_bytes = self.spec.queue_bytes if self.script.queue_bytes is None else self.script.queue_bytes
        if self._bits_between(now_us, starts_us) // 8_000_000 + size_bytes > queue_bytes:
            return None
        if starts_us > self.busy_until_us:
            self._busy_since_us = starts_us
        self.busy_until_us = self._left_us(starts_us, size_bytes * 8 * 1_000_000)
        self.busy_us = max(self.busy_us, self.busy_until_us - self._busy_since_us)
        return self.busy_until_us

    def _rate(self, at_us: int) -> tuple[int, int | None]:
        """The rate at a moment, and when it changes next."""
        slow, origin_us = self.script.slow, self._origin_us
        if slow is None or origin_us is None or at_us - origin_us >= slow.end_us:
            return self.spec.rate_bps, None
        if at_us - origin_us < slow.start_us:
            return self.spec.rate_bps, origin_us + slow.start_us
        return self.spec.rate_bps // self.script.slow_by, origin_us + slow.end_us

    def _bits_between(self, from_us: int, until_us: int) -> int:
        """Millionths of bits that leave a busy bottleneck between two moments."""
        bits = 0
        while from_us < until_us:
            rate, changes_us = self._rate(from_us)
            ends_us = until_us if changes_us is None else min(until_us, changes_us)
            bits += (ends_us - from_us) * rate
            from_us = ends_us
        return bits

    def _left_us(self, from_us: int, bits: int) -> int:
        """When so many millionths of bits have left the bottleneck that begin at a moment."""
        while True:
            rate, changes_us = self._rate(from_us)
            ends_us = from_us + bits // rate
            if changes_us is None or changes_us >= ends_us:
                return ends_us
            bits -= (changes_us - from_us) * rate
            from_us = changes_us

    def _is_dark(self, now_us: int) -> bool:
        dark, origin_us = self.script.dark, self._origin_us
        return dark is not None and origin_us is not None and dark.holds(now_us - origin_us)

    def _jitter_us(self) -> int:
        longest_us = self.script.longest_jitter_us
        return int(bin_fraction(self.seed, self.direction, "jitter", len(self.departures_us)) * longest_us)

    def _let_others_send(self, now_us: int) -> None:
        """Put into the queue what another flow has sent until now; a full queue drops theirs too."""
        while self._others_next_us is not None and self._others_next_us <= now_us:
            assert self._origin_us is not None
            turn = (self._others_next_us - self._origin_us) // OTHERS_TURN_US
            if turn % 2:
                self._others_next_us = self._origin_us + (turn + 1) * OTHERS_TURN_US
                continue
            self._departure_us(self._others_next_us, OTHERS_PACKET_BYTES)
            gap_us = OTHERS_PACKET_BYTES * 8 * 10_000_000 // (self.script.others_tenths * self.spec.rate_bps)
            self._others_next_us += max(1, gap_us)
