"""What people call an event: our name, a log's name for it, or either without what stands before the colon. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from quiclens_schema import catalogue

# Of packets and frames that were sent, and of those that came in; other events go no way.
WAYS = {
    "sent": (
        "quic:packet_sent",
        "quic:packet_lost",
        "quic:marked_for_retransmit",
        "quic:spurious_loss",
        "quic:packets_acked",
        "quic:udp_datagrams_sent",
        "quic:frames_created",
        "http3:frame_created",
        "http3:datagram_created",
        "http:capsule_created",
    ),
    "received": (
        "quic:packet_received",
        "quic:packet_dropped",
        "quic:packet_buffered",
        "quic:udp_datagrams_received",
        "quic:udp_datagram_dropped",
        "quic:frames_parsed",
        "http3:frame_parsed",
        "http3:datagram_parsed",
        "http:capsule_parsed",
    ),
}


@dataclass(frozen=True)
class EventNames:
    """Events with one of these names, or with one of these behind the colon of theirs."""

    whole: tuple[str, ...]
    short: tuple[str, ...]


def called(names: Iterable[str]) -> EventNames:
    """Case does not matter, and a space is as good as an underscore."""
    whole: list[str] = []
    short: list[str] = []
    for name in filter(None, names):
        plain = _plain(name)
        if plain in _known():
            whole.append(_known()[plain])
        else:
            whole.append(name)
            short.append(plain.partition(":")[2] or plain)
    return EventNames(tuple(whole), tuple(short))


@cache
def _known() -> dict[str, str]:
    """Our name of every event by each of its names that has a colon, or is a log's alone."""
    events = catalogue.load().events
    seen = {_plain(name): event.name for event in events for name in event.seen}
    return seen | {_plain(event.name): event.name for event in events}


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_")
