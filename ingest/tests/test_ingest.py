"""Ingest with a real broker and the real engine: whatever happens on the way, the store has what was sent, once."""

import random
import time
from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pytest
from quiclens_ingest import broker as brokers
from quiclens_ingest import kafka
from quiclens_ingest.stitch import encode
from quiclens_schema.store import Store, StoreError
from taking import Pipe, content, drain, running, seqs, sliced, unlinked, until, value

pytestmark = pytest.mark.kafka


def test_what_comes_by_kafka_is_what_load_stores(store: Store, pipe: Pipe, loaded: Any) -> None:
    pipe.send(loaded.rows)
    with running(store, pipe, link_seconds=0.2) as process:
        until(lambda: content(store)["requests"] == loaded.content["requests"])
        until(lambda: pipe.lag() == 0)
    assert content(store) == loaded.content
    sent = sum(batch.num_rows for _, batch in loaded.rows)
    assert process.count("rows_total") == sent


def test_everything_twice_and_again_from_the_beginning_changes_nothing(store: Store, pipe: Pipe, loaded: Any) -> None:
    small = sliced(loaded.rows, 700)
    pipe.send([*small, *small])
    pipe.send(small[::-1])
    drain(store, pipe)
    pipe.rewind()
    drain(store, pipe, link_seconds=0.2)
    assert unlinked(content(store)) == unlinked(loaded.content)


@pytest.mark.long
def test_hundreds_of_small_messages_are_few_inserts_and_lose_no_row(store: Store, pipe: Pipe, loaded: Any) -> None:
    small = sliced(loaded.rows, 2)
    assert len(small) > 500
    assert len({tuple(batch.schema.names) for table, batch in small if table == "events"}) > 20, "columns are missing"
    pipe.send(small)
    process = drain(store, pipe, block_age_ms=1000)
    assert process.count("blocks_total") < len(small) / 20
    assert seqs(store) == loaded.seqs
    assert unlinked(content(store)) == unlinked(loaded.content)


def test_bad_messages_are_rejects_with_their_bytes_and_stop_nothing(store: Store, pipe: Pipe, loaded: Any) -> None:
    (_, good) = next(rows for rows in loaded.rows if rows[0] == "streams")
    right = value(good)
    said = {"table": "streams", "rows": str(good.num_rows)}
    odd = good.append_column("nonsense", pa.array([1] * good.num_rows))
    bad: list[tuple[bytes, dict[str, str], str]] = [
        (b"\xff\x00 garbage", said, "not_arrow"),
        (b"", said, "not_arrow"),
        (right[: len(right) // 2], said, "not_arrow"),
        (right[:-8], said, "not_arrow"),
        (right + right, said, "not_arrow"),
        (value(odd), said, "wrong_schema"),
        (right, {**said, "rows": str(good.num_rows + 1)}, "rows_disagree"),
        (right, {}, "bad_headers"),
        (right, {**said, "table": "events"}, "bad_headers"),
        (b"x" * 300_000, said, "message_too_large"),
    ]
    for content_, headers, _ in bad:
        pipe.send_raw("streams", content_, headers, partition=0)
    pipe.send_raw("streams", right, said, partition=0)
    pipe.send_raw("rejects", b"no reject either", {"table": "rejects", "rows": "1"})
    pipe.flush()
    process = drain(store, pipe, message_bytes_max=200_000)
    assert len(store.query("SELECT * FROM streams LIMIT 10000").rows) == good.num_rows
    found = store.query(
        "SELECT `offset`, reason, length, hex(bytes) FROM rejects FINAL WHERE file = 'kafka:quic.streams.v1/0'"
        " ORDER BY `offset` LIMIT 100"
    ).rows
    first = next(place.offset for place in pipe.begin if (place.topic, place.partition) == ("quic.streams.v1", 0))
    assert found == [
        (first + at, reason, len(content_), content_[: 64 << 10].hex().upper())
        for at, (content_, _, reason) in enumerate(bad)
    ]
    assert store.query("SELECT count() FROM rejects FINAL WHERE file = 'kafka:quic.rejects.v1/0'").one() == (1,)
    assert process.count("rejects_total") == len(bad) + 1


def test_bad_messages_that_cannot_be_compressed_fit_into_the_topic_of_rejects(
    store: Store, pipe: Pipe, loaded: Any
) -> None:
    (_, good) = next(rows for rows in loaded.rows if rows[0] == "streams")
    chance = random.Random(5)
    for _ in range(40):
        pipe.send_raw("streams", chance.randbytes(70_000), {"table": "streams", "rows": "1"}, partition=0)
    pipe.send_raw("streams", value(good), {"table": "streams", "rows": str(good.num_rows)}, partition=0)
    pipe.flush()
    fake: Any = Fake(store)
    process = drain(fake, pipe, block_age_ms=2000)
    assert store.query("SELECT count(), min(length(bytes)) FROM rejects FINAL").one() == (40, 64 << 10)
    assert process.count("retries_total", what="insert") == 0
    assert process.count("rows_total", table="streams") == good.num_rows


class Fake:
    """The real store, but that inserting may fail or take its time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.failures: list[Exception] = []
        self.refused: set[str] = set()  # tables
        self.slow_seconds = 0.0
        self.poison = b"\x00 nothing has this"
        self.inserts = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def insert_arrow(self, table: str, stream: bytes, rows: int, newer: Collection[str] = ()) -> int:
        self.inserts += 1
        time.sleep(self.slow_seconds)
        if self.poison in stream:
            raise StoreError("Code: 117. DB::Exception: it cannot be taken (INCORRECT_DATA)", code=117)
        if table in self.refused:
            raise StoreError("Code: 60. DB::Exception: it does not exist (UNKNOWN_TABLE)", code=60)
        if self.failures:
            raise self.failures.pop()
        return self._store.insert_arrow(table, stream, rows, newer)


def test_tables_that_take_nothing_do_not_stop_the_others(store: Store, pipe: Pipe, loaded: Any) -> None:
    """As many of them as there are inserts at once: a table that is missing, or one that this user may not fill."""
    fake: Any = Fake(store)
    fake.refused = {"events", "streams"}
    pipe.send(loaded.rows)
    with running(fake, pipe, inserts_at_once=2) as process:
        until(lambda: process.count("rows_total", table="connections") > 0)
        until(lambda: process.count("retries_total", what="insert") >= 4)
        assert process.count("rows_total", table="events") == 0
        fake.refused = set()
        until(lambda: pipe.lag() == 0)
    assert seqs(store) == loaded.seqs


def test_a_store_that_fails_for_a_while_gets_every_row_and_nothing_is_committed_before(
    store: Store, pipe: Pipe, loaded: Any
) -> None:
    fake: Any = Fake(store)
    fake.failures = [StoreError("Connection refused")] * 7
    pipe.send(sliced(loaded.rows, 300))
    waiting = pipe.lag()
    with running(fake, pipe) as process:
        until(lambda: fake.inserts >= 4)
        assert pipe.lag() == waiting
        until(lambda: pipe.lag() == 0)
    assert seqs(store) == loaded.seqs
    assert process.count("retries_total", what="insert") == 7


def test_a_message_that_only_the_store_refuses_is_a_reject_and_its_neighbours_are_stored(
    store: Store, pipe: Pipe
) -> None:
    row = {"length": 1, "hash": "", "reason": "not_json", "file": "", "trace_id": ""}
    for number, text in enumerate((b"good", b"POISON", b"good")):
        content_ = encode("rejects", [{**row, "source": "s", "offset": number, "bytes": text * 20}])
        pipe.send_raw("rejects", content_, {"table": "rejects", "rows": "1"})
    pipe.flush()
    fake: Any = Fake(store)
    fake.poison = b"POISON"
    drain(fake, pipe)
    found = store.query("SELECT source, `offset`, reason FROM rejects FINAL ORDER BY source, `offset` LIMIT 10").rows
    assert [row for row in found if row[0] == "s"] == [("s", 0, "not_json"), ("s", 2, "not_json")]
    assert [row[2] for row in found if row[0] != "s"] == ["refused_by_store"]


def test_slow_inserts_do_not_cost_the_membership(store: Store, pipe: Pipe, loaded: Any) -> None:
    fake: Any = Fake(store)
    fake.slow_seconds = 8
    pipe.send([rows for rows in loaded.rows if rows[0] == "streams"])
    quick = {"max.poll.interval.ms": "6000", "session.timeout.ms": "6000"}
    process = drain(fake, pipe, kafka=quick)
    assert process.count("rebalances_total", kind="lost") == 0
    assert process.count("rebalances_total", kind="assigned") == 1
    assert fake.inserts == 1


def test_memory_is_bounded_while_the_store_is_slow(store: Store, pipe: Pipe, loaded: Any) -> None:
    fake: Any = Fake(store)
    fake.slow_seconds = 0.1
    pipe.send(sliced(loaded.rows, 50) * 4)
    held: list[tuple[float, float]] = []
    limit = 1 << 20
    with running(fake, pipe, held_bytes_max=limit, block_bytes=1 << 18, inserts_at_once=1) as process:

        def is_done() -> bool:
            held.append((process.count("held_bytes"), process.count("paused")))
            return pipe.lag() == 0

        until(is_done)
    assert any(is_paused for _, is_paused in held)
    assert max(bytes for bytes, _ in held) < 2 * limit
    assert seqs(store) == loaded.seqs


@pytest.mark.long
def test_a_table_that_waits_holds_its_share_and_the_others_go_on(store: Store, pipe: Pipe, loaded: Any) -> None:
    fake: Any = Fake(store)
    fake.refused = {"events"}
    of_table = {name: [rows for rows in loaded.rows if rows[0] == name] for name in ("events", "streams")}
    pipe.send(sliced(of_table["events"], 50) * 8)
    with running(fake, pipe, held_bytes_max=1 << 20, block_bytes=1 << 18) as process:
        until(lambda: process.count("paused") == 1)
        assert process.count("held_bytes") > 1 << 19
        pipe.send(of_table["streams"])
        until(lambda: process.count("rows_total", table="streams") > 0, 60)
        assert process.count("rows_total", table="events") == 0
        fake.refused = set()
        until(lambda: pipe.lag() == 0)
    assert seqs(store) == loaded.seqs


def test_two_processes_share_the_work_and_a_rebalance_in_mid_insert_loses_nothing(
    store: Store, pipe: Pipe, loaded: Any
) -> None:
    fake: Any = Fake(store)
    fake.slow_seconds = 0.2
    small = sliced(loaded.rows, 5)
    random.Random(3).shuffle(small)
    third = len(small) // 3
    with running(fake, pipe, block_rows=60) as first:
        pipe.send(small[:third])
        until(lambda: fake.inserts > 2)
        with running(fake, pipe, block_rows=60) as second:
            until(lambda: second.count("partitions") > 0)
            pipe.send(small[third : 2 * third])
            until(lambda: second.count("rows_total", table="events") > 0)
            pipe.send(small[2 * third :])
            first.end()
            until(lambda: pipe.lag() == 0)
    assert first.count("rows_total", table="events") > 0
    assert first.count("rebalances_total", kind="revoked") > 0
    assert seqs(store) == loaded.seqs
    assert unlinked(content(store)) == unlinked(loaded.content)


def test_one_process_links_and_another_takes_over(store: Store, pipe: Pipe, loaded: Any) -> None:
    with running(store, pipe, link_seconds=0.2) as first:
        until(lambda: first.count("linking") == 1)
        with running(store, pipe, link_seconds=0.2) as second:
            until(lambda: second.count("rebalances_total", kind="assigned") > 0)
            until(lambda: first.count("linking") + second.count("linking") == 1)
            leader, other = (first, second) if first.count("linking") else (second, first)
            leader.end()
            until(lambda: other.count("linking") == 1)
            pipe.send(loaded.rows)
            until(lambda: content(store)["requests"] == loaded.content["requests"])


@pytest.mark.long
def test_a_broker_that_restarts_is_waited_for(store: Store, pipe: Pipe, broker: Any, loaded: Any) -> None:
    small = sliced(loaded.rows, 100)
    half = len(small) // 2
    with running(store, pipe) as process:
        pipe.send(small[:half])
        until(lambda: process.count("rows_total") > 0)
        assert brokers.stop(broker.data)
        time.sleep(1)
        assert brokers.start(broker.data).brokers == broker.address
        pipe.send(small[half:])
        until(lambda: pipe.lag() == 0)
    assert seqs(store) == loaded.seqs


def test_a_heartbeat_says_how_fresh_the_store_is(store: Store, pipe: Pipe, loaded: Any) -> None:
    (rows,) = [rows for rows in loaded.rows if rows[0] == "connections"]
    pipe.send([rows], heartbeat_us=str((time.time_ns() // 1000) - 3_000_000))
    process = drain(store, pipe)
    assert process.count("freshness_seconds_count") == 1
    assert 3 < process.count("freshness_last_seconds") < 10


def test_messages_that_were_gone_before_they_were_taken_are_counted(store: Store, pipe: Pipe, loaded: Any) -> None:
    rows = [rows for rows in loaded.rows if rows[0] == "rejects"]
    pipe.send(rows * 3)
    (place,) = [place for place in pipe.begin if place.topic == "quic.rejects.v1"]
    gone = kafka.TopicPartition(place.topic, place.partition, place.offset + 2)
    kafka.delete_before(pipe.brokers, [gone])
    process = drain(store, pipe)
    assert process.count("offsets_missed_total", topic="quic.rejects.v1") == 2
