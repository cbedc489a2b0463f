"""What a served store answers beside the routes of its OpenAPI document, told as such documents: pages, signing in and
probes; the ClickHouse interface, whose path is that of a page; rows and operations. `schema-cases` asks by them.
"""

from typing import Any

from pydantic import TypeAdapter
from quiclens_schema import catalogue
from quiclens_schema.served import OPERATION_PATH, ROWS_PATH, ROWS_TYPE, StoreOperation
from quiclens_store_server.erase import ErasureChoice
from quiclens_web.front.keep import Keep

Document = dict[str, Any]

_TEXT = {"type": "string"}
_TIME = {"anyOf": [_TEXT, {"type": "string", "format": "date-time"}]}
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
    "SELECT * FROM file('/etc/passwd', 'LineAsString')",
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
_STATEMENT = {"anyOf": [{"enum": list(_STATEMENTS)}, _TEXT]}
_SETTINGS = (
    "database",
    "default_format",
    "max_threads",
    "readonly",
    "query_id",
    "wait_end_of_query",
    "param_n",
    "role",
)


def documents() -> dict[str, Document]:
    """OpenAPI documents by what they tell. Any answer is as described: what one must not be, the asker says."""
    return {"pages": _pages(), "interface": _interface(), "store": _store()}


def _pages() -> Document:
    accept = {"accept": ["text/html", "*/*", "application/json"]}
    paths: Document = {path: {"get": _operation(_inputs(path, names), accept)} for path, names in _PAGES.items()}
    paths |= {path: {"get": _operation([])} for path in _PROBES}
    token = {"application/x-www-form-urlencoded": _object({"token": _TEXT}, "token")}
    paths["/login"]["post"] = _operation(_inputs("", ("to",)), body=token)
    paths["/logout"] = {"post": _operation([])}
    return _document(paths)


def _interface() -> Document:
    asked = [_input("query", _STATEMENT), *_inputs("", _SETTINGS)]
    return _document({"/": {"get": _operation(asked), "post": _operation(asked, body={"text/plain": _STATEMENT})}})


def _store() -> Document:
    tables = {"anyOf": [{"enum": sorted(catalogue.load().tables)}, _TEXT]}
    rows = [_input("table", tables, "path"), _input("rows", {"anyOf": [{"type": "integer", "minimum": 0}, _TEXT]})]
    stream = {ROWS_TYPE: {"type": "string", "format": "binary"}, "text/plain": _TEXT}
    names = {"anyOf": [{"enum": [each.value for each in StoreOperation]}, _TEXT]}
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


def _inputs(path: str, names: tuple[str, ...]) -> list[Document]:
    in_path = [part.strip("{}") for part in path.split("/") if part.startswith("{")]
    in_query = [_input(name, _TIME if name in ("since", "until") else _TEXT) for name in names]
    return [*(_input(name, _TEXT, "path") for name in in_path), *in_query]


def _input(name: str, schema: Document, where: str = "query") -> Document:
    return {"name": name, "in": where, "required": where == "path", "schema": schema}


def _object(properties: Document, *required: str) -> Document:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _fixed(schema: Document, **values: Any) -> Document:
    """An object's schema in which these members have one value."""
    properties = schema["properties"] | {name: {"const": value} for name, value in values.items()}
    return schema | {"properties": properties, "required": sorted({*schema.get("required", ()), *values})}
