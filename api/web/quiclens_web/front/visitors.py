"""What each visitor has of something, as long as one of its requests uses it.

with places.of(who) as mine:
    async with mine: ...
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class _OfOne(Generic[T]):
    value: T
    uses: int = 0


class OfEachVisitor(Generic[T]):
    """One for each visitor, made for its first request and let go of with its last; used from the event loop alone."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._shares: dict[str, _OfOne[T]] = {}

    @contextmanager
    def of(self, who: str) -> Iterator[T]:
        """That of a visitor, for one request."""
        share = self._shares.setdefault(who, _OfOne(self._make()))
        share.uses += 1
        try:
            yield share.value
        finally:
            share.uses -= 1
            if not share.uses:
                del self._shares[who]
