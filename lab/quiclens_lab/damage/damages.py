"""The damages: what becomes of a log's records. Each is a pure function of the log and of a draw."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Protocol

from quiclens_lab.damage.flight import round_trips
from quiclens_lab.damage.frozen import Frozen
from quiclens_lab.damage.logs import NS_PER_MS, LogRecords, Record

NOT_DATA = {"ack", "padding"}


class Damage(Protocol):
    """What happens to a log; None where it cannot happen to this one."""

    @property
    def name(self) -> str: ...

    def to(self, log: LogRecords, draw: random.Random) -> LogRecords | None: ...


@dataclass(frozen=True)
class Nothing:
    """The log is read, written again and left as it is."""

    name: str = "none"

    def to(self, log: LogRecords, draw: random.Random) -> LogRecords:
        return log


@dataclass(frozen=True)
class Missing:
    """A share of the records is missing, each by chance."""

    name: str
    share: float

    def to(self, log: LogRecords, draw: random.Random) -> LogRecords:
        return log.of(record for record in log.records if draw.random() >= self.share)


@dataclass(frozen=True)
class Bursts:
    """A full buffer drops runs of records: one run for each `records_each`, and of no log more than half."""

    name: str = "bursts"
    shortest: int = 20
    longest: int = 500
    records_each: int = 2000

    def to(self, log: LogRecords, draw: random.Random) -> LogRecords:
        count = len(log.records)
        gone: set[int] = set()
        for _ in range(math.ceil(count / self.records_each)):
            length = round(math.exp(draw.uniform(math.log(self.shortest), math.log(self.longest))))
            length = min(length, count // 2)
            first = draw.randrange(count - length + 1)
            gone.update(range(first, first + length))
        return log.of(record for place, record in enumerate(log.records) if place not in gone)


@dataclass(frozen=True)
class Hole:
    """Nothing is logged for a while, from a record on that chance chooses."""

    name: str
    length_ms: int

    def to(self, log: LogRecords, draw: random.Random) -> LogRecords:
        first = draw.choice(log.records).time_ns
        last = first + self.length_ms * NS_PER_MS
        return log.of(record for record in log.records if not first <= record.time_ns < last)


@dataclass(frozen=True)
class LeftOut:
    """A level of logging that leaves some kinds out."""

    name: str
    is_left_out: Callable[[Record], bool]

    def to(self, log: LogRecords, draw: random.Random) -> LogRecords | None:
        kept = [record for record in log.records if not self.is_left_out(record)]
        return log.of(kept) if len(kept) < len(log.records) else None


@dataclass(frozen=True)
class WithoutFrames:
    """A level that logs packets without what is in them."""

    name: str = "no-frames"

    def to(self, log: LogRecords, draw: random.Random) -> LogRecords:
        return log.of(map(self._stripped, log.records))

    def _stripped(self, record: Record) -> Record:
        if not record.kind.startswith("packet_") or "frames" not in record.data:
            return record
        return record.with_data({key: value for key, value in record.data.items() if key != "frames"})


@dataclass(frozen=True)
class FirstPackets:
    """The log ends after so many packets."""

    name: str = "first-100-packets"
    packets: int = 100

    def to(self, log: LogRecords, draw: random.Random) -> LogRecords | None:
        packets = [
            place for place, record in enumerate(log.records) if record.kind in ("packet_sent", "packet_received")
        ]
        return log.of(log.records[: packets[self.packets]]) if len(packets) > self.packets else None


@dataclass(frozen=True)
class CutOff:
    """The file ends in the middle of a record, somewhere behind its first third."""

    name: str = "cut-off"

    def to(self, log: LogRecords, draw: random.Random) -> LogRecords:
        place = draw.randrange(len(log.records) // 3, len(log.records))
        whole = replace(log.of(log.records[: place + 1]), tail=b"").content()
        return replace(log, head=whole[: len(whole) - len(log.records[place].text) // 2], records=(), tail=b"")


@dataclass(frozen=True)
class OutOfOrder:
    """Threads write records late by up to so much; their times are right."""

    name: str
    late_ms: float

    def to(self, log: LogRecords, draw: random.Random) -> LogRecords:
        written = [record.time_ns + draw.uniform(0, self.late_ms * NS_PER_MS) for record in log.records]
        places = sorted(range(len(written)), key=written.__getitem__)
        return log.of(log.records[place] for place in places)


@dataclass(frozen=True)
class EqualTimesShuffled:
    """The records of each moment stand in an order of chance."""

    name: str = "equal-times-shuffled"

    def to(self, log: LogRecords, draw: random.Random) -> LogRecords | None:
        shuffled: list[Record] = []
        for _, of_moment in groupby(log.records, key=lambda record: record.time_ns):
            group = list(of_moment)
            draw.shuffle(group)
            shuffled += group
        return log.of(shuffled) if len({record.time_ns for record in shuffled}) < len(shuffled) else None


@dataclass(frozen=True)
class Rounded:
    """Times are whole multiples of so much."""

    name: str
    unit_ms: int

    def to(self, log: LogRecords, draw: random.Random) -> LogRecords:
        unit = self.unit_ms * NS_PER_MS
        return log.of(record.at((record.time_ns + unit // 2) // unit * unit) for record in log.records)


@dataclass(frozen=True)
class Noise:
    """Each time is off by up to so much either way; the order is as it was."""

    name: str
    most_ms: float

    def to(self, log: LogRecords, draw: random.Random) -> LogRecords:
        most = self.most_ms * NS_PER_MS
        first = min((record.time_ns for record in log.records), default=0)
        return log.of(
            record.at(max(first, record.time_ns + round(draw.uniform(-most, most)))) for record in log.records
        )


@dataclass(frozen=True)
class ClockStep:
    """The log's clock steps by 50 to 500 ms, while a packet is on its way whose round trip will be measured."""

    name: str
    sign: int
    least_ms: int = 50
    most_ms: int = 500

    def to(self, log: LogRecords, draw: random.Random) -> LogRecords | None:
        trips = round_trips(log.records)
        if not trips:
            return None
        trip = draw.choice(trips)
        first = draw.randrange(trip.sent + 1, trip.acknowledged + 1)
        step = self.sign * round(draw.uniform(self.least_ms, self.most_ms) * NS_PER_MS)
        return log.of(
            record.at(record.time_ns + step) if place >= first else record for place, record in enumerate(log.records)
        )


@dataclass(frozen=True)
class Duplicates:
    """A share of the records stands there twice."""

    name: str = "duplicates-1%"
    share: float = 0.01

    def to(self, log: LogRecords, draw: random.Random) -> LogRecords:
        return log.of(
            each for record in log.records for each in ((record, record) if draw.random() < self.share else (record,))
        )


def _is_acknowledgement_alone(record: Record) -> bool:
    if record.kind != "packet_sent":
        return False
    frames = [frame.get("frame_type") for frame in record.data.get("frames") or ()]
    return bool(frames) and set(frames) <= NOT_DATA


def _kind(*kinds: str) -> Callable[[Record], bool]:
    return lambda record: record.kind in kinds


DAMAGES: Sequence[Damage] = (
    Nothing(),
    Missing("missing-0.1%", 0.001),
    Missing("missing-1%", 0.01),
    Missing("missing-5%", 0.05),
    Missing("missing-20%", 0.20),
    Bursts(),
    Hole("hole-50ms", 50),
    Hole("hole-500ms", 500),
    LeftOut("no-metrics", _kind("metrics_updated", "recovery_metrics_updated")),
    LeftOut("no-packet_lost", _kind("packet_lost")),
    LeftOut("no-http", lambda record: record.name.partition(":")[0] in ("http", "http3", "h3", "qpack")),
    LeftOut("no-packet_received", _kind("packet_received")),
    LeftOut("no-packet_sent", _kind("packet_sent")),
    LeftOut("no-ack-only-sent", _is_acknowledgement_alone),
    LeftOut("no-timers", _kind("timer_updated", "loss_timer_updated")),
    LeftOut("no-datagrams", _kind("datagrams_sent", "datagrams_received", "udp_datagrams_sent",
                                  "udp_datagrams_received")),
    WithoutFrames(),
    FirstPackets(),
    CutOff(),
    OutOfOrder("out-of-order-1ms", 1),
    OutOfOrder("out-of-order-10ms", 10),
    EqualTimesShuffled(),
    Rounded("rounded-1ms", 1),
    Rounded("rounded-10ms", 10),
    Noise("noise-0.1ms", 0.1),
    Noise("noise-1ms", 1),
    ClockStep("clock-forward", 1),
    ClockStep("clock-backward", -1),
    Frozen(),
    Duplicates(),
)  # fmt: skip
"""All of them, in the order of the tables."""
