"""What was taken from a topic and not yet stored, and when enough of it stands together for one insert."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from quiclens_ingest.message import Heartbeat


@dataclass(frozen=True, slots=True)
class TakenMessage:
    """One message: its place, its rows or the row of `rejects` that says why it has none."""

    partition: int
    offset: int
    at: float  # monotonic seconds
    value: bytes = field(repr=False)
    bytes: int  # that it holds in memory
    sent_at: float = 0.0  # seconds since 1970, as Kafka has it
    batch: Any = field(default=None, repr=False)
    reject: Mapping[str, Any] | None = field(default=None, repr=False)
    heartbeat: Heartbeat | None = None
    newer: tuple[str, ...] = ()  # columns of a newer catalogue

    @property
    def rows(self) -> int:
        return int(self.batch.num_rows) if self.batch is not None else 0


@dataclass(frozen=True, slots=True)
class BlockLimits:
    """When a block is closed: by the first of these that is reached."""

    rows: int
    bytes: int
    age_seconds: float


@dataclass(frozen=True, slots=True)
class Source:
    """Where messages are from, and the table that their rows are for."""

    cluster: str
    topic: str
    table: str


@dataclass(frozen=True, slots=True)
class Block:
    """Messages of one topic that are stored by one insert.

    It remembers its first and last offset per partition: a retry sends exactly the same range, and only the offset
    after a range that is stored is committed.
    """

    source: Source
    taken: tuple[TakenMessage, ...]
    ranges: Mapping[int, tuple[int, int]]
    rows: int
    bytes: int


def next_block(
    source: Source, pending: Iterable[TakenMessage], limits: BlockLimits, now: float, *, is_hurried: bool = False
) -> Block | None:
    """Close the oldest run of pending messages that fills a block, or None while it is too small.

    `is_hurried` closes whatever there is: when memory is short, or when nothing more will come.
    """
    taken: list[TakenMessage] = []
    ranges: dict[int, tuple[int, int]] = {}
    rows = size = 0
    is_full = is_hurried
    for message in pending:
        if taken and (rows + message.rows > limits.rows or size + message.bytes > limits.bytes):
            is_full = True
            break
        taken.append(message)
        first, _ = ranges.get(message.partition, (message.offset, 0))
        ranges[message.partition] = (first, message.offset)
        rows += message.rows
        size += message.bytes
    if not taken:
        return None
    is_full |= rows >= limits.rows or size >= limits.bytes or now - taken[0].at >= limits.age_seconds
    return Block(source, tuple(taken), ranges, rows, size) if is_full else None
