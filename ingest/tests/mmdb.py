"""Writes a small database in the MaxMind format (MaxMind DB File Format Specification 2.0): one IPv4 network."""

import ipaddress
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = "str | int | Sized | dict[str, Value] | list[Value]"


@dataclass(frozen=True)
class Sized:
    """A whole number of a type of the format: 5 for 16 bits, 9 for 64."""

    kind: int
    size: int
    number: int


def _control(kind: int, size: int) -> bytes:
    low, more = (size, b"") if size < 29 else (29, bytes([size - 29]))  # from 285 on it takes two bytes more
    return (bytes([low, kind - 7]) if kind > 7 else bytes([kind << 5 | low])) + more


def _encode(value: Value) -> bytes:
    match value:
        case str():
            return _control(2, len(value.encode())) + value.encode()
        case int():
            return _control(6, 4) + value.to_bytes(4)
        case Sized():
            return _control(value.kind, value.size) + value.number.to_bytes(value.size)
        case dict():
            return _control(7, len(value)) + b"".join(_encode(key) + _encode(each) for key, each in value.items())
        case list():
            return _control(11, len(value)) + b"".join(_encode(each) for each in value)


def database(network: str, record: dict[str, Value]) -> bytes:
    """A database that knows this network alone: a chain of nodes, one a bit, with nothing on the other sides."""
    known = ipaddress.IPv4Network(network)
    nodes = known.prefixlen
    tree = b""
    for depth in range(nodes):
        bit = int(known.network_address) >> (31 - depth) & 1
        on = depth + 1 if depth + 1 < nodes else nodes + 16  # the data section begins 16 behind the tree's numbers
        sides = (nodes, on) if bit else (on, nodes)
        tree += b"".join(side.to_bytes(3) for side in sides)
    metadata: dict[str, Value] = {
        "node_count": nodes,
        "record_size": Sized(5, 2, 24),
        "ip_version": Sized(5, 2, 4),
        "database_type": "Test",
        "languages": ["en"],
        "binary_format_major_version": Sized(5, 2, 2),
        "binary_format_minor_version": Sized(5, 2, 0),
        "build_epoch": Sized(9, 8, 1),
        "description": {"en": "test"},
    }
    return tree + bytes(16) + _encode(record) + b"\xab\xcd\xefMaxMind.com" + _encode(metadata)
