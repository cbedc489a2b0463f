"""Rows and operations of a served store: what arrives whole is stored, everything else is refused with a reason."""

import gzip
import json
from collections.abc import Callable

import lz4.frame
import pytest
from serve_process import Got, Served
from store_rows import aliases, batches_of_aliases, send, stream

from quiclens_store_server.codecs import encoder


def zstd(data: bytes) -> bytes:
    made = encoder("zstd")
    return made.add(data) + made.end()


def names(served: Served, prefix: str) -> list[str]:
    """Aliases that begin so."""
    found = served.one(
        f"SELECT DISTINCT alias FROM connection_aliases WHERE startsWith(alias, '{prefix}') ORDER BY alias"
    )
    return found.split()


def problem(got: Got) -> tuple[int, str]:
    """A refusal's ClickHouse code and detail."""
    assert got.status >= 400 and got.headers["content-type"] == "application/problem+json", got.text
    document = json.loads(got.text)
    assert document["status"] == got.status and document["title"]
    return document.get("engine_code", 0), document["detail"]


@pytest.mark.parametrize("inside", [None, "zstd", "lz4"])
@pytest.mark.parametrize(
    ("encoding", "pack"), [("", bytes), ("gzip", gzip.compress), ("lz4", lz4.frame.compress), ("zstd", zstd)]
)
def test_rows_are_stored_whatever_compresses_them(
    served: Served, inside: str | None, encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    mark = f"c{encoding}{inside}-"
    data = batches_of_aliases(2, inside, {"alias": [mark + "a", mark + "it's \\ \t"]})
    got = send(served, "connection_aliases", pack(data), 4, **({"Content_Encoding": encoding} if encoding else {}))
    assert got.status == 200 and json.loads(got.text) == {"rows": 4, "erased": 0}, got.text
    asked = f"SELECT DISTINCT alias FROM connection_aliases WHERE startsWith(alias, '{mark}') ORDER BY alias"
    found = served.one(f"{asked} FORMAT JSONCompactEachRow").splitlines()
    assert [json.loads(row)[0] for row in found] == [mark + "a", mark + "it's \\ \t"]


def test_a_stream_is_taken_whole_or_not_at_all(served: Served) -> None:
    good = batches_of_aliases(2, None, {"alias": ["whole1", "whole2"]})
    refusals = [
        (good[:-8], 4, 33, "no end mark"),  # cut between messages
        (good[: len(good) // 2], 4, 33, "cut"),
        (good + good, 8, 33, "bytes after its end mark"),  # the engine would drop the second
        (good, 3, 33, "has 4 rows, 3 were announced"),
        (b"garbage", 1, 33, "not an Arrow IPC stream"),
        (b"", 0, 33, "Arrow"),
        (aliases(alias=["whole1", "whole2"], colour=["red", "blue"]), 2, 0, "unknown colour"),
        (stream({"alias": ["whole1"]}), 1, 0, "lacks connection_id"),
    ]
    for data, rows, code, detail in refusals:
        found = problem(send(served, "connection_aliases", data, rows))
        assert found[0] == code and detail in found[1], found
    assert names(served, "whole") == []
    assert send(served, "connection_aliases", good, 4).status == 200
    assert names(served, "whole") == ["whole1", "whole2"]


def test_rows_that_replace_each_other_all_count_as_written(served: Served) -> None:
    data = aliases(alias=["same", "same"], connection_id=["c", "c"], trace_id=["t", "t"], vantage=["v", "v"])
    assert send(served, "connection_aliases", data, 2).status == 200


def test_a_stream_without_rows_is_stored_too(served: Served) -> None:
    assert send(served, "connection_aliases", aliases(alias=[]), 0).status == 200


UNKNOWN = ("requests", "request_rollups", "schema_migrations", "link_marks", "nowhere", "system.one", "default.events")


@pytest.mark.parametrize("table", [*UNKNOWN, "%2Fetc%2Fpasswd", "events%20FORMAT", "`events`"])
def test_only_tables_that_collectors_fill_take_rows(served: Served, table: str) -> None:
    got = send(served, table, aliases(), 2)
    assert got.status == 404, got.text


@pytest.mark.parametrize(
    ("headers", "rows", "status"),
    [({"Content-Type": "text/csv"}, "2", 415), ({}, "two", 422), ({}, "-1", 422), ({}, "", 422), ({}, "9" * 13, 422)],
)
def test_a_request_that_says_too_little_is_refused(
    served: Served, headers: dict[str, str], rows: str, status: int
) -> None:
    given = {"Content-Type": "application/vnd.apache.arrow.stream", **headers}
    got = served.request(aliases(), "POST", "/store/tables/connection_aliases/rows", given, rows=rows)
    assert got.status == status and problem(got)[1]


def test_who_may_not_write_sends_no_rows_and_runs_no_operation(guarded: Served) -> None:
    for key, status in (("", 401), ("wrong", 403), ("read", 403)):
        headers = {"X_ClickHouse_Key": key} if key else {}
        assert send(guarded, "connection_aliases", aliases(), 2, **headers).status == status
        for operation in ("migrate", "link", "link-changed", "retention"):
            sent = {"X-ClickHouse-Key": key} if key else {}
            got = guarded.request(b"{}", "POST", f"/store/operations/{operation}", sent)
            assert got.status == status, got.text
    writer = {"X-ClickHouse-Key": "write"}
    assert guarded.request(b"SELECT count() FROM connection_aliases", "POST", "/", writer).text.strip() == "0"


def test_operations_answer_what_they_did(served: Served) -> None:
    def run(name: str, body: bytes = b"") -> Got:
        return served.request(body, "POST", f"/store/operations/{name}", {})

    assert json.loads(run("migrate").text)["applied"] == []
    assert json.loads(run("link").text).keys() == {"hours", "requests"}
    assert json.loads(run("link-changed").text).keys() == {"hours", "requests"}
    kept = {"events_days": 0, "summaries_days": 0, "disk_bytes": 0}
    assert json.loads(run("retention", json.dumps(kept).encode()).text)["dropped"] == []
    assert run("shutdown").status == 404
    assert served.request(b"", "GET", "/store/operations/link", {}).status in (404, 405)
    assert "takes no arguments" in problem(run("link", b'{"hours": 1}'))[1]
    assert problem(run("retention", b'{"events_days": "x"}'))[0] == 36
    for body in (b"[]", b"nothing", b"1"):
        assert run("link", body).status == 422
    assert run("link", b"{" + b" " * 70_000 + b"}").status == 413
