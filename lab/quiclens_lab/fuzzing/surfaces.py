"""Python that reads foreign bytes, each a function that atheris calls.

`python -m quiclens_lab.fuzzing.surfaces NAME …`: libFuzzer's options follow the name. What a function raises is a
finding: each expects what its surface refuses with.
"""

import asyncio
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

LIMIT = 1 << 20
NOW = datetime(2026, 11, 20, 10, tzinfo=UTC)
TABLES = ("events", "streams", "connections", "episodes", "request_lines", "rejects")
BOUNDARY = b"quiclens"
CHARSETS = ("", "utf-8", "latin-1", "undefined", "punycode", "unicode_escape", "idna", "hex", "utf-16", "utf-7")

_OURS = ("quiclens_questions", "quiclens_store_server", "quiclens_web", "quiclens_ingest", "quiclens_schema")


def codecs() -> Callable[[bytes], None]:
    """Content encodings and ClickHouse's frames: bounded, refused with a Fault, and what we write is read back."""
    from quiclens_store_server import codecs as tried
    from quiclens_web.front.faults import Fault

    grown: list[int] = []

    def decoded(body: bytes, encoding: str) -> bytes:
        return tried.decoded(body, encoding, LIMIT, grown.append)

    def check(data: bytes) -> None:
        choice, body = (data[0] if data else 0), data[1:]
        encoding = (*tried.ENCODINGS, "other")[choice % 5]
        for is_framed in (False, True):
            grown.clear()
            try:
                found = tried.unframed(body, LIMIT, grown.append) if is_framed else decoded(body, encoding)
            except Fault:
                found = b""
            else:
                assert sum(grown) == len(found) <= LIMIT, "what came out is told piece by piece"
            assert sum(grown) <= LIMIT, "no more comes out than is allowed"
        name = tried.ENCODINGS[choice % 4]
        for encoder, unpack in (
            (tried.encoder(name), lambda packed, limit, grow: tried.decoded(packed, name, limit, grow)),
            (tried.framer("ZSTD" if choice % 2 else "LZ4"), tried.unframed),
        ):
            half = len(body) // 2
            packed = encoder.add(body[:half]) + encoder.add(body[half:]) + encoder.end()
            back = unpack(packed, LIMIT, grown.append)
            assert back == body, "what was written is read back"

    return check


def form() -> Callable[[bytes], None]:
    """A multipart body that comes in pieces: parameters, or a Fault; wherever it is cut, the same ones."""
    from quiclens_store_server import bodies
    from quiclens_web.front.faults import Fault
    from quiclens_web.front.memory import MemoryBudget
    from quiclens_web.front.settings import StatementLimits
    from starlette.requests import Request

    def read(body: bytes, size: int, charset: str) -> Any:
        pieces = [body[at : at + size] for at in range(0, len(body), size)] or [b""]
        messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
        left = iter([*messages, {"type": "http.request", "body": b"", "more_body": False}])

        async def receive() -> Any:
            return next(left)

        kind = b"multipart/form-data; boundary=" + BOUNDARY + (f"; charset={charset}".encode() if charset else b"")
        scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-type", kind)]}
        try:
            return asyncio.run(bodies.form(Request(scope, receive), StatementLimits(), MemoryBudget(1 << 30).lease()))
        except Fault as fault:
            return fault.name

    def check(data: bytes) -> None:
        choice, body = (data[0] if data else 0), data[1:]
        charset = CHARSETS[choice % len(CHARSETS)]
        size = 1 + choice // len(CHARSETS) * 10
        found, whole = read(body, size, charset), read(body, max(len(body), 1), charset)
        # A body of which nothing can be read is refused, or has no parameters: the parser sees that late or never.
        is_same = found == whole or not whole or isinstance(found, str)
        assert is_same, f"pieces of {size} bytes give {found}, the whole gives {whole}"

    return check


def protocol() -> Callable[[bytes], None]:
    """Parameters and headers of a request: read, or a Fault; a limit is never passed."""
    from urllib.parse import parse_qsl

    from quiclens_store_server import protocol as tried
    from quiclens_store_server.codecs import ENCODINGS
    from quiclens_web.front.faults import Fault
    from quiclens_web.front.settings import StatementLimits

    limits = StatementLimits()

    def check(data: bytes) -> None:
        query, _, rest = data.partition(b"\0")
        accepted = rest.decode("latin-1")
        given = parse_qsl(query.decode("utf-8", "surrogateescape"), keep_blank_values=True)
        try:
            asked = tried.read(given, {"accept-encoding": accepted})
        except Fault:
            return
        assert asked.query_id.isprintable()
        assert asked.encoding_out in ("", *ENCODINGS)
        tried.encoder_of(asked, None)
        settings = tried.capped(asked.settings, limits)
        assert 0 < float(settings["max_memory_usage"].strip("'")) <= limits.statement_bytes, settings

    return check


def where() -> Callable[[bytes], None]:
    """`--where`: a condition of the catalogue's own words and a bound value, or a usage mistake."""
    from quiclens_questions import where as tried
    from quiclens_questions.failure import UsageMistake

    columns = tried.request_columns()

    def check(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        try:
            found = tried.read([text], NOW, columns)
        except UsageMistake:
            return
        (condition,) = found.conditions
        assert condition.columns <= set(columns)
        known = {f"`{name}`" for name in columns}
        words = found.sql().replace("(", " ").replace(")", " ").split()
        allowed = {"AND", "OR", "IS", "NOT", "NULL", "ILIKE", "=", "!=", ">=", "<=", ">", "<"}
        assert all(word in known or word in allowed or word.startswith("{where_0") for word in words), found.sql()
        bound = set(re.findall(r"\{(where_[0-9_]+):", found.sql()))
        assert bound == set(found.parameters()), found.sql()

    return check


def arrow_message() -> Callable[[bytes], None]:
    """A message of a table's topic: a checked batch, or the reason why it is none."""
    from quiclens_ingest import message
    from quiclens_ingest.message import MessageLimits, Unreadable

    limits = MessageLimits(message_bytes=LIMIT, decompressed_bytes=16 << 20)

    def check(data: bytes) -> None:
        table, value = TABLES[(data[0] if data else 0) % len(TABLES)], data[1:]
        headers = {"table": table.encode(), "rows": b"1", "heartbeat_us": value[:19]}
        try:
            read = message.read(table, headers, value, limits)
        except Unreadable:
            return
        assert read.batch.num_rows == 1
        read.batch.validate(full=True)

    return check


# Words of statements, which bytes choose: random text is almost never a statement.
_WORDS = r"""
    SELECT FROM WHERE WITH AS UNION ALL IN NOT JOIN ON ARRAY LEFT ORDER BY LIMIT SETTINGS FORMAT EXPLAIN DESCRIBE TABLE
    EXISTS SHOW CREATE INSERT INTO VALUES DROP OUTFILE APPLY REPLACE EXCEPT COLUMNS OVER PARTITION DISTINCT CASE WHEN
    THEN END INTERVAL DAY FINAL SAMPLE PREWHERE HAVING QUALIFY WINDOW FILL
    ( ) ( ) , , . = -> :: [ ] { } {t:String} {t:Identifier} * * ; ' '' " ` `file` 'file' "file" 1 0 -1 '/etc/passwd'
    'a' x y a -- /* */ # requests streams connections events rejects connections_of system.one system.processes
    system.tables default.requests information_schema.tables numbers(3) view(SELECT values( null( generateRandom(
    merge( file( url( remote( executable( input( count( sum( min( uniq( sumIf( arrayMap( arrayFold( mapApply( file FILE
    `fi\x6ce`( hostName( hostname getServerSetting( dictGet( getSetting( tuple( toString( length( if( x-> file(x)
    currentUser() format( reverse( JSONExtractString( path carrier max_threads=1 readonly=0 format_schema='a'
    additional_table_filters={'requests':'file(1)'} TSV JSON Native
"""
WORDS = (*_WORDS.split(), "\n", "\t", "\u00a0")


def statement() -> Callable[[bytes], None]:
    """A statement over HTTP: refused with a Fault, or one in which the engine's analyzer, which is not the parser that
    the gate asks, finds no function that is refused, and which can be given another format."""
    import re
    import tempfile
    from pathlib import Path

    from quiclens_schema import store as stores
    from quiclens_schema.migrate import migrate
    from quiclens_store_server import pieces, reviewed
    from quiclens_store_server.engine import Engine
    from quiclens_store_server.judge import Judge
    from quiclens_web.front.faults import Fault

    folder = tempfile.mkdtemp(prefix="quiclens-statement-")
    with stores.open(f"chdb:{folder}") as store:
        migrate(store)
    engine = Engine(Path(folder))
    judge = Judge(engine)
    called = re.compile(r"^ *FUNCTION id: \d+, function_name: (\w+)", re.MULTILINE)
    read = re.compile(r"^ *TABLE_FUNCTION id: \d+, (?:alias: \w+, )?table_function_name: (\w+)", re.MULTILINE)

    def check(data: bytes) -> None:
        text = " ".join(WORDS[byte % len(WORDS)] for byte in data)
        with engine.handle() as handle:
            try:
                verdict = judge.verdict(handle, text, "TSV")
                if not verdict.is_select:
                    return
                judge.in_format(handle, verdict, pieces.ROWS)
                tree = handle.text(f"EXPLAIN QUERY TREE run_passes = 0 {verdict.normal}")
            except Fault:
                return
        combinators = judge.combinators
        assert all(reviewed.may_call(name, combinators) for name in called.findall(tree)), f"{text!r}: {tree}"
        views = ("connections_of",)
        assert all(name in views or reviewed.may_make_rows(name) for name in read.findall(tree)), f"{text!r}: {tree}"

    return check


SURFACES: dict[str, Callable[[], Callable[[bytes], None]]] = {
    "codecs": codecs,
    "form": form,
    "protocol": protocol,
    "where": where,
    "arrow_message": arrow_message,
    "statement": statement,
}


def _bodies() -> Iterator[bytes]:
    from quiclens_store_server import codecs as tried

    for number, name in enumerate(tried.ENCODINGS):
        for encoder in (tried.encoder(name), tried.framer(name)):
            yield bytes([number]) + encoder.add(b"a\tb\n" * 20) + encoder.end()


def _forms() -> Iterator[bytes]:
    part = b'--%s\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
    yield b"\x07" + part % (BOUNDARY, b"query", b"", b"SELECT 1") + b"--" + BOUNDARY + b"--\r\n"
    yield (
        b"\x02"
        + part % (BOUNDARY, b"t", b'; filename="x"\r\nContent-Type: text/plain', b"1")
        + b"--"
        + BOUNDARY
        + b"--"
    )


def _requests() -> Iterator[bytes]:
    yield b"query=SELECT+1&default_format=JSON&max_memory_usage=1e9&param_a=b\0gzip, zstd;q=0"
    yield b"compress=1&decompress=1&network_compression_method=ZSTD&query_id=a&wait_end_of_query=1\0"
    yield b"max_execution_time=-1&client_protocol_version=54460&readonly=2&enable_http_compression=0\0lz4"


def _messages() -> Iterator[bytes]:
    import pyarrow as pa
    from quiclens_ingest.message import columns

    for number, table in enumerate(TABLES):
        schema = pa.schema(list(columns(table).values()))
        batch = pa.RecordBatch.from_pylist([{field.name: _any(field.type) for field in schema}], schema=schema)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as writer:
            writer.write_batch(batch)
        yield bytes([number]) + sink.getvalue().to_pybytes()


def _any(kind: Any) -> Any:
    """A value of an Arrow type."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _any(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        return []
    if pa.types.is_string(kind):
        return "a"
    if pa.types.is_binary(kind):
        return b"a"
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return NOW
    return False if pa.types.is_boolean(kind) else 1


def _statements() -> Iterator[bytes]:
    for text in (
        "SELECT count( ) FROM requests WHERE carrier = 'a' ORDER BY 1 LIMIT 1",
        "WITH x AS ( SELECT 1 AS a ) SELECT a FROM x UNION ALL SELECT 1",
        "SELECT arrayMap( x-> file(x) , [ 'a' ] )",
        "SELECT 1 FROM file( 'a' )",
        "SELECT * FROM numbers(3) SETTINGS max_threads=1 FORMAT JSON",
    ):
        yield bytes(WORDS.index(word) for word in text.split())


SEEDS: dict[str, Callable[[], Iterator[bytes]]] = {
    "bodies": _bodies,
    "forms": _forms,
    "requests": _requests,
    "messages": _messages,
    "statements": _statements,
}


def main(arguments: list[str]) -> None:
    """Hand one surface to atheris; it ends the process."""
    atheris: Any = importlib.import_module("atheris")
    name, *options = arguments
    with atheris.instrument_imports(include=[*_OURS, "starlette"]):
        check = SURFACES[name]()
    atheris.Setup([sys.argv[0], *options], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
