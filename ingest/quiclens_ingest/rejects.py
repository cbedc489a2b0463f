"""Messages that could not become rows: as rows of `rejects`, and on their way to its topic."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

import xxhash
from quiclens_schema import topics

from quiclens_ingest.blocks import Source, TakenMessage
from quiclens_ingest.kafka import BrokerError, KafkaError, KafkaException, Message, Producer
from quiclens_ingest.stitch import encode

_BYTES_KEPT = 64 << 10
_ROWS_PER_MESSAGE = 64
_BYTES_PER_MESSAGE = 512 << 10  # librdkafka takes messages of 1,000,000
_ROW_OVERHEAD_BYTES = 512  # what a row has beside its bytes
_ACKNOWLEDGED_SECONDS = 20.0


def reject(source: Source, partition: int, offset: int, value: bytes, reason: str) -> dict[str, Any]:
    """The row of a message; its place in the cluster is its identity, so taking it again gives the same row."""
    kept = value[:_BYTES_KEPT]
    return {
        "source": xxhash.xxh3_64_hexdigest(f"{source.cluster}/{source.topic}/{partition}".encode()),
        "offset": offset,
        "length": len(value),
        "hash": xxhash.xxh3_64_hexdigest(kept),
        "reason": reason,
        "file": f"kafka:{source.topic}/{partition}",
        "trace_id": "",
        "seq": None,
        "bytes": kept,
    }


def message_place(source: Source, message: TakenMessage) -> str:
    """Where rows of a message were read."""
    return f"kafka:{source.topic}/{message.partition}/{message.offset}"


def produce(producer: Producer, instance: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Put the rows on the rejects topic; BrokerError unless every message was acknowledged."""
    failures: list[str] = []
    waiting = 0

    def delivered(error: KafkaError | None, _: Message) -> None:
        nonlocal waiting
        waiting -= 1
        if error is not None:
            failures.append(error.str())

    for some in _messages(rows):
        try:
            producer.produce(
                topics.REJECTS,
                encode("rejects", some),
                headers={
                    "table": "rejects",
                    "rows": str(len(some)),
                    "collector": instance,
                    "batch": uuid4().hex,
                    "made_us": str(time.time_ns() // 1000),
                },
                on_delivery=delivered,
            )
        except (BufferError, KafkaException) as error:
            raise BrokerError(f"the rejects topic takes nothing: {error}") from error
        waiting += 1
    until = time.monotonic() + _ACKNOWLEDGED_SECONDS
    while waiting and time.monotonic() < until:
        producer.poll(0.05)
    if waiting or failures:
        raise BrokerError(f"the rejects topic did not answer: {failures[0] if failures else 'no acknowledgement'}")


def _messages(rows: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """The rows in order, as many together as one message may have, also where they cannot be compressed."""
    some: list[Mapping[str, Any]] = []
    size = 0
    for row in rows:
        more = len(row["bytes"]) + _ROW_OVERHEAD_BYTES
        if some and (len(some) == _ROWS_PER_MESSAGE or size + more > _BYTES_PER_MESSAGE):
            yield some
            some, size = [], 0
        some.append(row)
        size += more
    if some:
        yield some
