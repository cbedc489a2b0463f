"""A process that stands still for a while: the one damage of times that a stack sees too, so that its samples grow."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile

from quiclens_lab.damage.flight import ONE_RTT, RoundTrip, round_trips
from quiclens_lab.damage.logs import NS_PER_MS, LogRecords, Record

PACKET_TYPES = (("initial",), ("handshake",), ONE_RTT)
"""Those of each number space."""


@dataclass(frozen=True)
class Frozen:
    """The process stands still while a packet is on its way, and then does at once what it missed.

    What was under way arrives meanwhile and waits in the socket: all records of the next round trip fall on the moment
    in which the process runs again, all later ones are late by the whole time. Round trips that the log states grow as
    the times of their records do.
    """

    name: str = "frozen-300ms"
    length_ms: int = 300

    def to(self, log: LogRecords, draw: random.Random) -> LogRecords | None:
        trips = round_trips(log.records)
        if not trips:
            return None
        times = [record.time_ns for record in log.records]
        trip = draw.choice(trips)
        stops = times[draw.randrange(trip.sent + 1, trip.acknowledged + 1)]
        goes_on = stops + self.length_ms * NS_PER_MS
        under_way = stops + min(times[each.acknowledged] - times[each.sent] for each in trips)

        def late(time_ns: int) -> int:
            if time_ns < stops:
                return 0
            return goes_on - time_ns if time_ns < under_way else self.length_ms * NS_PER_MS

        records = _with_every_sample(log.records)
        samples = _samples(records)
        longer: dict[int, int] = {}
        for each in chain.from_iterable(round_trips(log.records, types) for types in PACKET_TYPES):
            sample = _sample_of(each, records, samples)
            grown = late(times[each.acknowledged]) - late(times[each.sent])
            longer |= dict.fromkeys(samples[sample] if sample is not None else (), grown)
        return log.of(
            _with_longer(record, longer.get(place, 0)).at(record.time_ns + late(record.time_ns))
            for place, record in enumerate(records)
        )


def _with_every_sample(records: Iterable[Record]) -> list[Record]:
    """A sample that is as long as the last need not be stated where the smoothed value is: it is here."""
    found = []
    latest = None
    for record in records:
        if record.kind.endswith("metrics_updated"):
            latest = record.data.get("latest_rtt", latest)
            if "smoothed_rtt" in record.data and "latest_rtt" not in record.data and latest is not None:
                record = record.with_data(record.data | {"latest_rtt": latest})
        found.append(record)
    return found


def _samples(records: Sequence[Record]) -> dict[int, list[int]]:
    """The places in which each sample is stated, by the first of them: snapshots repeat it, with its smoothed value."""
    found: dict[int, list[int]] = {}
    last, places = None, list[int]()
    for place, record in enumerate(records):
        if record.kind.endswith("metrics_updated") and isinstance(record.data.get("latest_rtt"), float | int):
            stated = (record.data["latest_rtt"], record.data.get("smoothed_rtt"))
            if stated != last or stated[1] is None:
                last, places = stated, []
                found[place] = places
            places.append(place)
    return found


def _sample_of(trip: RoundTrip, records: Sequence[Record], samples: Iterable[int]) -> int | None:
    """Where the sample of a round trip is stated first: behind its acknowledgement, in quic-go's logs before it."""
    times = [records[place].time_ns for place in (trip.sent, trip.acknowledged)]
    before = takewhile(
        lambda place: "packet" not in records[place].kind and records[place].time_ns == times[1],
        range(trip.acknowledged - 1, -1, -1),
    )
    behind = takewhile(
        lambda place: records[place].kind != "packet_received", range(trip.acknowledged + 1, len(records))
    )
    measured = (times[1] - times[0]) / NS_PER_MS
    found = [place for place in chain(behind, before) if place in samples]
    return min(found, key=lambda place: abs(records[place].data["latest_rtt"] - measured), default=None)


def _with_longer(record: Record, longer_ns: int) -> Record:
    if not longer_ns:
        return record
    return record.with_data(record.data | {"latest_rtt": record.data["latest_rtt"] + longer_ns / NS_PER_MS})
