"""Which packets of a log were in flight when: what a step of the clock has to fall between to be seen."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from quiclens_lab.damage.logs import Record

NOT_ELICITING = {"ack", "padding", "connection_close"}
ONE_RTT = ("1rtt", "onertt")
"""What logs call packets of application data."""


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """A packet of this end and the acknowledgement that measures its round trip, as places in the list of records."""

    sent: int
    acknowledged: int


def round_trips(records: Sequence[Record], packet_types: Collection[str] = ONE_RTT) -> list[RoundTrip]:
    """One for each acknowledgement whose largest packet is acknowledged for the first time, of packets of these types,
    which share their numbers."""
    past_the_end = _ends_past_the_last(records)
    waiting: dict[int, int] = {}
    found = []
    for place, record in enumerate(records):
        if record.kind == "packet_sent" and _packet_type(record) in packet_types:
            number = _number(record)
            if number is not None and _is_eliciting(record):
                waiting[number] = place
        elif record.kind == "packet_received" and _packet_type(record) in packet_types:
            ranges = [(low, high - past_the_end) for low, high in acknowledged(record)]
            if not ranges:
                continue
            largest = max(high for _, high in ranges)
            if largest in waiting:
                found.append(RoundTrip(waiting[largest], place))
            waiting = {
                number: sent
                for number, sent in waiting.items()
                if not any(low <= number <= high for low, high in ranges)
            }
    return found


def acknowledged(record: Record) -> Iterator[tuple[int, int]]:
    """The ranges of packet numbers that a packet acknowledges."""
    for frame in _frames(record):
        if frame.get("frame_type") == "ack":
            for each in frame.get("acked_ranges") or ():
                numbers = each if isinstance(each, list) else [each]
                yield int(numbers[0]), int(numbers[-1])


def _ends_past_the_last(records: Sequence[Record]) -> int:
    """1 where the log's ranges end after their last packet, so that they name packets that were never sent."""
    last_sent = -1
    for record in records:
        if _packet_type(record) not in ONE_RTT:
            continue
        if record.kind == "packet_sent":
            last_sent = max(last_sent, _number(record) or 0)
        elif record.kind == "packet_received" and any(high > last_sent for _, high in acknowledged(record)):
            return 1
    return 0


def _packet_type(record: Record) -> str | None:
    if record.kind not in ("packet_sent", "packet_received"):
        return None
    return str(record.data.get("header", {}).get("packet_type")).lower()


def _number(record: Record) -> int | None:
    number = record.data.get("header", {}).get("packet_number")
    return int(number) if number is not None else None


def _is_eliciting(record: Record) -> bool:
    return any(frame.get("frame_type") not in NOT_ELICITING for frame in _frames(record))


def _frames(record: Record) -> list[dict[str, Any]]:
    return record.data.get("frames") or []
