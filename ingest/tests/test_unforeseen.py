"""What nobody foresaw in one message is a reject of that message: never the end of the process, which would take it
again."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import raw_producer
from quiclens_ingest import take
from quiclens_ingest.kafka import Message
from quiclens_ingest.message import MessageLimits, Unreadable, read
from quiclens_ingest.stitch import StitchError, stitch
from quiclens_schema.erased import Erased, HashKind, Key
from quiclens_schema.store import Store, StoreError
from taking import Pipe, drain, value

LIMITS = MessageLimits(message_bytes=1 << 20, decompressed_bytes=1 << 24)
SAID = {"table": b"episodes", "rows": b"1", "catalogue": b"99.0.0"}


def of_months() -> pa.RecordBatch:
    """An episode with a column more, of a type of which pyarrow has no arrays."""
    found = (Path(__file__).parent / "interval_of_months.arrow").read_bytes().replace(b"trace_day", b"brand_new")
    batch = pa.ipc.open_stream(found).read_next_batch().drop_columns(["analysis_version"])
    return batch.append_column("trace_day", pa.array([0], pa.date32()))


@pytest.mark.kafka
def test_a_header_whose_name_is_no_utf_8_is_a_reject_and_stops_nothing(store: Store, pipe: Pipe, loaded: Any) -> None:
    """Also when many were taken before: then the interpreter asks for headers without looking for errors."""
    (_, good) = next(rows for rows in loaded.rows if rows[0] == "streams")
    said = {"table": "streams", "rows": str(good.num_rows)}
    for _ in range(100):
        pipe.send_raw("streams", value(good), said, partition=0)
    pipe.flush()
    raw_producer.send(pipe.brokers, "quic.streams.v1", b"value", {b"\xff\xff": b"v"})
    pipe.send_raw("streams", value(good), said, partition=0)
    pipe.flush()
    process = drain(store, pipe)
    assert process.count("rows_total", table="streams") == 101 * good.num_rows
    assert store.query("SELECT reason, bytes FROM rejects FINAL LIMIT 9").rows == [("bad_headers", "value")]
    assert process.count("rejects_total", reason="bad_headers") == 1


def test_reading_that_fails_as_nobody_foresaw_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise KeyError(21)

    monkeypatch.setattr(take, "read", fails)
    with pytest.raises(Unreadable, match="not_arrow: KeyError: 21"):
        take._reading("episodes", Message(topic="t", value=b"", headers=[]), b"", LIMITS)


def test_a_newer_column_of_a_type_that_no_catalogue_has_is_a_wrong_schema() -> None:
    with pytest.raises(Unreadable, match="wrong_schema: unknown column brand_new is month_interval"):
        read("episodes", SAID, value(of_months()), LIMITS)


@pytest.mark.parametrize(
    ("kind", "is_taken"),
    [
        (pa.int32(), True),
        (pa.float32(), True),
        (pa.timestamp("ms"), True),
        (pa.dictionary(pa.uint8(), pa.string()), True),
        (pa.map_(pa.string(), pa.list_(pa.uint64())), True),
        (pa.list_(pa.list_(pa.list_(pa.uint64()))), False),
        (pa.struct([("a", pa.int8())]), False),
        (pa.month_day_nano_interval(), False),
        (pa.null(), False),
        (pa.string_view(), False),
    ],
)
def test_newer_columns_have_types_that_a_catalogue_could_have(kind: pa.DataType, is_taken: bool) -> None:
    batch = of_months().drop_columns(["brand_new"]).append_column("brand_new", pa.nulls(1, kind))
    if is_taken:
        assert read("episodes", SAID, value(batch), LIMITS).newer == ("brand_new",)
    else:
        with pytest.raises(Unreadable, match="wrong_schema: unknown column brand_new is"):
            read("episodes", SAID, value(batch), LIMITS)


def test_batches_that_cannot_be_stitched_as_nobody_foresaw_are_told_one_by_one() -> None:
    with pytest.raises(StitchError, match="KeyError"):
        stitch("episodes", [of_months()])


def test_a_stream_in_which_the_erased_cannot_be_looked_for_is_refused_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise KeyError(21)

    monkeypatch.setattr(pa.ipc, "open_stream", fails)
    gone = Erased(Key(b"secret"), {HashKind.CONNECTION.value: frozenset(["hash"])})
    with pytest.raises(StoreError, match="table episodes: KeyError: 21") as refused:
        gone.kept("episodes", b"", 1)
    assert refused.value.code == 117
