"""Asks the engine how it reads a statement, and `gate` whether that may run. Nothing of the statement runs here."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quiclens_store_server import gate, reviewed
from quiclens_store_server.engine import Engine, Handle, quoted
from quiclens_store_server.protocol import GREETING
from quiclens_web.front.faults import Fault, Refused

_KILL = re.compile(r"KILL QUERY WHERE query_id = '((?:[^'\\]|\\.)*)'(?: (SYNC|ASYNC|TEST))?(?: FORMAT \w+)?")
_NAME = r"([A-Za-z_][A-Za-z0-9_]*|`[^`\\]+`)"
# What the engine gives no tree of; of the rest of these, the engine's own rendering has one form.
_ABOUT_TABLE = re.compile(rf"(?:DESCRIBE|EXISTS|SHOW CREATE) TABLE (?:{_NAME}\.)?{_NAME}(?: FORMAT (\w+))?")
_NO_TREE = "does not support JSON serialization"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A statement that may run, and what it says."""

    normal: str  # its text as the engine renders it
    format: str = ""  # asked for by the statement itself
    kills: str = ""  # the query_id of a KILL QUERY
    is_select: bool = False  # the engine can give the answer in pieces
    settings: Mapping[str, str] = field(default_factory=dict)  # those of the statement, values as literals


class Judge:
    """Verdicts. Every request's statement is judged anew, on the handle on which it will run. `combinators` are the
    engine's suffixes of aggregate functions, the longest first."""

    def __init__(self, engine: Engine) -> None:
        with engine.handle() as handle:
            found = handle.text("SELECT name FROM system.aggregate_function_combinators ORDER BY length(name) DESC")
        self.combinators = tuple(name.lower() for name in found.split())

    def verdict(self, handle: Handle, sql: str, default_format: str) -> Verdict:
        """The statement's verdict; Fault when it does not parse, is more than one, may not run, or wants an answer in a
        format that ClickHouse has not."""
        found = self._verdict(handle, sql)
        may = reviewed.may_answer_in(format := found.format or default_format)
        if may is None:
            raise Fault(73, "UNKNOWN_FORMAT", f"Unknown format {format}")
        if not may:
            raise Refused(f"Format {format} is refused over HTTP: it is none that clients of a store need")
        return found

    def in_format(self, handle: Handle, verdict: Verdict, format: str) -> str:
        """A SELECT that was judged, with another FORMAT in the place of its own. Fault where the engine does not read
        it as it read the first, but for that name."""
        if not verdict.format:
            return verdict.normal
        for named in (f" FORMAT {verdict.format}", f" FORMAT `{verdict.format}`"):
            before, found, after = verdict.normal.rpartition(named)
            changed = f"{before} FORMAT {format}{after}"
            if found and self._tree(handle, changed) == _named(self._tree(handle, verdict.normal), format):
                return changed
        raise Refused("The statement names a format in a way that is not understood; name it with the request")

    def _verdict(self, handle: Handle, sql: str) -> Verdict:
        if not sql.strip().strip(";").strip():
            raise Fault(62, "SYNTAX_ERROR", "Empty query")
        kind, count = handle.classify(sql)
        if count > 1:
            raise Fault(62, "SYNTAX_ERROR", "Syntax error: multi-statements are not allowed")
        normal = _rendered(handle, sql)
        if normal == GREETING:
            return Verdict(normal)
        if match := _KILL.fullmatch(normal):
            return Verdict(normal, kills=re.sub(r"\\(.)", r"\1", match[1]))
        if count != 1 or kind != "READ_ONLY":
            raise _no_reading(normal)
        if match := _ABOUT_TABLE.fullmatch(normal):
            gate.check_table([part.strip("`") for part in match.groups()[:2] if part])
            return Verdict(normal, match[3] or "")
        tree = self._tree(handle, sql)
        named = gate.check(tree, self.combinators)
        for name in named.table_functions:
            if not _is_view(handle, name):
                raise Refused(f"Table function {name} is refused over HTTP: it is no view of the store")
        for expression in named.filters:
            gate.check_expression(self._tree(handle, f"SELECT ({expression})"), self.combinators)
        format = str((tree.get("format_ast") or {}).get("name", ""))
        settings = {name: _literal(value) for name, value in named.settings.items()}
        return Verdict(normal, format, "", tree["type"] == "SelectWithUnionQuery", settings)

    def _tree(self, handle: Handle, sql: str) -> dict[str, Any]:
        try:
            text = handle.text("SELECT parseQueryToJSON({sql:String})", {"sql": _escaped(sql)})
        except Fault as fault:
            if _NO_TREE in str(fault):
                raise _no_reading(_rendered(handle, sql)) from fault
            raise
        try:
            found: dict[str, Any] = json.loads(text)
        except RecursionError as error:
            raise Refused("The statement is nested too deeply") from error
        return found


def _named(tree: dict[str, Any], format: str) -> dict[str, Any]:
    return {**tree, "format_ast": {**tree["format_ast"], "name": format}}


def _no_reading(normal: str) -> Fault:
    """Why a statement that is none of the known reading ones does not run."""
    first = normal.split(" ", 2)
    if first[0] in ("SET", "USE"):
        hint = "give settings and the database with each request, or SETTINGS in the statement"
        return Fault(48, "NOT_IMPLEMENTED", f"{first[0]} would last for this request alone: {hint}")
    hint = "rows are sent as Arrow to /store/tables/TABLE/rows, the rest is quiclens migrate, link, retention"
    return Fault(164, "READONLY", f"{' '.join(first[:2])} is refused: SQL over HTTP is for reading; {hint}")


def _rendered(handle: Handle, sql: str) -> str:
    """The statement on one line, as the engine writes it; what it does not understand is told without our question."""
    asked = "SELECT formatQuerySingleLine({sql:String})"
    try:
        return handle.text(asked, {"sql": _escaped(sql)}).rstrip("\n")
    except Fault as fault:
        raise Fault(
            fault.code, fault.name, str(fault).partition(": In scope SELECT formatQuerySingleLine")[0]
        ) from fault


def _is_view(handle: Handle, name: str) -> bool:
    """Whether a name with arguments is one of the store's own views with parameters."""
    asked = "SELECT count() FROM system.tables WHERE database = 'default' AND engine = 'View' AND name = {name:String}"
    return handle.text(asked, {"name": _escaped(name)}).strip() == "1"


def _literal(value: Mapping[str, Any]) -> str:
    """A setting's value as the engine reads it after SET."""
    kind, inside = value["field_type"], value["value"]
    if kind == "String":
        return quoted(str(inside))
    if kind == "Map":
        pairs = (pair["value"] for pair in inside)
        return "{" + ", ".join(f"{_literal(key)}: {_literal(each)}" for key, each in pairs) + "}"
    if kind in ("UInt64", "Int64", "Float64", "Bool") and re.fullmatch(r"[A-Za-z0-9_.+-]+", str(inside)):
        return str(inside).lower() if kind == "Bool" else str(inside)
    raise Refused(f"A setting's value is refused over HTTP as a {kind}")


def _escaped(text: str) -> str:
    """A parameter's value as the engine reads it: tab-separated's escapes."""
    for plain, escape in (("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r"), ("\0", "\\0"), ("\b", "\\b")):
        text = text.replace(plain, escape)
    return text.replace("\f", "\\f")
