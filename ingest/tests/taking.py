"""What the tests with a real broker are made of: batches of real traces, a producer, and ingest in a thread."""

import io
import json
import os
import socket
import subprocess
import time
import urllib.error
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.request import urlopen
from uuid import uuid4

import pyarrow as pa
from confluent_kafka import Consumer, KafkaException
from quiclens_ingest import kafka
from quiclens_ingest.frames import Batch, frames
from quiclens_ingest.ingest import ingest
from quiclens_ingest.kafka import TopicPartition
from quiclens_ingest.metrics import IngestMetrics
from quiclens_ingest.settings import IngestSettings
from quiclens_schema import catalogue, topics
from quiclens_schema.store import Store

ROOT = Path(__file__).resolve().parents[2]
COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", ROOT / "target" / "release" / "quiclens-collector"))
# One simulated server made most of the aioquic cases, always with the same connection id: of those, one.
# Rule cases differ in content but not in identity cannot be told apart in one store: a trace is its first record.
CASES = [each for each in (ROOT / "schema" / "vectors").iterdir() if not each.match("aioquic_*_server")]
CASES = [each for each in CASES if not each.match("rule_*")]
CASES = [*sorted(CASES), ROOT / "schema" / "vectors" / "aioquic_stream_credit_server"]
TRACES = [trace for case in CASES for trace in case.glob("input.*")]

Rows = tuple[str, Any]  # a table, and a record batch of it


def collected(paths: Sequence[Path] = TRACES, requests: Sequence[Path] = ()) -> list[Rows]:
    """The batches that `quiclens-collector load` makes of these files."""
    logs = [word for path in requests for word in ("--requests", str(path))]
    words = [str(COLLECTOR), "load", "--sink", "-", *logs, "--", *map(str, paths)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    found = [frame for frame in frames(io.BytesIO(done.stdout)) if isinstance(frame, Batch)]
    return [(one.table, pa.ipc.open_stream(one.stream).read_next_batch()) for one in found]


def sliced(rows: Sequence[Rows], size: int) -> list[Rows]:
    """The same rows in batches of at most so many, each with dictionaries of its own."""
    return [
        (table, small(batch.slice(first, size))) for table, batch in rows for first in range(0, batch.num_rows, size)
    ]


def small(batch: Any) -> Any:
    """As a collector would make it of these rows alone: no value in a dictionary that no row has, no empty column."""
    table = pa.Table.from_batches([batch])
    keep = set(catalogue.load().table("events").key_columns)
    for name in table.column_names:
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            plain = column.cast(column.type.value_type).combine_chunks()
            table = table.set_column(table.column_names.index(name), name, plain.dictionary_encode())
        elif column.null_count == len(column) and name not in keep:
            table = table.drop_columns([name])
    (only,) = table.combine_chunks().to_batches()
    return only


def value(batch: Any, compression: str | None = "zstd") -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_stream(out, batch.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_batch(batch)
    return out.getvalue()


class Pipe:
    """The topics as one test sees them: from where they ended when it began."""

    def __init__(self, brokers: str) -> None:
        self.brokers = brokers
        self.group = f"test-{uuid4().hex[:8]}"
        self._producer = kafka.producer(brokers, {"sticky.partitioning.linger.ms": "0"})  # spread them
        self._tables = {topic.table: topic.name for topic in topics.load().values() if topic.table}
        reader = kafka.consumer(brokers, self.group, 1)
        known = reader.list_topics(timeout=10).topics
        places = [TopicPartition(name, part) for name in self._tables.values() for part in known[name].partitions]
        self.begin = [TopicPartition(place.topic, place.partition, _end(reader, place)) for place in places]
        reader.close()
        self.rewind()

    def rewind(self) -> None:
        """Let the group begin again where the test did."""
        reader = kafka.consumer(self.brokers, self.group, 1)
        until = time.monotonic() + 20
        while True:
            try:
                reader.commit(offsets=self.begin, asynchronous=False)
                break
            except kafka.KafkaException:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)
        reader.close()

    def send(self, rows: Sequence[Rows], **headers: str) -> None:
        """Produce each batch as one message, spread over the partitions."""
        for table, batch in rows:
            self.send_raw(table, value(batch), {"table": table, "rows": str(batch.num_rows), **headers})
        self.flush()

    def send_raw(self, table: str, content: bytes, headers: dict[str, str] | None = None, partition: int = -1) -> None:
        self._producer.produce(self._tables[table], content, headers=list((headers or {}).items()), partition=partition)
        self._producer.poll(0)

    def send_compressed(self, table: str, contents: Sequence[bytes], headers: dict[str, str]) -> None:
        """Produce messages of any size to partition 0 as one batch that Kafka's client compresses."""
        large = {"message.max.bytes": "900000000", "queue.buffering.max.kbytes": "2000000", "batch.size": "900000000"}
        producer = kafka.producer(self.brokers, {**large, "compression.type": "zstd", "linger.ms": "2000"})
        for content in contents:
            producer.produce(self._tables[table], content, headers=list(headers.items()), partition=0)
        assert producer.flush(60) == 0

    def flush(self) -> None:
        assert self._producer.flush(30) == 0

    def lag(self) -> int:
        return sum(kafka.lag(self.brokers, self.group, list(self._tables.values())).values())


@dataclass(frozen=True)
class Broker:
    data: Path
    address: str


@dataclass
class Process:
    """One ingest in a thread."""

    metrics: IngestMetrics
    stop: Event
    thread: Thread
    failures: list[BaseException]

    def end(self) -> None:
        self.stop.set()
        self.thread.join(60)
        assert not self.thread.is_alive()
        if self.failures:
            raise self.failures[0]

    def count(self, name: str, **labels: str) -> float:
        """A metric's value, summed over the labels that are not said."""
        return sum(
            sample.value
            for metric in self.metrics.registry.collect()
            for sample in metric.samples
            if sample.name == f"quiclens_ingest_{name}" and labels.items() <= sample.labels.items()
        )


def begin(store: Store, pipe: Pipe, **settings: Any) -> Process:
    chosen = {"block_age_ms": 100, "link_seconds": 0.0, "count_seconds": 0.2, "metrics_address": "", **settings}
    metrics, stop, failures = IngestMetrics(), Event(), list[BaseException]()

    def run() -> None:
        try:
            ingest(store, IngestSettings(brokers=pipe.brokers, group=pipe.group, **chosen), stop, metrics)
        except BaseException as error:
            failures.append(error)

    thread = Thread(target=run, name="ingest", daemon=True)
    thread.start()
    return Process(metrics, stop, thread, failures)


@contextmanager
def running(store: Store, pipe: Pipe, **settings: Any) -> Iterator[Process]:
    process = begin(store, pipe, **settings)
    try:
        yield process
    finally:
        process.end()


def drain(store: Store, pipe: Pipe, **settings: Any) -> Process:
    """Run until the group has stored everything."""
    with running(store, pipe, **settings) as process:
        until(lambda: pipe.lag() == 0)
    return process


def until(is_so: Callable[[], bool], seconds: float = 600) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not become so in time"
        time.sleep(0.1)


def content(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Every row that counts, by its key: what two stores must agree on."""
    found = {}
    for table in catalogue.load().tables.values():
        columns = ", ".join(f"`{name}`" for name in (*table.sent_columns, *table.order_by) if name)
        final = "" if table.is_linked else "FINAL"
        order = ", ".join(f"`{name}`" for name in table.order_by)
        sql = f"SELECT DISTINCT {columns} FROM {table.name} {final} ORDER BY {order} LIMIT 1000000"
        found[table.name] = store.query(sql).rows
    return found


def unlinked(found: dict[str, list[tuple[Any, ...]]]) -> dict[str, list[tuple[Any, ...]]]:
    """The same without what link makes, which may not yet have been its time."""
    return {name: [] if catalogue.load().tables[name].is_linked else rows for name, rows in found.items()}


def seqs(store: Store) -> set[tuple[Any, ...]]:
    return set(store.query("SELECT connection_id, vantage, trace_id, seq FROM events LIMIT 10000000").rows)


def _end(reader: Consumer, place: TopicPartition) -> int:
    """Where a partition ends; one that was made just now may not have found its leader yet."""
    until = time.monotonic() + 20
    while True:
        try:
            return int(reader.get_watermark_offsets(place, timeout=10)[1])
        except KafkaException:
            if time.monotonic() > until:
                raise
        time.sleep(0.1)


def free_address() -> str:
    """An address of this machine at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"


def told(address: str) -> list[str]:
    """What /healthz says against the process; nothing where it is ready."""
    try:
        with urlopen(f"http://{address}/healthz", timeout=5) as answer:
            reasons: list[str] = json.load(answer)["reasons"]
    except urllib.error.HTTPError as refused:
        with refused:
            reasons = json.load(refused)["reasons"]
    except OSError:
        return ["it does not answer yet"]
    return reasons
