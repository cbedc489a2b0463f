"""Which statements may run, decided from the engine's own syntax tree and its own rendering of the statement.

`readonly` does not keep a statement from files and hosts: table functions read and write them, and in this engine
even a quoted table name that looks like a path is a file. So a statement runs only when everything it names is known.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from quiclens_api.serve import allowed
from quiclens_api.serve.faults import Fault, Refused
from quiclens_api.serve.statements import Word, settings_set

_LINE = re.compile(r"( *)(\S[^\n]*)")
_IN = frozenset(
    f"{scope}{nulls}{after}"
    for scope in ("", "global")
    for nulls in ("in", "notin", "nullin", "notnullin")
    for after in ("", "ignoreset")
)
_TABLE = re.compile(r"(?:(?P<database>[A-Za-z_]+)\.)?(?P<table>[A-Za-z0-9_$ -]+)")
_READS = ("SELECT", "WITH", "(", "EXPLAIN", "DESCRIBE", "EXISTS")
_SHOWS = ("TABLES", "DATABASES", "CREATE", "COLUMNS", "FULL", "INDEXES", "ENGINES", "FUNCTIONS", "SETTINGS", "CHANGED")


@dataclass(frozen=True, slots=True)
class Node:
    """One line of EXPLAIN AST with what stands below it."""

    kind: str
    name: str
    below: "list[Node]" = field(default_factory=list)

    def all(self) -> "Iterator[Node]":
        yield self
        for node in self.below:
            yield from node.all()


def tree(text: str) -> Node:
    """EXPLAIN AST's text as nodes."""
    root = Node("", "")
    path: list[Node] = [root]
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        kind, _, rest = match[2].partition(" ")
        node = Node(kind, re.sub(r"( \(alias .*\))?( \(children \d+\))?$", "", rest).strip())
        depth = min(len(match[1]) + 1, len(path))
        del path[depth:]
        path[-1].below.append(node)
        path.append(node)
    return root


def check_words(normal: Sequence[Word]) -> None:
    """Refuse by words: what a statement may begin with, files, settings, and functions however they are called."""
    _check_reads([word.text for word in normal[:6]])
    for before, word in pairwise(normal):
        if (before.text, word.text) in (("INTO", "OUTFILE"), ("FROM", "INFILE")):
            raise Refused(f"{before.text} {word.text} is refused: it would use files of the server")
        called = word.text == "(" or before.text == "APPLY"
        name = word if before.text == "APPLY" else before
        if called and name.is_name and allowed.is_refused_function(name.text):
            raise Refused(f"Function {name.text} is refused over HTTP: it reaches past the store")
    for index, word in enumerate(normal[:-2]):
        if (
            word.text == "APPLY"
            and normal[index + 1].text == "("
            and allowed.is_refused_function(normal[index + 2].text)
        ):
            raise Refused(f"Function {normal[index + 2].text} is refused over HTTP: it reaches past the store")
    for setting, _ in settings_set(normal):
        if setting != allowed.FILTERS and allowed.is_refused_setting(setting):
            raise Refused(f"Setting {setting} is refused over HTTP")


def check_tree(root: Node, database: str, is_view: Callable[[str], bool], format: str = "") -> None:
    """Refuse by structure: table functions, engines, and tables that are files, other people's, or unknown.

    `format` is what the statement asks for: the tree has it beside the names of a table.
    """
    for node in root.all():
        if node.kind == "Function" and allowed.is_refused_function(node.name):
            raise Refused(f"Function {node.name} is refused over HTTP: it reaches past the store")
        if node.kind == "Function" and node.name.lower() in _IN:
            for argument in (each for list_ in node.below for each in list_.below):
                _check_in(argument, database, is_view)
        if node.kind in ("TableExpression", "DescribeQuery"):
            for source in node.below:
                _check_source(source, database, is_view)
        if node.kind == "TableIdentifier":
            check_table(node.name, database)
        if node.kind in ("ExistsTableQuery", "ShowCreateTableQuery"):
            names = [each.name for each in node.below]
            if format and len(names) > 1 and names[-1] == format:
                names.pop()
            check_table(".".join(names), database)
        if node.kind == "Identifier" and node.name.startswith("system."):
            _check_system(node.name.split(".")[1])


def check_table(name: str, database: str) -> None:
    """Refuse a table that is a file, of an unknown database, or one that tells of other people."""
    match = _TABLE.fullmatch(name)
    where = (match["database"] or database) if match else ""
    if match is None or where not in allowed.DATABASES:
        raise Refused(f"Table {name!r} is refused over HTTP: it is none of the store's")
    if where == "system":
        _check_system(match["table"])


def _check_system(table: str) -> None:
    if table not in allowed.SYSTEM_TABLES:
        raise Refused(f"Table system.{table} is refused over HTTP")


def _check_source(node: Node, database: str, is_view: Callable[[str], bool]) -> None:
    if node.kind == "Function" and node.name.lower() not in allowed.TABLE_FUNCTIONS and not is_view(node.name):
        raise Refused(f"Table function {node.name} is refused over HTTP: it reaches past the store")
    if node.kind in ("TableIdentifier", "Identifier"):
        check_table(node.name, database)


def _check_in(node: Node, database: str, is_view: Callable[[str], bool]) -> None:
    """The right side of IN may be a table; the left side looks alike and may have any name but a path's."""
    if node.kind in ("TableIdentifier", "Identifier") and ("/" in node.name or "\\" in node.name):
        raise Refused(f"Table {node.name!r} is refused over HTTP: it is none of the store's")
    if node.kind == "Function" and node.name.lower() in ("merge", "loop", "format"):
        _check_source(node, database, is_view)


def _check_reads(first: Sequence[str]) -> None:
    """Refuse a statement that does not begin as one that reads does."""
    if first and (first[0] in _READS or (first[0] == "SHOW" and first[1] in _SHOWS)):
        return
    if first[:1] in (["SET"], ["USE"]):
        hint = "give settings and the database with each request, or SETTINGS in the statement"
        raise Fault(48, "NOT_IMPLEMENTED", f"{first[0]} would last for this request alone: {hint}")
    hint = "rows are sent as Arrow to /store/tables/TABLE/rows, the rest is quiclens migrate, link, retention"
    raise Fault(164, "READONLY", f"{' '.join(first[:2])} is refused: SQL over HTTP is for reading; {hint}")
