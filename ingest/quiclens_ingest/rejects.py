"""Messages that could not become rows: as rows of `rejects`, and on their way to its topic."""

import time
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import xxhash
from quiclens_schema import topics

from quiclens_ingest.blocks import Source
from quiclens_ingest.kafka import BrokerError, KafkaError, KafkaException, Message, Producer
from quiclens_ingest.stitch import encode

_BYTES_KEPT = 64 << 10
_ROWS_PER_MESSAGE = 64
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


def produce(producer: Producer, instance: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Put the rows on the rejects topic; BrokerError unless every message was acknowledged."""
    failures: list[str] = []
    waiting = 0

    def delivered(error: KafkaError | None, _: Message) -> None:
        nonlocal waiting
        waiting -= 1
        if error is not None:
            failures.append(error.str())

    for first in range(0, len(rows), _ROWS_PER_MESSAGE):
        some = rows[first : first + _ROWS_PER_MESSAGE]
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
