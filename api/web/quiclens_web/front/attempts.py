"""Wrong tokens: whoever gives several waits, longer each time, before the next is looked at.

By peer, a network of /64 where it has an IPv6 address. A token that was right from a peer before is looked at without
waiting, so that one program's guessing does not stop another's work behind the same address; so is every right one of
16 characters (`Doorkeeper.token`). A wrong token that comes
again is no other guess: a program with an old token may ask as often as it likes, and is let in with its next one.
"""

import hashlib
import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

FREE = 5
"""Wrong tokens in a row that cost nothing: somebody who mistypes."""
LONGEST_SECONDS = 60.0
_FORGOTTEN_SECONDS = 600.0
_PEERS_AT_MOST = 10_000
_RIGHT_AT_MOST = 1_000
_TRIED_AT_MOST = 32  # of each peer


@dataclass(slots=True)
class _Peer:
    wrong: int = 0
    last_at: float = 0.0
    until: float = 0.0
    tried: OrderedDict[bytes, None] = field(default_factory=OrderedDict)  # its last wrong tokens


class Attempts:
    """What is remembered of each peer; the one that was heard of longest ago goes when there are too many."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._peers: OrderedDict[str, _Peer] = OrderedDict()
        self._right: OrderedDict[tuple[str, bytes], None] = OrderedDict()

    def wait_seconds(self, address: str, token: str) -> float:
        """How long a token from there is not looked at; 0 when it is."""
        peer = self._peers.get(network_of(address))
        if peer is None or (network_of(address), _digest(token)) in self._right:
            return 0.0
        return max(0.0, peer.until - self._now())

    def was_wrong(self, address: str, token: str) -> None:
        network, now = network_of(address), self._now()
        peer = self._peers.setdefault(network, _Peer())
        if now - peer.last_at > _FORGOTTEN_SECONDS:
            peer.wrong = 0
        peer.last_at = now
        if (digest := _digest(token)) not in peer.tried:
            peer.wrong += 1
            if peer.wrong > FREE:
                peer.until = now + min(2.0 ** min(peer.wrong - FREE - 1, 16), LONGEST_SECONDS)
        peer.tried[digest] = None
        peer.tried.move_to_end(digest)
        while len(peer.tried) > _TRIED_AT_MOST:
            peer.tried.popitem(last=False)
        self._peers.move_to_end(network)
        while len(self._peers) > _PEERS_AT_MOST:
            self._peers.popitem(last=False)

    def was_right(self, address: str, token: str) -> None:
        known = (network_of(address), _digest(token))
        self._right[known] = None
        self._right.move_to_end(known)
        while len(self._right) > _RIGHT_AT_MOST:
            self._right.popitem(last=False)


@lru_cache(4096)
def network_of(address: str) -> str:
    """Whom an address is of: itself, its /64 where it is IPv6, and IPv4 within IPv6 as IPv4."""
    try:
        read = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(read, ipaddress.IPv6Address):
        return str(read.ipv4_mapped or ipaddress.ip_network((read, 64), strict=False))
    return str(read)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
