import contextlib
import io
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Barrier
from typing import Any

import pyarrow as pa
import pytest
from arrow_batches import batch, stream
from clickhouse_connect.driver.client import Client
from quiclens_schema import store as stores
from quiclens_schema.arrow_schema import field_names, row_count
from quiclens_schema.store import Store, StoreBusy, StoreError

FRAME_NUMBERS = [
    f"frames.{name}" for name in ("stream_id", "offset", "length", "maximum", "ack_delay_us", "ack_ranges")
]
OPEN_ELSEWHERE = """
import sys
from quiclens_schema import store
try:
    store.open(sys.argv[1])
except store.StoreBusy as busy:
    print(busy.pid, busy)
"""


def test_a_second_process_is_told_who_holds_the_store(store: Store) -> None:
    second = subprocess.run(
        [sys.executable, "-c", OPEN_ELSEWHERE, f"chdb:{store.folder}"], capture_output=True, text=True, check=True
    )
    assert second.stdout == (
        f"{os.getpid()} store {store.folder} is held by process {os.getpid()}; stop it, or use another --store\n"
    )
    assert second.stderr == ""


def test_an_owner_file_of_a_dead_process_is_ignored(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with stores.open(f"chdb:{folder}"):
        pass
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    (folder / "owner.json").write_text(json.dumps({"pid": int(dead.stdout), "since": "2026-01-01T00:00:00+00:00"}))
    with stores.open(f"chdb:{folder}") as store:
        assert json.loads((folder / "owner.json").read_text())["pid"] == os.getpid()
        assert store.query("SELECT 1").rows == [(1,)]
    assert not (folder / "owner.json").exists()


def test_the_owner_file_stays_until_the_last_of_this_process_closes(store: Store) -> None:
    assert store.folder is not None
    with stores.open(f"chdb:{store.folder}") as second:
        assert second.query("SELECT 1").rows == [(1,)]
    assert (store.folder / "owner.json").exists()


@pytest.mark.parametrize("url", ["chdb:", "quiclens-data", "ftp://host/x", "http:///x"])
def test_a_url_that_is_no_store_is_refused(url: str) -> None:
    with pytest.raises(StoreError, match="store URL"):
        stores.place(url)


def test_all_spellings_of_a_folder_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = os.path.realpath(tmp_path / "data")
    for url in ("chdb:data", "chdb://data", "chdb:./data/", f"chdb://{tmp_path}/data", f"chdb:{tmp_path}/x/../data"):
        assert stores.place(url).folder == wanted


def test_parameters_are_bound_by_the_server(store: Store) -> None:
    nasty = "a'b\\c\n{x:String} %(x)s"
    result = store.query(
        "SELECT {text:String} AS text, {list:Array(String)} AS list,"
        " {at:DateTime64(6, 'UTC')} AS at, {n:Nullable(UInt8)} AS n",
        {"text": nasty, "list": ["x'y", ""], "at": datetime(2026, 1, 2, 3, 4, 5, 678901), "n": None},
    )
    assert result.columns == ("text", "list", "at", "n")
    assert result.one() == (nasty, ["x'y", ""], datetime(2026, 1, 2, 3, 4, 5, 678901, UTC), None)


def test_a_parameter_that_the_statement_does_not_take_is_an_error(store: Store) -> None:
    with pytest.raises(StoreError, match="no parameter"):
        store.query("SELECT 1 WHERE 'x' = %(name)s", {"name": "x"})


def test_errors_carry_the_engines_code(store: Store) -> None:
    with pytest.raises(StoreError, match="UNKNOWN_TABLE") as caught:
        store.query("SELECT * FROM nowhere")
    assert caught.value.code == 60


def test_threads_query_side_by_side(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(
            lambda n: store.query("SELECT {n:UInt64} + count() FROM connections", {"n": n}).one(), range(50)
        )
    assert list(answers) == [(n,) for n in range(50)]


@pytest.mark.parametrize(
    "failing",
    [
        "SELECT number, throwIf(number = 200000) FROM numbers(300000)",
        "SELECT number FROM numbers(3000000) SETTINGS max_result_rows = 5000, result_overflow_mode = 'throw'",
    ],
)
def test_what_a_statement_answered_before_it_failed_is_not_in_the_next_answer(store: Store, failing: str) -> None:
    for _ in range(3):
        with pytest.raises(StoreError):
            store.query(failing, settings={"max_block_size": 1000, "max_threads": 1})
        answer = store.query("SELECT 1 AS one")
        assert (answer.columns, answer.rows) == (("one",), [(1,)])


def test_what_a_statement_answered_before_it_was_stopped_is_not_in_the_next_answer(store: Store) -> None:
    """The thread that stops it waits until the engine says that it runs."""
    text = "SELECT number, sleepEachRow(0.0002) FROM numbers(100000000)"
    for turn in range(3):
        mark = f"stopped-{turn}"
        marks = {"log_comment": mark, "max_block_size": 1000, "max_threads": 1}
        with ThreadPoolExecutor(1) as threads:
            running = threads.submit(store.query, text, None, marks)
            progress = f"SELECT read_rows FROM system.processes WHERE Settings['log_comment'] = '{mark}'"
            while not any(rows > 3000 for (rows,) in store.query(progress).rows):
                assert not running.done()
            store.command(f"KILL QUERY WHERE Settings['log_comment'] = '{mark}' ASYNC")
            with pytest.raises(StoreError):
                running.result()
        answer = store.query("SELECT 1 AS one")
        assert (answer.columns, answer.rows) == (("one",), [(1,)])


def test_settings_of_one_query_do_not_leak_into_the_next(store: Store) -> None:
    asked = "SELECT toString(getSetting('max_block_size'))"
    usual = store.query(asked).one()
    assert store.query(asked, settings={"max_block_size": 17}).one() == ("17",)
    assert store.query(asked).one() == usual


@pytest.mark.parametrize("rows_claimed", [1, 3])
def test_a_batch_with_other_than_the_claimed_rows_is_an_error(store: Store, rows_claimed: int) -> None:
    table, data, _ = batch("episodes", [{"first_seq": 1}, {"first_seq": 2}])
    with pytest.raises(StoreError, match=f"{rows_claimed} rows sent, 2 written"):
        store.insert_arrow(table, data, rows_claimed)


def test_a_second_stream_glued_to_the_first_is_noticed(store: Store) -> None:
    table, data, _ = batch("episodes", [{"first_seq": 1}])
    with pytest.raises(StoreError, match="2 rows sent, 1 written"):
        store.insert_arrow(table, data + data, 2)


def test_rows_that_replace_each_other_all_count_as_written(store: Store) -> None:
    store.insert_arrow(*batch("episodes", [{"first_seq": 1}, {"first_seq": 1}]))
    assert store.query("SELECT count() FROM episodes FINAL").one() == (1,)


def test_a_batch_of_another_catalogue_is_refused(store: Store) -> None:
    schema = pa.schema([pa.field("alias", pa.string()), pa.field("colour", pa.string())])
    data = stream(schema, [pa.array(["a"]), pa.array(["red"])])
    with pytest.raises(StoreError, match=r"lacks connection_id, .*has unknown colour"):
        store.insert_arrow("connection_aliases", data, 1)
    assert store.query("SELECT count() FROM connection_aliases").one() == (0,)


def test_a_column_that_no_row_needs_may_be_left_out(store: Store) -> None:
    table, data, rows = batch(
        "events", [{"frames.frame_type": ["ack", "stream"], **{name: [0, 0] for name in FRAME_NUMBERS}}]
    )
    whole = pa.ipc.open_stream(io.BytesIO(data)).read_all().to_batches()[0]
    kept = whole.drop_columns(["frames.fin", "frames.shape", "packet_number", "more"])
    store.insert_arrow(table, stream(kept.schema, kept.columns), rows)
    found = store.query("SELECT `frames.fin`, `frames.shape`, packet_number, more FROM events").one()
    assert found == ([0, 0], ["", ""], None, {})


@pytest.mark.parametrize("data", [b"", b"garbage, no Arrow at all", b"\xff\xff\xff\xff\x10\x00\x00\x00"])
def test_bytes_that_are_no_arrow_are_refused(store: Store, data: bytes) -> None:
    with pytest.raises(StoreError, match="not an Arrow IPC stream"):
        store.insert_arrow("rejects", data, 1)


def test_field_names_are_read_without_an_arrow_library() -> None:
    names = [f"frames.column {number}" for number in range(100)]
    schema = pa.schema([pa.field(name, pa.list_(pa.dictionary(pa.int32(), pa.string()))) for name in names])
    assert field_names(stream(schema, [pa.array([], field.type) for field in schema])) == tuple(names)


def test_every_kind_of_column_comes_back_as_it_was_sent(store: Store) -> None:
    row = {
        "connection_id": "c0ffee00",
        "seq": 3,
        "trace_day": date(2026, 1, 2),
        "time_us": -5,
        "packet_number": 2**63,
        "frames.frame_type": ["ack", "stream"],
        "frames.stream_id": [0, 4],
        "frames.offset": [0, 2**62],
        "frames.length": [0, 1200],
        "frames.fin": [0, 1],
        "frames.maximum": [0, 0],
        "frames.ack_delay_us": [8, 0],
        "frames.ack_ranges": [2, 0],
        "frames.shape": ["{a}", "{s}"],
        "acked.from": [1, 5],
        "acked.to": [3, 9],
        "exact": [-3, 4],
        "more": [("a.b", '"x"'), ("a.a", "1.50")],
    }
    store.insert_arrow(*batch("events", [row]))
    found = store.query("SELECT * FROM events_now").dicts()[0]
    assert {name: found[name] for name in row if name != "more"} == {name: row[name] for name in row if name != "more"}
    assert list(found["more"].items()) == row["more"]
    assert found["path_id"] is None


def test_an_export_is_one_complete_stream(store: Store) -> None:
    parts = list(store.stream_arrow("SELECT number, toString(number) AS text FROM numbers({n:UInt64})", {"n": 200_000}))
    tables = [pa.ipc.open_stream(io.BytesIO(part)).read_all() for part in parts]
    assert sum(table.num_rows for table in tables) == 200_000
    assert tables[0].column_names == ["number", "text"]


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = stores.open(f"chdb:{tmp_path / 'store'}")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.query("SELECT 1")


def test_a_bounded_store_is_closed_with_its_original(tmp_path: Path) -> None:
    """Else its next call starts the engine again: a folder that nobody says to hold, without the engine's walls."""
    store = stores.open(f"chdb:{tmp_path / 'store'}")
    twin = store.bounded({"max_result_rows": 10})
    assert twin.query("SELECT 1").one() == (1,)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        twin.query("SELECT 1")
    twin.close()  # once is enough
    with stores.open(f"chdb:{tmp_path / 'store'}") as again:
        assert again.query("SELECT 1").one() == (1,)


def test_no_more_than_sixteen_handles_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    all_of_them = Barrier(20)
    closed: list[object] = []
    with stores._Borrowed(store) as client:
        kind = type(client)
    close = kind.close

    def counted(self: Client) -> None:
        closed.append(self)
        close(self)

    monkeypatch.setattr(kind, "close", counted)

    def held(_: int) -> None:
        with stores._Borrowed(store):
            all_of_them.wait(30)

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(held, range(20)))
    assert len(closed) == 4
    assert store.query("SELECT 1").one() == (1,)


def test_a_path_that_is_no_folder_is_an_error_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot make the store's folder"):
        stores.open(f"chdb:{tmp_path / 'file'}")


def test_busy_is_a_store_error() -> None:
    assert issubclass(StoreBusy, StoreError)


def test_the_example_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = Path(__file__).parents[1] / "README.md"
    (example,) = re.findall(r"```python\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(example, names)
    assert names["slow"] == 0


def aliases_stream(batches: int = 2) -> bytes:
    schema = pa.schema([pa.field("alias", pa.string()), pa.field("version", pa.uint64())])
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as writer:
        for number in range(batches):
            writer.write_batch(pa.record_batch([pa.array(["a"] * (number + 1)), pa.array([1] * (number + 1))], schema))
    return sink.getvalue()


def test_rows_are_counted_without_an_arrow_library() -> None:
    assert [row_count(aliases_stream(batches)) for batches in range(4)] == [0, 1, 3, 6]
    dictionaries = pa.table({"a": pa.array(["x", "y", "x"]).dictionary_encode()})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, dictionaries.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(dictionaries)
    assert row_count(sink.getvalue()) == 3


def test_a_stream_that_is_cut_anywhere_or_goes_on_is_no_stream() -> None:
    data = aliases_stream()
    for end in range(len(data)):
        with pytest.raises(ValueError):
            row_count(data[:end])
    for more in (b"\0", data, b"\xff\xff\xff\xff\0\0\0\0"):
        with pytest.raises(ValueError, match="after its end mark"):
            row_count(data + more)


def test_random_bytes_are_no_stream_and_never_a_crash() -> None:
    data = bytearray(aliases_stream())
    for place in range(len(data)):
        for bit in (1, 128):
            data[place] ^= bit
            with contextlib.suppress(ValueError):
                row_count(bytes(data))
            data[place] ^= bit


def test_a_holder_that_serves_is_named_with_its_address(store: Store) -> None:
    assert store.folder is not None
    store.announce("http://127.0.0.1:9", "nobody", store.folder / "nobody.socket")
    second = subprocess.run(
        [sys.executable, "-c", OPEN_ELSEWHERE, f"chdb:{store.folder}"], capture_output=True, text=True, check=True
    )
    assert f"held by process {os.getpid()}, which serves it at http://127.0.0.1:9 but does not answer" in second.stdout
    assert second.stdout.count("\n") == 1 and second.stderr == ""
