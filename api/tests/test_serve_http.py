"""Raw HTTP: what curl, a broken client and a hostile one send."""

import contextlib
import gzip
import http.client
import json
import socket
import struct
import threading
import time
import zlib

import lz4.block
import lz4.frame
import pytest
from quiclens_schema.served import ROWS_TYPE
from quiclens_schema.version import VERSION
from serve_process import Served, until
from store_rows import aliases, send

from quiclens_store_server.codecs import decoded, framer

LONG = "SELECT count() FROM numbers(100000000000) WHERE sipHash64(number) = 1"


def metric(served: Served, name: str) -> float:
    lines = served.ask(method="GET", path="/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.partition("{")[0].partition(" ")[0] == name)


def test_its_metrics_say_which_quiclens_it_is(served: Served) -> None:
    assert f'quiclens_serve_build_info{{version="{VERSION}"}} 1.0' in served.ask(method="GET", path="/metrics").text


def test_it_answers_ping_and_an_empty_get(served: Served) -> None:
    for path in ("/ping", "/", "/replicas_status"):
        assert served.ask(method="GET", path=path).body == b"Ok.\n"
    assert served.ask(method="GET", path="/nowhere").status == 404


@pytest.mark.parametrize("path", ["/metrics", "/healthz"])
def test_a_probe_refuses_a_parameter_that_it_does_not_take(served: Served, path: str) -> None:
    got = served.ask(method="GET", path=path, a="1")
    problem = json.loads(got.text)
    assert (got.status, problem["code"], problem["hint"]) == (422, "unknown_parameter", "this address takes none")


@pytest.mark.parametrize(
    ("sent", "status", "code", "says"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400, "no_request", "Host"),
        (b"\x16\x03\x01 hello\r\n\r\n", 400, "no_request", "illegal request line"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n", 400, "no_request", "illegal header line"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400, "no_request", "Content-Length"),
        (b"GET /?" + b"x" * (2 << 20) + b" HTTP/1.1\r\nHost: a\r\n\r\n", 431, "head_too_large", "too long"),
    ],
)
def test_what_is_no_request_is_told_as_all_other_failures(
    served: Served, sent: bytes, status: int, code: str, says: str
) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as made:
        with contextlib.suppress(ConnectionError):  # it closes before it has read all
            made.sendall(sent)
        answer = http.client.HTTPResponse(made)
        answer.begin()
        problem = json.loads(answer.read())
    assert (answer.status, answer.getheader("content-type")) == (status, "application/problem+json")
    assert (problem["status"], problem["code"]) == (status, code) and says in problem["detail"]
    assert problem["instance"] == f"urn:uuid:{answer.getheader('x-request-id')}"
    assert answer.getheader("x-content-type-options") == "nosniff"


def test_the_statement_is_in_the_url_the_body_or_both(served: Served) -> None:
    assert served.ask(method="GET", query="SELECT 1").body == b"1\n"
    assert served.ask("SELECT 1").body == b"1\n"
    assert served.ask("+ 1", query="SELECT 1").body == b"2\n"
    form = {"Content-Type": "application/x-www-form-urlencoded"}  # what curl says of any --data
    assert served.request(b"SELECT 1", "POST", "/", form).body == b"1\n"


def test_the_format_is_the_statements_then_the_requests(served: Served) -> None:
    got = served.ask("SELECT 1 AS x FORMAT JSONEachRow", default_format="CSV")
    assert got.body == b'{"x":1}\n' and got.headers["x-clickhouse-format"] == "JSONEachRow"
    got = served.ask("SELECT 'x'", default_format="CSV")
    assert got.body == b'"x"\n' and got.headers["x-clickhouse-format"] == "CSV"
    assert served.ask("SELECT 1 FORMAT Nothing").code == 73


@pytest.mark.parametrize(
    "format", ["CSVWithNames", "JSON", "RowBinaryWithNamesAndTypes", "JSONCompactEachRowWithNames"]
)
def test_a_format_with_a_header_has_one(served: Served, format: str) -> None:
    got = served.ask(f"SELECT number AS many FROM numbers(300000) FORMAT {format}")
    assert got.body.count(b"many") == (1 if format != "JSON" else 300_001)


def test_an_answer_does_not_wait_for_the_clients_acknowledgement(served: Served) -> None:
    """Head and body in two packets, without TCP_NODELAY, cost 40 ms each time."""
    seconds = []
    for _ in range(20):
        began = time.perf_counter()
        served.one("SELECT 1")
        seconds.append(time.perf_counter() - began)
    assert min(seconds) < 0.035


def test_every_answer_has_clickhouses_headers(served: Served) -> None:
    got = served.ask("SELECT number FROM numbers(10)", query_id="mine")
    assert got.headers["x-clickhouse-query-id"] == "mine" and got.headers["x-clickhouse-timezone"]
    counts = json.loads(got.headers["x-clickhouse-summary"])
    assert counts["result_rows"] == "10" and counts["result_bytes"] == "20"
    empty = served.ask("SELECT 1 WHERE 0")
    assert empty.status == 200 and empty.headers["content-length"] == "0"


@pytest.mark.parametrize("text", [" ", " x", "x ", "x\r\ny: z", "\x00", "\x7f", "é", "x" * 201])
def test_what_cannot_stand_in_a_header_is_refused_as_a_query_id_and_told_of_a_format(served: Served, text: str) -> None:
    got = served.ask("SELECT 1", query_id=text)
    assert (got.status, got.code) == (400, 36), got.text
    got = served.ask("SELECT 1", default_format=text)
    assert (got.status, got.code) == (404, 73), got.text


@pytest.mark.parametrize(
    ("sql", "status", "code", "name"),
    [
        ("SELECT * FROM nowhere", 404, 60, "UNKNOWN_TABLE"),
        ("SELEC 1", 400, 62, "SYNTAX_ERROR"),
        ("SELECT 1; SELECT 2", 400, 62, "SYNTAX_ERROR"),
        ("", 400, 62, "SYNTAX_ERROR"),
        (" ; ", 400, 62, "SYNTAX_ERROR"),
        ("SELECT toUInt8('x')", 400, 6, "CANNOT_PARSE_TEXT"),
        ("SELECT {x:UInt8}", 400, 456, "UNKNOWN_QUERY_PARAMETER"),
        ("SELECT 1 SETTINGS no_such = 1", 404, 115, "UNKNOWN_SETTING"),
        ("SET max_threads = 1", 501, 48, "NOT_IMPLEMENTED"),
        ("USE default", 501, 48, "NOT_IMPLEMENTED"),
        ("CREATE TEMPORARY TABLE x (a UInt8)", 403, 164, "READONLY"),
        ("DROP TABLE events", 403, 164, "READONLY"),
        ("SELECT * FROM file('x')", 403, 497, "ACCESS_DENIED"),
        ("SELECT throwIf(1)", 500, 395, "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"),
    ],
)
def test_an_error_has_its_status_code_and_name(served: Served, sql: str, status: int, code: int, name: str) -> None:
    got = served.ask(sql)
    assert (got.status, got.code) == (status, code)
    assert got.text.startswith(f"Code: {code}. DB::Exception: ") and got.text.endswith(f"({name})\n")


def test_a_statement_that_is_no_text_is_an_error(served: Served) -> None:
    assert served.ask(b"SELECT '\xff\xfe'").code == 62
    assert served.ask("SELECT 1\0").status in (200, 400)


def test_unknown_settings_and_databases_are_errors(served: Served) -> None:
    assert served.ask("SELECT 1", no_such="1").code == 115
    assert served.ask("SELECT 1", **{"a = 1, b": "1"}).code == 115
    assert served.ask("SELECT 1", max_threads="x'y").status >= 400
    assert served.ask("SELECT 1", database="nowhere").code == 81
    assert served.ask("SELECT 1", database="a` SELECT").code == 81


def test_limits_are_kept_and_only_ever_lowered(served: Served) -> None:
    began = time.monotonic()
    assert served.ask(LONG, max_execution_time="0.5").code == 159
    assert served.ask(LONG + " SETTINGS max_execution_time = 1").code == 159
    assert time.monotonic() - began < 10
    assert served.ask("SELECT number FROM numbers(100)", max_result_rows="10").code == 396
    assert served.ask("SELECT 1 SETTINGS max_execution_time = 100000").code == 452
    assert served.ask("SELECT 1 SETTINGS max_memory_usage = 0").code == 452
    assert served.ask("SELECT 1 SETTINGS result_overflow_mode = 'break'").code == 452
    assert served.one("SELECT toString(getSetting('max_execution_time'))") == "300"
    assert served.ask("SELECT toString(getSetting('max_execution_time'))", max_execution_time="100000").text == "300\n"
    assert served.ask("SELECT groupArray(number) FROM numbers(50000000)", max_memory_usage="10000000").code == 241


def test_a_get_changes_nothing(served: Served) -> None:
    assert served.ask(method="GET", query="INSERT INTO link_pending (token) VALUES ('x')").code == 164
    assert served.ask(method="GET", query="DROP TABLE IF EXISTS nothing").code == 164
    assert served.ask("DROP TABLE IF EXISTS nothing", readonly="1").code == 164
    assert served.ask("SELECT 1 SETTINGS readonly = 0").code == 497


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd", "lz4"])
def test_an_answer_is_compressed_when_it_is_large_and_asked_for(served: Served, encoding: str) -> None:
    for rows in (50_000, 2_000_000):  # known size, and streamed
        sql = f"SELECT number FROM numbers({rows})".encode()
        got = served.request(sql, "POST", "/", {"Accept-Encoding": f"br, {encoding};q=0.9"})
        assert got.headers["content-encoding"] == encoding
        assert inflated(got.body, encoding) == b"".join(b"%d\n" % n for n in range(rows))
        got = served.request(sql, "POST", "/", {"Accept-Encoding": encoding}, enable_http_compression="0")
        assert "content-encoding" not in got.headers


def inflated(data: bytes, encoding: str) -> bytes:
    if encoding == "zstd":
        return decoded(data, "zstd", 1 << 30, lambda _: None)
    if encoding == "lz4":
        return bytes(lz4.frame.decompress(data))
    return gzip.decompress(data) if encoding == "gzip" else zlib.decompress(data)


def test_a_compressed_statement_is_read(served: Served) -> None:
    got = served.request(gzip.compress(b"SELECT 1"), "POST", "/", {"Content-Encoding": "gzip"})
    assert got.body == b"1\n"
    twice = gzip.compress(b"SELECT ") + gzip.compress(b"2")
    assert served.request(twice, "POST", "/", {"Content-Encoding": "gzip"}).body == b"2\n"


@pytest.mark.parametrize(
    ("body", "encoding", "code"),
    [
        (b"SELECT 1", "gzip", 271),
        (gzip.compress(b"SELECT 1")[:-9], "gzip", 271),
        (gzip.compress(b"SELECT 1") + b"junk", "gzip", 271),
        (b"SELECT 1", "br", 40),
        (b"SELECT 1", "gzip, gzip, gzip", 36),
        (gzip.compress(bytes(600_000_000), 1), "gzip", 307),
    ],
)
def test_a_wrongly_compressed_body_is_an_error(served: Served, body: bytes, encoding: str, code: int) -> None:
    assert served.request(body, "POST", "/", {"Content-Encoding": encoding}).code == code


def test_a_frame_that_lies_is_an_error(served: Served) -> None:
    good = framer("LZ4").add(b"SELECT 1")
    assert served.request(good, "POST", "/", {}, decompress="1").body == b"1\n"
    assert served.request(good[:-1], "POST", "/", {}, decompress="1").code == 271
    assert served.request(b"\0" + good[1:], "POST", "/", {}, decompress="1").code == 40
    huge = bytes(16) + struct.pack("<BII", 0x82, 100, 0xFFFFFFFF) + bytes(91)
    assert served.request(huge, "POST", "/", {}, decompress="1").code == 307
    answer = served.ask("SELECT 'framed'", compress="1").body
    assert lz4.block.decompress(answer[25:], uncompressed_size=7) == b"framed\n"


def test_multipart_parameters_are_read_and_files_refused(served: Served) -> None:
    def form(*parts: str) -> bytes:
        return "".join(f"--X\r\nContent-Disposition: form-data; {part}\r\n" for part in parts).encode() + b"--X--\r\n"

    headers = {"Content-Type": "multipart/form-data; boundary=X"}
    body = form('name="query"\r\n\r\nSELECT {s:String}', 'name="param_s"\r\n\r\nit\'s\\n')
    assert served.request(body, "POST", "/", headers).body == b"it\\'s\\n\n"
    body = form('name="t"; filename="t.csv"\r\n\r\n1,2')
    assert served.request(body, "POST", "/", headers, query="SELECT 1").code == 36
    assert served.request(b"junk", "POST", "/", headers, query="SELECT 1").status in (200, 400)
    assert served.request(body, "POST", "/", {"Content-Type": "multipart/form-data"}).code == 36


def test_a_giant_url_is_refused_and_a_long_one_taken(served: Served) -> None:
    assert served.ask(method="GET", query="SELECT 1 -- " + "x" * 100_000).body == b"1\n"
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        assert served.ask(method="GET", query="SELECT 1 -- " + "x" * 3_000_000).status in (400, 414, 431)
    assert served.one("SELECT 1") == "1"


def test_a_body_that_is_cut_inserts_nothing(served: Served) -> None:
    data = aliases(alias=["cut1", "cut2"])
    path = "/store/tables/connection_aliases/rows?rows=2"
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {ROWS_TYPE}\r\n"
    with socket.create_connection(("127.0.0.1", served.port)) as wire:
        wire.sendall(f"{head}Content-Length: {len(data) + 100}\r\n\r\n".encode() + data)
    with socket.create_connection(("127.0.0.1", served.port)) as wire:
        wire.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n{len(data):x}\r\n".encode() + data + b"\r\n")
    assert until(lambda: metric(served, "quiclens_serve_held_bytes") == 0)
    assert served.one("SELECT count() FROM connection_aliases WHERE startsWith(alias, 'cut')") == "0"


def test_a_query_stops_when_its_client_goes_away(served: Served) -> None:
    before = metric(served, "quiclens_serve_cancelled_total")
    for sql in (LONG, "SELECT number FROM numbers(100000000000)", LONG + " FORMAT JSON"):
        with socket.create_connection(("127.0.0.1", served.port)) as wire:
            head = f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(sql)}\r\n\r\n{sql}"
            wire.sendall(head.encode())
            assert until(lambda: metric(served, "quiclens_serve_open_handles") == 1)
            time.sleep(0.3)
        assert until(lambda: metric(served, "quiclens_serve_open_handles") == 0)
    assert until(lambda: metric(served, "quiclens_serve_cancelled_total") == before + 3)


def test_a_query_is_killed_by_its_id(served: Served) -> None:
    got = []
    thread = threading.Thread(target=lambda: got.append(served.ask(LONG, query_id="it's long")))
    thread.start()
    assert until(lambda: metric(served, "quiclens_serve_running") == 1)
    assert served.ask("SELECT 1", query_id="it's long").code == 216
    assert served.ask("KILL QUERY WHERE query_id = 'other'").body == b""
    assert until(lambda: "waiting" in served.ask("KILL QUERY WHERE query_id = 'it\\'s long' SYNC").text)
    thread.join(10)
    assert got[0].code == 394


def test_a_streamed_answer_that_fails_is_cut(served: Served) -> None:
    connection = served.connection()
    connection.request("POST", "/", b"SELECT throwIf(number = 3000000, 'boo') FROM numbers(5000000)")
    answer = connection.getresponse()
    assert answer.status == 200
    with pytest.raises(http.client.IncompleteRead) as caught:
        answer.read()
    connection.close()
    answer.close()
    tag = answer.headers["X-ClickHouse-Exception-Tag"].encode()
    assert b"__exception__\r\n" + tag in caught.value.partial[-2000:] and b"boo" in caught.value.partial[-2000:]
    got = served.ask("SELECT throwIf(number = 3000000, 'boo') FROM numbers(5000000)", wait_end_of_query="1")
    assert got.code == 395


def test_an_answer_that_waits_for_its_end_is_whole(served: Served) -> None:
    got = served.ask("SELECT number FROM numbers(6000000)", wait_end_of_query="1")
    assert got.status == 200 and got.body.count(b"\n") == 6_000_000


def test_browsers_of_other_sites_are_turned_away(served: Served) -> None:
    def asked(**headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return served.request(b"SELECT 1", "POST", "/", named).status

    assert asked(Origin="https://evil.example") == 403
    assert asked(Sec_Fetch_Site="cross-site") == 403
    assert asked(Host="evil.example") == 403
    assert asked(Host="localhost:1") == 200
    assert asked(Origin=served.url) == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_memory_usage", "0.5"), ("max_result_rows", "0.3"), ("max_result_bytes", "0"), ("max_execution_time", "1e-7"),
     ("max_temporary_data_on_disk_size_for_query", "0"), ("max_memory_usage", "-1"), ("max_execution_time", "nan")],
)  # fmt: skip
def test_a_fraction_is_not_taken_for_a_limit(served: Served, name: str, value: str) -> None:
    """The engine would cut it off, and 0 is no limit."""
    asked = f"SELECT getSetting('{name}')"
    usual = served.one(asked)
    assert float(usual) > 0 and served.ask(asked, **{name: value}).text.strip() == usual
    assert served.ask(f"{asked} SETTINGS {name} = {value}").code in (452, 62)


@pytest.mark.parametrize("format", ["DataFrame", "ArrowTable", "arrowtable", "Nothing"])
def test_a_format_that_clickhouse_has_not_is_unknown(served: Served, format: str) -> None:
    assert served.ask("SELECT 1", default_format=format).code == 73
    assert served.ask(f"SELECT 1 FORMAT {format}").code == 73


def test_metrics_count(served: Served) -> None:
    names = ("queries_total", "inserts_total", "rows_written_total", "received_bytes_total", "sent_bytes_total")
    before = {name: metric(served, f"quiclens_serve_{name}") for name in names}
    assert send(served, "connection_aliases", aliases(alias=["counted1", "counted2"]), 2).status == 200
    served.ask("SELECT * FROM nowhere")
    served.ask("SELECT 1")
    after = {name: metric(served, f"quiclens_serve_{name}") for name in names}
    gained = {name: after[name] - before[name] for name in names}
    assert gained["queries_total"] == 2 and gained["inserts_total"] == 1 and gained["rows_written_total"] == 2
    assert gained["received_bytes_total"] > 20 and gained["sent_bytes_total"] > 20
    assert 'quiclens_serve_errors_total{code="60"}' in served.ask(method="GET", path="/metrics").text


def test_an_error_has_its_own_name_and_nothing_of_how_it_was_found(served: Served) -> None:
    got = served.ask("SELCT 1")
    assert got.code == 62 and got.text.endswith("(SYNTAX_ERROR)\n")
    assert "formatQuerySingleLine" not in got.text
