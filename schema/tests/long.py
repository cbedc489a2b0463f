"""Tests that `make test` leaves to `make test-all`: `@pytest.mark.long`, or some of a test's parameters."""

from collections.abc import Iterable
from zlib import crc32

import pytest
from _pytest.mark.structures import ParameterSet


def some(names: Iterable[str], *short: str) -> list[str | ParameterSet]:
    """All `names` as parameters of a test; those that are not `short` are long."""
    every = list(names)
    assert set(short) <= set(every)
    return [name if name in short else pytest.param(name, marks=pytest.mark.long) for name in every]


def one_of_so_many(names: Iterable[str], of: int) -> list[str]:
    """A share of them, each by its own name: one that is added changes nothing of the others."""
    return [name for name in names if crc32(name.encode()) % of == 0]
