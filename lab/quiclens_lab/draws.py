"""Random values as hashes of their names: no stream is shared, so adding one draw never changes another."""

import struct
from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

Item = TypeVar("Item")
Label = int | str


def digest(seed: int, *labels: Label, size: int = 8) -> bytes:
    """Hash a seed and the name of a draw; the same name always gives the same bytes."""
    text = "\x1f".join(str(label) for label in (seed, *labels))
    return blake2b(text.encode(), digest_size=size).digest()


def fraction(seed: int, *labels: Label) -> float:
    """Draw a number in [0, 1)."""
    (value,) = struct.unpack("<Q", digest(seed, *labels))
    return float((value >> 11) / (1 << 53))


def between(low: float, high: float, seed: int, *labels: Label) -> float:
    """Draw a number in [low, high)."""
    return low + (high - low) * fraction(seed, *labels)


def whole(low: int, high: int, seed: int, *labels: Label) -> int:
    """Draw an integer in [low, high], both ends included."""
    return low + int(fraction(seed, *labels) * (high - low + 1))


def skewed(low: float, high: float, seed: int, *labels: Label) -> float:
    """Draw a number in [low, high) evenly on a logarithmic scale: many small, few large."""
    return float(low * (high / low) ** fraction(seed, *labels))


def choice(items: Sequence[Item], seed: int, *labels: Label) -> Item:
    """Draw one of the items, each as likely as the others."""
    return items[int(fraction(seed, *labels) * len(items))]


def weighted(items: Sequence[tuple[float, Item]], seed: int, *labels: Label) -> Item:
    """Draw one of the (weight, item) pairs in proportion to the weights."""
    left = fraction(seed, *labels) * sum(weight for weight, _ in items)
    for weight, item in items:
        left -= weight
        if left < 0:
            return item
    return items[-1][1]


class SeededBytes:
    """Stands in for the `os` module where a stack wants `urandom`: bytes made of the seed and the call number."""

    def __init__(self, seed: int, label: str) -> None:
        self._seed = seed
        self._label = label
        self._calls = 0

    def urandom(self, size: int) -> bytes:
        self._calls += 1
        taken = b""
        while len(taken) < size:
            taken += digest(self._seed, self._label, self._calls, len(taken), size=64)
        return taken[:size]
