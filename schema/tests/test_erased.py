"""Rows of what was erased are dropped, by keyed hashes that say nothing without the key."""

import os
import stat
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from quiclens_schema import erased
from quiclens_schema.erased import HashKind, key, key_file, of_rows
from quiclens_schema.errors import StoreError


def stream(**columns: list[object]) -> bytes:
    batch = pa.record_batch(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def rows_of(data: bytes) -> list[dict[str, object]]:
    return list(pa.ipc.open_stream(data).read_all().to_pylist())


@pytest.fixture
def gone(tmp_path: Path) -> erased.Erased:
    """Connection `c1` with trace `t1`, the line at 7 of log `l1`, the reject at 9 of `s1`."""
    secret = key(tmp_path / "key", create=True)
    named = [
        (HashKind.CONNECTION, "c1"),
        (HashKind.TRACE, "t1"),
        (HashKind.LINE, "l1/7"),
        (HashKind.REJECT, "s1/9"),
    ]
    return of_rows([(kind.value, secret.hash(kind, name), secret.id) for kind, name in named], secret)


@pytest.mark.parametrize("table", ["events", "connections", "streams", "episodes", "connection_aliases"])
def test_rows_of_a_connection_are_dropped_in_every_table_of_traces(gone: erased.Erased, table: str) -> None:
    data, left = gone.kept(table, stream(connection_id=["c1", "c2", "c1", "C1"], seq=[1, 2, 3, 4]), 4)
    assert left == 2 and rows_of(data) == [{"connection_id": "c2", "seq": 2}, {"connection_id": "C1", "seq": 4}]


def test_every_table_that_is_sent_has_an_identity() -> None:
    from quiclens_schema import catalogue

    assert set(erased._IDENTITIES) == {each.name for each in catalogue.load().tables.values() if not each.is_linked}


def test_lines_go_by_connection_or_by_place(gone: erased.Erased) -> None:
    columns: dict[str, list[object]] = {
        "log_id": ["l1", "l1", "l2", "l2", "l2"],
        "offset": [7, 8, 7, 1, 2],
        "connection_id": [None, None, None, "c1", "c2"],
    }
    data, left = gone.kept("request_lines", stream(**columns), 5)
    assert left == 3 and [(row["log_id"], row["offset"]) for row in rows_of(data)] == [("l1", 8), ("l2", 7), ("l2", 2)]


def test_rejects_go_by_trace_or_by_place(gone: erased.Erased) -> None:
    columns: dict[str, list[object]] = {
        "source": ["t1", "s1", "s1", "s2", "s2"],
        "offset": [1, 9, 10, 9, 11],
        "trace_id": ["", "", "", "t1", ""],
    }
    data, left = gone.kept("rejects", stream(**columns), 5)
    assert left == 2 and [(row["source"], row["offset"]) for row in rows_of(data)] == [("s1", 10), ("s2", 11)]


def test_a_stream_without_such_rows_is_the_same_bytes(gone: erased.Erased) -> None:
    data = stream(connection_id=["c2"])
    assert gone.kept("events", data, 1) == (data, 1) and gone.kept("events", data, 1)[0] is data
    assert gone.kept("events", stream(connection_id=["c1"]), 1)[1] == 0


def test_a_stream_that_is_cut_is_an_error(gone: erased.Erased) -> None:
    with pytest.raises(StoreError):
        gone.kept("events", stream(connection_id=["c1"])[:40], 1)


def typed(**columns: pa.Array) -> bytes:
    batch, sink = pa.record_batch(columns), pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def pointing_outside() -> bytes:
    """Texts whose ends are 800 MB behind the stream's: who reads them reads what is not there."""
    good = stream(connection_id=["aaaa", "bbbb", "cccc"])
    ends = struct.pack("<4i", 0, 4, 8, 12)
    assert good.count(ends) == 1
    return good.replace(ends, struct.pack("<4i", 0, 0x30000000, 0x30000001, 0x30000002))


def one_text_on_all_rows() -> bytes:
    """A text of 1 MiB on each of 100,000 rows, in some KB."""
    rows = pa.array(bytes(100_000), pa.int8())
    return typed(connection_id=pa.DictionaryArray.from_arrays(rows, ["x" * (1 << 20)]))


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (pointing_outside, "ArrowInvalid"),
        (lambda: typed(connection_id=pa.nulls((1 << 31) - 1)), "rows, the limit is"),
        (lambda: typed(connection_id=pa.nulls(16 << 20)), "column connection_id is null"),
        (lambda: typed(connection_id=pa.array([{}] * 9, pa.struct([]))), "column connection_id is struct"),
        (one_text_on_all_rows, "bytes as plain columns"),
        (lambda: typed(connection_id=pa.array(["c2"]), details=pa.array([bytes(70 << 20)])), "when decompressed"),
    ],
)
def test_what_a_stranger_writes_to_break_its_reader_is_refused(
    gone: erased.Erased, monkeypatch: pytest.MonkeyPatch, made: Callable[[], bytes], why: str
) -> None:
    monkeypatch.setattr(erased, "_BYTES_AT_MOST", 64 << 20)
    data, began = made(), time.process_time()
    with pytest.raises(StoreError, match=why) as refused:
        gone.kept("events", data, 1)
    assert refused.value.code == 117 and time.process_time() - began < 5


def test_a_key_is_made_once_and_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "key"
    with pytest.raises(StoreError, match="is not at"):
        key(path)
    made = key(path, create=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and key(path, create=True) == made
    assert os.listdir(tmp_path) == ["key"]
    path.chmod(0o640)
    with pytest.raises(StoreError, match="chmod 600"):
        key(path)
    path.chmod(0o600)
    path.write_text("00\n")
    with pytest.raises(StoreError, match="64 hex digits"):
        key(path)
    path.write_text("no key\n")
    with pytest.raises(StoreError, match="cannot be read"):
        key(path)


def test_another_key_is_told(tmp_path: Path) -> None:
    one, other = key(tmp_path / "one", create=True), key(tmp_path / "other", create=True)
    assert (
        one.hash(HashKind.CONNECTION, "c1") != other.hash(HashKind.CONNECTION, "c1") != other.hash(HashKind.TRACE, "c1")
    )
    with pytest.raises(StoreError, match="another key"):
        of_rows([("connection", one.hash(HashKind.CONNECTION, "c1"), one.id)], other)


def test_where_the_key_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUICLENS_ERASE_KEY_FILE", raising=False)
    assert key_file(tmp_path) == tmp_path / "quiclens-erase-key"
    with pytest.raises(StoreError, match="QUICLENS_ERASE_KEY_FILE"):
        key_file(None)
    monkeypatch.setenv("QUICLENS_ERASE_KEY_FILE", "/etc/quiclens/erase-key")
    assert key_file(None) == key_file(tmp_path) == Path("/etc/quiclens/erase-key")
