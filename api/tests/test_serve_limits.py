"""What one statement, and all together, may hold; and query parameters of the routes that write."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from quiclens_schema import store as stores
from serve_process import Served

from quiclens_store_server.app import create_app
from quiclens_store_server.codecs import FRAME_BYTES_AT_MOST, MEMBERS_AT_MOST, framer
from quiclens_web.api.settings import QuestionLimits, UploadLimits
from quiclens_web.front.door import RequestLimits
from quiclens_web.front.settings import ServeSettings, StatementLimits

MOST = StatementLimits().text_bytes


def statement(size: int) -> bytes:
    start = b"SELECT 1 /* "
    return start + b"x" * (size - len(start) - 3) + b" */"


@pytest.mark.parametrize("way", ["as it is", "gzip", "frames", "with a parameter"])
def test_a_statement_longer_than_any_is_refused_before_it_is_read(served: Served, way: str) -> None:
    def ask(text: bytes) -> tuple[int, int]:
        parameters: dict[str, str] = {}
        headers: dict[str, str] = {}
        if way == "gzip":
            text, headers = gzip.compress(text), {"Content-Encoding": "gzip"}
        elif way == "frames":
            text, parameters = framer("LZ4").add(text), {"decompress": "1"}
        elif way == "with a parameter":
            text, parameters = text[len(b"SELECT 1 ") :], {"query": "SELECT 1"}
        got = served.request(text, "POST", "/", headers, **parameters)
        return got.status, got.code

    assert ask(statement(100_000)) == (200, 0)
    assert ask(statement(MOST)) == (400, 62), "the engine itself takes less"
    assert ask(statement(MOST + 10)) == (413, 307)


def test_what_a_statement_is_judged_by_is_held_against_the_budget(store_url: str) -> None:
    with stores.open(store_url) as store:
        assert store.folder is not None
        limits = StatementLimits(held_bytes=2_000_000)
        app = create_app(store, ServeSettings(folder=store.folder, instance="x", limits=limits))
        with TestClient(app, base_url="http://127.0.0.1:8123") as web:
            for _ in range(3):
                assert web.post("/", content=statement(1_000)).text == "1\n"
                refused = web.post("/", content=statement(10_000))
                assert refused.status_code == 503 and refused.headers["x-clickhouse-exception-code"] == "202"
                assert refused.headers["retry-after"] == "1"


def test_large_statements_that_are_judged_take_a_part_of_the_budget(store_url: str) -> None:
    large = b"SELECT length([" + b"0," * 20_000 + b"0]) /* " + b"x" * 70_000 + b" */"
    limits = StatementLimits(held_bytes=200_000_000, judged_at_once=2, wait_seconds=120)
    with stores.open(store_url) as store:
        assert store.folder is not None
        app = create_app(store, ServeSettings(folder=store.folder, instance="x", limits=limits))
        with TestClient(app, base_url="http://127.0.0.1:8123") as web, ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(lambda _: web.post("/", content=large), range(12)))
    assert {(each.status_code, each.text) for each in answers} == {(200, "20001\n")}


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/store/tables/events/rows?rows=1&row=2", "rows?"),
        ("/store/tables/events/rows?rows=1&dry_run=1", "one of rows"),
        ("/store/operations/link?dry_run=1", "this address takes none"),
        ("/store/operations/erase?is_trial=true", "this address takes none"),
    ],
)
def test_a_parameter_that_a_route_that_writes_does_not_know_is_refused(served: Served, path: str, hint: str) -> None:
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    refused = served.request(b"", "POST", path, headers)
    assert refused.status == 422 and refused.headers["content-type"] == "application/problem+json"
    problem = json.loads(refused.text)
    assert (problem["code"], problem["hint"]) == ("unknown_parameter", hint)


def test_arguments_larger_than_any_are_refused_before_they_are_read(served: Served) -> None:
    refused = served.request(b" " * 65_537, "POST", "/store/operations/link", {})
    assert refused.status == 413 and refused.headers["content-type"] == "application/problem+json"


def test_the_readme_tells_the_limits_that_there_are() -> None:
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    of, asked, door = StatementLimits(), QuestionLimits(), RequestLimits()
    mb, mib = 1_000_000, 1 << 20
    uploads, numbers = UploadLimits(), ("No", "One", "Two", "Three")
    told = (
        f"{of.queries_at_once} queries and {of.inserts_at_once} inserts run at a time",
        f"finds no place in {of.wait_seconds:.0f} seconds",
        f"let running requests finish, for {of.drain_seconds:.0f} seconds",
        f"{of.queries_at_once} at a time       a handle",
        f"{of.seconds:.0f} s a query",
        f"{of.statement_bytes // mb} MB of memory",
        f"blocks of {of.block_rows:,} rows",
        f"{of.result_rows // mb} M rows and {of.result_bytes // 1000 // mb} GB of result",
        f"{of.whole_bytes // mb} MB of rows in a format that is written whole",
        f"{of.upload_bytes // mb} MB of body",
        f"{of.text_bytes // mib} MiB of statement",
        f"{MEMBERS_AT_MOST:,} members or frames at most",
        f"{FRAME_BYTES_AT_MOST // mib} MiB of data",
        f"{of.held_bytes // 1000 // mb} GB or twice the largest body",
        f"{asked.answer_bytes // mb} MB of rows, and {asked.seconds:.0f} s",
        f"{numbers[uploads.at_once]} uploads are read at a time",
        f"{numbers[uploads.of_one].lower()} of one visitor",
        f"finds no place in {uploads.wait_seconds:.0f} seconds gets 503",
        f"more than {uploads.files_bytes // 1000 // mb} GB on disk",
        f"A file has {asked.upload_bytes // mb} MB at most",
        f"takes no byte for {of.stall_seconds:.0f} s",
        f"has {of.connections.head_seconds:.0f} s for the head",
        f"at {of.connections.body_bytes_a_second} bytes a second at least",
        f"idle connection after {of.connections.idle_seconds} s",
        f"hold {of.connections.heads_bytes // mib} MiB in all",
        f"One peer has {of.connections.of_one_peer} connections",
        f"{of.connections.at_once:,} at most",
        f"{door.of_one} requests at a time, all have {door.at_once}",
    )
    assert [each for each in told if each not in text] == []
