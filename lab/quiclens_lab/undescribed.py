"""What a served store answers beside the routes of its OpenAPI document, told as such documents: pages, signing in and
probes; the ClickHouse interface, whose path is that of a page; rows and operations. `schema-cases` asks by them.
"""

from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from quiclens_schema import catalogue
from quiclens_schema.served import OPERATION_PATH, ROWS_PATH, ROWS_TYPE, StoreOperation
from quiclens_store_server.erase import ErasureChoice
from quiclens_web.front.keep import Keep

Document = dict[str, Any]

_STRING = {"type": "string"}
_TIME = {"anyOf": [_STRING, {"type": "string", "format": "date-time"}]}
_PAGES: dict[str, tuple[str, ...]] = {
    "/": ("by",),
    "/requests": ("by",),
    "/compare": (),
    "/reports": ("name", "since", "until"),
    "/working": (),
    "/upload": (),
    "/find": ("id",),
    "/causes": (),
    "/causes.css": (),
    "/static/causes.js": (),
    "/static/{name}": (),
    "/vendor/{name}": (),
    "/api/docs": (),
    "/requests/{request_id}": (),
    "/connections/{connection_id}": ("vantage", "trace_id", "stream"),
    "/login": ("to",),
}
_PROBES = ("/ping", "/replicas_status", "/healthz", "/metrics")
# Statements of every kind that a client may try; what they may not do is a test of the API. Chance makes more.
_STATEMENTS = (
    "SELECT 1",
    "SELECT count() FROM requests",
    "SELECT * FROM events LIMIT 5 FORMAT JSONEachRow",
    "SELECT * FROM system.tables",
    "SELECT * FROM url('http://127.0.0.1/', 'LineAsString')",
    "SELECT * FROM numbers(10) WHERE number > {n:UInt64}",
    "SELECT throwIf(1)",
    "SELECT getSetting('max_threads') SETTINGS max_threads = 9",
    "SELECT sleep(3)",
    "INSERT INTO requests VALUES (1)",
    "INSERT INTO FUNCTION file('x') SELECT 1",
    "ALTER TABLE requests DELETE WHERE 1",
    "DROP TABLE requests",
    "SYSTEM SHUTDOWN",
    "KILL QUERY WHERE 1",
    "CREATE TABLE t (x UInt8) ENGINE = Memory",
    "BACKUP TABLE requests TO File('x')",
    "SHOW TABLES",
    "DESCRIBE TABLE streams",
    "EXISTS TABLE streams",
    "EXPLAIN SELECT 1",
    "USE system",
    "SET max_threads = 1",
    "",
)
# The file's path is put in; it is `param_path` too.
_OF_A_FILE = (
    "SELECT * FROM file('{file}', 'LineAsString')",
    "SELECT * FROM file('{file}', 'RawBLOB', 'x String') FORMAT JSON",
    "SELECT * FROM file({{path:String}}, 'LineAsString')",
    "SELECT * FROM fileCluster('default', '{file}', 'LineAsString')",
    "SELECT * FROM executable('cat {file}', 'LineAsString', 'x String')",
    "SELECT * FROM sqlite('{file}', 't')",
    "SELECT * FROM merge('default', '{file}')",
    "SELECT * FROM url('file://{file}', 'LineAsString')",
    "SELECT file('{file}')",
    "SELECT `fi\\x6ce`('{file}')",
    "SELECT arrayMap(file, ['{file}'])",
    "SELECT * APPLY(file) FROM (SELECT '{file}' AS a)",
    "SELECT b FROM values('a UInt8, b String ALIAS file(\\'{file}\\')', (1))",
    "SELECT 1 SETTINGS additional_result_filter = 'length(file(\\'{file}\\')) > 0'",
    "SELECT * FROM `{file}`",
    'SELECT * FROM "{file}"',
    "SELECT * FROM '{file}'",
    "SELECT * FROM default.`{file}`",
    "SELECT * FROM {{path:Identifier}}",
    "SELECT 'x' IN `{file}`",
    "SELECT * FROM view(SELECT * FROM `{file}`)",
    "EXPLAIN SELECT * FROM `{file}`",
    "DESCRIBE `{file}`",
    "EXISTS TABLE `{file}`",
    "SHOW CREATE TABLE `{file}`",
    "SELECT 1 INTO OUTFILE '{file}.out'",
    "SELECT 1 INTO OUTFILE '{file}' APPEND",
    "SELECT 1 INTO OUTFILE '{file}' TRUNCATE FORMAT TSV",
    "INSERT INTO FUNCTION file('{file}', 'LineAsString', 'x String') SELECT 'x'",
    "INSERT INTO `{file}` VALUES ('x')",
    "INSERT INTO requests (request_id) FROM INFILE '{file}' FORMAT LineAsString",
    "CREATE TABLE t (x String) ENGINE = File(LineAsString, '{file}')",
    "CREATE TABLE t AS `{file}`",
    "CREATE VIEW t AS SELECT * FROM file('{file}', 'LineAsString')",
    "BACKUP TABLE requests TO File('{file}.backup')",
    "RESTORE TABLE requests FROM File('{file}')",
)
_SETTINGS = (
    "database",
    "default_format",
    "max_threads",
    "readonly",
    "query_id",
    "wait_end_of_query",
    "param_n",
    "param_path",
    "role",
)


def documents(outside: Path) -> dict[str, Document]:
    """OpenAPI documents by what they tell. Any answer is as described: what one must not be, the asker says.

    `outside` is a file that nobody may reach: statements name it, and every text may be its path."""
    texts = _Texts(outside)
    return {"pages": _pages(texts), "interface": _interface(texts), "store": _store(texts)}


def statements_of_a_file(outside: Path) -> list[str]:
    """Statements that read, write or make a file."""
    return [each.format(file=outside) for each in _OF_A_FILE]


class _Texts:
    """Schemas of texts by chance, among which are paths of a file outside of the store."""

    def __init__(self, outside: Path) -> None:
        paths = [str(outside), f"file://{outside}", f"../{outside.name}", f"../../..{outside}"]
        statements = [*_STATEMENTS, *statements_of_a_file(outside)]
        self.text: Document = {"anyOf": [_STRING, {"enum": paths}]}
        self.statement: Document = {"anyOf": [{"enum": statements}, _STRING]}

    def inputs(self, path: str, names: tuple[str, ...]) -> list[Document]:
        in_path = [part.strip("{}") for part in path.split("/") if part.startswith("{")]
        in_query = [_input(name, _TIME if name in ("since", "until") else self.text) for name in names]
        return [*(_input(name, self.text, "path") for name in in_path), *in_query]


def _pages(texts: _Texts) -> Document:
    accept = {"accept": ["text/html", "*/*", "application/json"]}
    paths: Document = {path: {"get": _operation(texts.inputs(path, names), accept)} for path, names in _PAGES.items()}
    paths |= {path: {"get": _operation([])} for path in _PROBES}
    token = {"application/x-www-form-urlencoded": _object({"token": texts.text}, "token")}
    paths["/login"]["post"] = _operation(texts.inputs("", ("to",)), body=token)
    paths["/logout"] = {"post": _operation([])}
    return _document(paths)


def _interface(texts: _Texts) -> Document:
    asked = [_input("query", texts.statement), *texts.inputs("", _SETTINGS)]
    return _document({"/": {"get": _operation(asked), "post": _operation(asked, body={"text/plain": texts.statement})}})


def _store(texts: _Texts) -> Document:
    tables = {"anyOf": [{"enum": sorted(catalogue.load().tables)}, texts.text]}
    rows = [_input("table", tables, "path"), _input("rows", {"anyOf": [{"type": "integer", "minimum": 0}, _STRING]})]
    stream = {ROWS_TYPE: {"type": "string", "format": "binary"}, "text/plain": _STRING}
    names = {"anyOf": [{"enum": [each.value for each in StoreOperation]}, texts.text]}
    arguments = {
        "anyOf": [
            {"type": "object", "additionalProperties": False},
            # A store that is erased or swept has no row left for the others to ask for.
            _fixed(TypeAdapter(ErasureChoice).json_schema(), is_trial=True),
            _fixed(TypeAdapter(Keep).json_schema(), events_days=0, summaries_days=0, disk_bytes=0),
        ]
    }
    return _document(
        {
            ROWS_PATH: {"post": _operation(rows, body=stream)},
            OPERATION_PATH: {"post": _operation([_input("name", names, "path")], body={"application/json": arguments})},
        }
    )


def _document(paths: Document) -> Document:
    return {"openapi": "3.1.0", "info": {"title": "beside the API", "version": "1"}, "paths": paths}


def _operation(
    inputs: list[Document], headers: dict[str, list[str]] | None = None, body: Document | None = None
) -> Document:
    told: Document = {
        "parameters": [*inputs, *(_input(name, {"enum": kinds}, "header") for name, kinds in (headers or {}).items())],
        "responses": {"default": {"description": "any"}},
    }
    if body is not None:
        content = {kind: {"schema": schema} for kind, schema in body.items()}
        told["requestBody"] = {"required": True, "content": content}
    return told


def _input(name: str, schema: Document, where: str = "query") -> Document:
    return {"name": name, "in": where, "required": where == "path", "schema": schema}


def _object(properties: Document, *required: str) -> Document:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _fixed(schema: Document, **values: Any) -> Document:
    """An object's schema in which these members have one value."""
    properties = schema["properties"] | {name: {"const": value} for name, value in values.items()}
    return schema | {"properties": properties, "required": sorted({*schema.get("required", ()), *values})}
