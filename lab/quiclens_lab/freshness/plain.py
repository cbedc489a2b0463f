"""A plain pipeline for comparison: JSON lines through the same broker into the same engine, nothing of ours in it.

    python -m quiclens_lab.freshness.plain produce TEMPLATES --brokers HOST:PORT --rate N --seconds N --number N
    python -m quiclens_lab.freshness.plain consume --brokers HOST:PORT --store DIR

What a producer says that has no log to read: every event as one line, many lines a message. The consumer inserts them
as JSONEachRow in blocks of `quiclens ingest`'s size and age, then commits. On stdout, lines of JSON: {"count", "at"}.
"""

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import clickhouse_connect
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from quiclens_lab.draws import digest
from quiclens_lab.freshness.templates import Template, kept

TOPIC = "plain.events"
PARTITIONS = 6  # as quic.events.v1 has
LINES = 1000  # a message
TICK_S = 0.02
BLOCK_ROWS, BLOCK_BYTES, BLOCK_AGE_S = 250_000, 64 << 20, 1.0
TABLE = """CREATE TABLE IF NOT EXISTS plain
(connection_id String, seq UInt64, time Float64, name LowCardinality(String), data String)
ENGINE = MergeTree ORDER BY (connection_id, seq)"""


def messages(templates: list[Template], number: int) -> Iterator[tuple[bytes, int]]:
    """Messages without end, each with how many lines it has."""
    told = [(template.connection_id, _lines(template)) for template in templates]
    count = 0
    while True:
        original, lines = told[count % len(told)]
        name = digest(number, "plain", count).hex().encode()
        for first in range(0, len(lines), LINES):
            some = lines[first : first + LINES]
            yield b"".join(some).replace(original, name), len(some)
        count += 1


def _lines(template: Template) -> list[bytes]:
    lines, start = [], 0
    for seq, end in enumerate(template.ends):
        event = json.loads(template.body[start + 1 : end])
        document = {"connection_id": template.connection_id.decode(), "seq": seq, **event}
        lines.append(json.dumps(document).encode() + b"\n")
        start = end
    return lines


def produce(templates: list[Template], brokers: str, rate: float, seconds: float, number: int) -> None:
    """Produce so many events a second, or as many as go where the queue is full."""
    producer = Producer(
        {"bootstrap.servers": brokers, "enable.idempotence": True, "acks": "all", "compression.type": "zstd",
         "linger.ms": 5, "message.max.bytes": 8 << 20}
    )  # fmt: skip
    source = messages(templates, number)
    began = said = time.monotonic()
    written = 0
    while (now := time.monotonic()) < began + seconds:
        while written < rate * (now - began):
            value, lines = next(source)
            try:
                producer.produce(TOPIC, value)
            except BufferError:
                producer.poll(0.1)
                break
            written += lines
        producer.poll(0)
        if now - said >= 1:
            said = now
            _say(written)
        time.sleep(max(0.0, now + TICK_S - time.monotonic()))
    producer.flush(60)
    _say(written)


def consume(brokers: str, store: Path, stop: Event) -> None:
    """Take and insert until told to stop."""
    admin = AdminClient({"bootstrap.servers": brokers})  # kept: what it was asked for ends with it
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    client: Any = clickhouse_connect.get_client(interface="chdb", path=str(store))
    client.command(TABLE)
    consumer = Consumer(
        {"bootstrap.servers": brokers, "group.id": "plain", "enable.auto.commit": False,
         "auto.offset.reset": "earliest", "fetch.message.max.bytes": 8 << 20}
    )  # fmt: skip
    consumer.subscribe([TOPIC])
    stored, block, rows, size, since = 0, list[bytes](), 0, 0, 0.0
    _say(0)
    while not stop.is_set():
        for message in consumer.consume(8, 0.05):
            value = message.value()
            if message.error() is None and value is not None:
                since = since if block else time.monotonic()
                block.append(value)
                rows += value.count(b"\n")
                size += len(value)
        if block and (rows >= BLOCK_ROWS or size >= BLOCK_BYTES or time.monotonic() - since >= BLOCK_AGE_S):
            settings = {"async_insert": 0, "input_format_parallel_parsing": 1}
            client.raw_insert("plain", insert_block=b"".join(block), fmt="JSONEachRow", settings=settings)
            consumer.commit(asynchronous=False)
            stored += rows
            block, rows, size = [], 0, 0
            _say(stored)
    consumer.close()


def _say(count: int) -> None:
    sys.stdout.write(json.dumps({"count": count, "at": time.time()}) + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m quiclens_lab.freshness.plain", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    producing = verbs.add_parser("produce")
    producing.add_argument("templates", type=Path)
    producing.add_argument("--rate", type=float, required=True)
    producing.add_argument("--seconds", type=float, required=True)
    producing.add_argument("--number", type=int, required=True)
    consuming = verbs.add_parser("consume")
    consuming.add_argument("--store", type=Path, required=True)
    for each in (producing, consuming):
        each.add_argument("--brokers", required=True)
    options = parser.parse_args()
    if options.verb == "produce":
        produce(kept(options.templates), options.brokers, options.rate, options.seconds, options.number)
        return
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    consume(options.brokers, options.store, stop)


if __name__ == "__main__":
    main()
