"""clickhouse-connect's ordinary HTTP client, and clickhouse-go's, against a running serve."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import clickhouse_connect
import pytest
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError, StreamFailureError
from quiclens_schema import store as stores
from serve_process import Served

NASTY = "a'b\\c\n\t\"%(x)s {y:String} \u2603 '"


def connect(served: Served, **more: Any) -> Client:
    return clickhouse_connect.get_client(interface="http", host="127.0.0.1", port=served.port, **more)


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[Client]:
    with connect(served) as client:
        yield client


def test_it_connects_and_pings(client: Client) -> None:
    assert client.ping() and str(client.server_version).startswith("26.") and client.command("SELECT 1") == 1


def test_a_server_that_is_too_old_is_no_store(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    there = stores.place(f"http://127.0.0.1:{served.port}")
    with stores.Store(there) as store:
        assert store.query("SELECT 1").one() == (1,)
    monkeypatch.setattr(stores, "CLICKHOUSE_LEAST", (99, 2))
    with pytest.raises(stores.StoreError, match=r"the server is ClickHouse 26\.\S+; quiclens needs 99\.2 or newer"):
        stores.Store(there)


@pytest.mark.parametrize("as_form", [False, True])
def test_parameters_come_back_as_they_went(served: Served, as_form: bool) -> None:
    with connect(served, form_encode_query_params=as_form) as client:
        asked = "SELECT {n:UInt32}, {s:String}, {l:Array(String)}, {o:Nullable(UInt8)}"
        given = {"n": 3, "s": NASTY, "l": [NASTY, "", "\\"], "o": None}
        assert client.query(asked, parameters=given).result_rows == [(3, NASTY, [NASTY, "", "\\"], None)]
        assert client.query("SELECT %(x)s", parameters={"x": "it's"}).result_rows == [("it's",)]


def test_rows_are_not_inserted_by_statements(client: Client) -> None:
    inserts: tuple[Callable[[], object], ...] = (
        lambda: client.insert("connection_aliases", [["a"]], column_names=["alias"]),
        lambda: client.raw_insert("connection_aliases", ["alias"], insert_block="a\n", fmt="TabSeparated"),
        lambda: client.command("CREATE TABLE t (a UInt8) ENGINE = Memory"),
    )
    for insert in inserts:
        with pytest.raises(DatabaseError) as caught:
            insert()
        assert caught.value.code == 164 and "/store/tables/TABLE/rows" in str(caught.value)


def test_answers_are_read_raw(client: Client) -> None:
    asked = "SELECT 9 AS a, 'z' AS s"
    assert client.raw_query(asked, fmt="JSONEachRow") == b'{"a":9,"s":"z"}\n'


def test_settings_last_for_one_query(client: Client) -> None:
    asked = "SELECT toString(getSetting('max_block_size'))"
    usual = client.query(asked).result_rows
    assert client.query(asked, settings={"max_block_size": 17}).result_rows == [("17",)]
    assert client.query(asked).result_rows == usual


def test_answers_come_as_arrow_frames_blocks_or_nothing(client: Client) -> None:
    assert client.query_arrow("SELECT number AS n FROM numbers(200000)").num_rows == 200_000
    assert client.query("SELECT number AS n FROM numbers(3) LIMIT 0").column_names == ("n",)
    with client.query_row_block_stream("SELECT number FROM numbers(3000000)") as blocks:
        assert sum(len(block) for block in blocks) == 3_000_000
    pytest.importorskip("pandas")
    assert list(client.query_df("SELECT number AS n FROM numbers(3)")["n"]) == [0, 1, 2]


def test_every_type_comes_back(client: Client) -> None:
    asked = """SELECT '{"a":1}'::JSON, 1::Variant(UInt8, String), 'x'::Dynamic, (1, 'a')::Tuple(x UInt8, y String),
        toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0'), toIPv6('::1'), CAST(NULL, 'LowCardinality(Nullable(String))'),
        CAST('a', 'Enum8(\\'a\\' = 1)'), toDateTime64('2026-01-02 03:04:05.678901', 6, 'UTC'), map('k', [1])"""
    (found,) = client.query(asked).result_rows
    assert found[:4] == ({"a": 1}, 1, "x", {"x": 1, "y": "a"}) and str(found[5]) == "::1"
    assert found[6:8] == (None, "a") and found[8].microsecond == 678_901 and found[9] == {"k": [1]}


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT * FROM nowhere", 60),
        ("SELEC 1", 62),
        ("SELECT toUInt8('x')", 6),
        ("SELECT sleep(2) SETTINGS max_execution_time = 0.5", 159),
        ("SELECT groupArray(number) FROM numbers(50000000) SETTINGS max_memory_usage = 10000000", 241),
        ("SELECT * FROM file('/etc/hostname')", 497),
    ],
)
def test_errors_keep_their_code(client: Client, sql: str, code: int) -> None:
    with pytest.raises(DatabaseError) as caught:
        client.query(sql)
    assert caught.value.code == code


def test_a_failure_in_the_middle_of_an_answer_is_one(client: Client) -> None:
    with (
        pytest.raises(StreamFailureError, match="boo"),
        client.query_row_block_stream("SELECT throwIf(number = 3000000, 'boo') FROM numbers(5000000)") as blocks,
    ):
        for _ in blocks:
            pass


@pytest.mark.long
def test_clickhouse_go_reads(guarded: Served) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("go is not installed: clickhouse-go was not tested")
    folder = Path(__file__).parent / "clickhouse_go"
    environment = {**os.environ, "QUICLENS_SERVE_ADDRESS": f"127.0.0.1:{guarded.port}", "QUICLENS_SERVE_TOKEN": "write"}
    downloaded = subprocess.run([go, "mod", "download"], cwd=folder, env=environment, capture_output=True, text=True)
    if downloaded.returncode:
        pytest.skip(f"clickhouse-go cannot be had: {downloaded.stderr.strip()[-200:]}")
    ran = subprocess.run(
        [go, "test", "-p", "1", "-count=1", "-v", "./..."], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout[-4000:]
    assert "--- SKIP" not in ran.stdout
