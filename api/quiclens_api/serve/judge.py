"""Asks the engine how it reads a statement, and `gate` whether that may run. Nothing of the statement runs here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from quiclens_api.serve import gate
from quiclens_api.serve.allowed import FILTERS
from quiclens_api.serve.engine import Engine, Handle
from quiclens_api.serve.faults import Fault, Refused
from quiclens_api.serve.statements import output_format, settings_set, words

_KILL = re.compile(r"KILL QUERY WHERE query_id = '((?:[^'\\]|\\.)*)'(?: (SYNC|ASYNC|TEST))?(?: FORMAT \w+)?")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A statement that may run: its text as the engine renders it, and what that says."""

    normal: str
    format: str = ""  # asked for by the statement itself
    kills: str = ""  # the query_id of a KILL QUERY
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def is_select(self) -> bool:
        """Whether the engine can give the answer in pieces; it cannot for DESCRIBE, SHOW and the like."""
        return self.normal.startswith(("SELECT", "WITH", "("))


class Judge:
    """Verdicts. Every request's statement is judged with its own parameters, since a parameter may name a table."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def verdict(self, sql: str, parameters: Mapping[str, str], database: str) -> Verdict:
        """The statement's verdict; Fault when it does not parse, is more than one, or may not run."""
        with self._engine.handle() as handle:
            return self._judge(handle, sql, parameters, database)

    def _judge(self, handle: Handle, sql: str, parameters: Mapping[str, str], database: str) -> Verdict:
        if not sql.strip().strip(";").strip():
            raise Fault(62, "SYNTAX_ERROR", "Empty query")
        count = handle.classify(sql)
        if count > 1:
            raise Fault(62, "SYNTAX_ERROR", "Syntax error: multi-statements are not allowed")
        normal = _rendered(handle, sql)
        if count != 1:
            raise Refused("The statement cannot be judged")
        if match := _KILL.fullmatch(normal):
            return Verdict(normal, kills=re.sub(r"\\(.)", r"\1", match[1]))
        found = list(words(normal))
        wanted = tuple(settings_set(found))
        for name, value in wanted:
            if name == FILTERS:
                self._judge_filters(handle, value, database)
        gate.check_words(found)
        root = gate.tree(handle.text(f"EXPLAIN AST {sql}", parameters))
        gate.check_tree(root, database, lambda name: _is_view(handle, name), output_format(found))
        return Verdict(normal, output_format(found), "", wanted)

    def _judge_filters(self, handle: Handle, value: str, database: str) -> None:
        """Grafana's ad-hoc filters: expressions in strings, each judged as that of a SELECT would be."""
        parts = list(words(value))
        if any(part.kind != "string" and part.text not in "{}:," for part in parts):
            raise Refused(f"Setting {FILTERS} is refused over HTTP unless it is a map of strings")
        for part in parts:
            if part.kind == "string":
                expression = handle.text(f"SELECT {part.text}").rstrip("\n")
                if FILTERS in expression:
                    raise Refused(f"Setting {FILTERS} is refused over HTTP with such a filter")
                self._judge(handle, f"SELECT {expression}", {}, database)


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


def _escaped(text: str) -> str:
    """A parameter's value as the engine reads it: tab-separated's escapes."""
    for plain, escape in (("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r"), ("\0", "\\0"), ("\b", "\\b")):
        text = text.replace(plain, escape)
    return text.replace("\f", "\\f")
