"""Which statements may run, decided from the engine's own syntax tree and its own rendering of the statement.

`readonly` does not keep a statement from files and hosts: table functions read and write them, and in this engine
even a quoted table name that looks like a path is a file. So a statement runs only when everything it names is known.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from quiclens_schema import catalogue

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
_KEPT_FROM_DDL = "belongs to the catalogue: over HTTP it is filled and migrated, never emptied or replaced"
_ALTERS = frozenset(
    {"ADD_COLUMN", "MODIFY_COLUMN", "COMMENT_COLUMN", "ADD_INDEX", "MATERIALIZE_INDEX", "MATERIALIZE_COLUMN"}
)
_SWAPS = frozenset({"REPLACE_PARTITION", "DROP_PARTITION"})  # how `link` rewrites hours of `requests`


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


def check_words(normal: Sequence[Word]) -> bool:
    """Refuse by words: what a statement may begin with, files, settings, and functions however they are called.

    Returns whether the statement writes.
    """
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
    return _writes([word.text for word in normal[:6]])


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
        if node.kind == "Storage":
            engine = next((each.name for each in node.below if each.kind == "Function"), "")
            if engine not in allowed.ENGINES:
                raise Refused(f"Engine {engine} is refused over HTTP")
        if node.kind in ("Dictionary", "FunctionWithKeyValueArguments"):
            raise Refused("Dictionaries are refused over HTTP")


def check_write(root: Node, normal: Sequence[Word], database: str) -> str:
    """Refuse writes that do more than fill, migrate and link; returns the table written to."""
    first = [word.text for word in normal[:6]]
    statement = root.below[0]
    names = [each.name for each in statement.below if each.kind == "Identifier"]
    where, table = (names[0], names[1]) if len(names) > 1 else (database, "".join(names))
    if any(each.kind == "Function" for each in statement.below) and statement.kind in ("InsertQuery", "CreateQuery"):
        raise Refused("Writing to or like a table function is refused over HTTP")
    if not table:
        raise Refused("A statement that names no table, or several, is refused over HTTP")
    check_table(f"{where}.{table}", database)
    if where != "default":
        raise Refused(f"Only tables of the database default may be written to, not {where}.{table}")
    for before, word in pairwise(normal):
        if first[0] == "CREATE" and before.text == "AS" and word.is_name and word.text not in ("SELECT", "WITH"):
            _check_copied(normal[normal.index(word) :], database)
    tables = catalogue.load().tables
    is_kept = table in tables or table in ("schema_migrations", "dropped_days")
    if is_kept and (first[0] in ("DROP", "TRUNCATE", "DELETE") or first[:3] == ["CREATE", "OR", "REPLACE"]):
        raise Refused(f"Table {table} {_KEPT_FROM_DDL}")
    if first[0] == "CREATE" and any((a.text, b.text) == (":", "Identifier") for a, b in pairwise(normal)):
        raise Refused("A view whose tables are parameters is refused over HTTP: what it reads cannot be known")
    for command in (each.name for each in root.all() if each.kind == "AlterCommand"):
        is_swapped = not is_kept or (table in tables and tables[table].is_linked)
        if command not in _ALTERS and not (command in _SWAPS and is_swapped):
            raise Refused(f"ALTER TABLE {table} {command.replace('_', ' ')} is refused over HTTP")
    return table


def _check_copied(rest: Sequence[Word], database: str) -> None:
    """The table after CREATE TABLE … AS, which the tree leaves out."""
    is_qualified = len(rest) > 2 and rest[1].text == "."
    check_table(f"{rest[0].text}.{rest[2].text}" if is_qualified else rest[0].text, database)


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


def _writes(first: Sequence[str]) -> bool:
    """Whether a statement that begins so writes; Refused when it may not run at all."""
    start = " ".join(first)
    if first and (first[0] in _READS or (first[0] == "SHOW" and first[1] in _SHOWS)):
        return False
    if first[:1] == ["INSERT"] or first[:2] in (["DELETE", "FROM"], ["ALTER", "TABLE"], ["OPTIMIZE", "TABLE"]):
        return True
    if re.match(r"CREATE (OR REPLACE )?(TABLE|VIEW) |(DROP|TRUNCATE) (TABLE|VIEW) ", f"{start} "):
        return True
    if first[:1] in (["SET"], ["USE"]) or "TEMPORARY" in first:
        hint = "give settings and the database with each request, or SETTINGS in the statement"
        raise Fault(48, "NOT_IMPLEMENTED", f"{first[0]} would last for this request alone: {hint}")
    raise Refused(f"{' '.join(first[:2])} is refused over HTTP")
