"""Which statements may run, decided from the engine's own syntax tree (`parseQueryToJSON`). Pure.

The engine's grants, its read-only connections and Landlock hold without this; what they do not hold is here: functions
that need no grant (`file`), tables of `system`, and settings. Everything is an allow-list: a kind of node that nobody
has read is refused.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from quiclens_store_server import reviewed
from quiclens_web.front.faults import Refused

Tree = Mapping[str, Any]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STATEMENTS = _names(
    """
    SelectWithUnionQuery SelectIntersectExceptQuery SelectQuery ExplainQuery ShowTablesQuery ShowColumnsQuery
    ShowIndexesQuery
    """
)
_NODES = _STATEMENTS | _names(
    """
    ArrayJoin Asterisk ColumnsApplyTransformer ColumnsExceptTransformer ColumnsListMatcher ColumnsRegexpMatcher
    ColumnsReplaceTransformer ColumnsReplaceTransformerReplacement ColumnsTransformerList ExpressionList Function
    Identifier InterpolateElement Literal OrderByElement QualifiedAsterisk QualifiedColumnsListMatcher
    QualifiedColumnsRegexpMatcher QueryParameter SampleRatio SetQuery Subquery TableExpression TableIdentifier TableJoin
    TablesInSelectQuery TablesInSelectQueryElement WindowDefinition WindowListElement WithElement
    """
)
_SYNTAX = frozenset({"lambda", "exists", "grouping"})  # what the tree has as functions and the engine's list has not
_EXPLAIN_OPTIONS = _names(
    """
    actions compact description distributed dump_ast dump_passes dump_tree graph header indexes json keep_logical_steps
    oneline optimize passes pretty projections run_passes run_query_tree_passes sorting
    """
)


@dataclass(slots=True)
class Named:
    """What a statement names that the request's own engine must be asked about, and the settings it sets."""

    table_functions: list[str] = field(default_factory=list)  # none of the engine's: perhaps views with parameters
    settings: dict[str, Tree] = field(default_factory=dict)  # by name: the literal's node
    filters: list[str] = field(default_factory=list)  # expressions in strings


def check(tree: Tree, combinators: tuple[str, ...]) -> Named:
    """What a reading statement names; Refused when it is another, or names what it may not."""
    if tree.get("type") not in _STATEMENTS:
        raise Refused(f"{tree.get('type')} is refused: SQL over HTTP is for reading")
    named = Named()
    for node in _nodes(tree):
        kind = node["type"]
        if kind not in _NODES:
            raise Refused(f"{kind} is refused over HTTP: nobody has read what it can do")
        _CHECKS.get(kind, _nothing)(node, named, combinators)
    return named


def check_expression(tree: Tree, combinators: tuple[str, ...]) -> None:
    """Refuse an expression that a filter may not have; `tree` is of a SELECT of it alone."""
    named = check(tree, combinators)
    if named.settings or named.table_functions or named.filters:
        raise Refused(f"Setting {reviewed.FILTERS} is refused over HTTP with such a filter")


def check_table(parts: list[str]) -> None:
    """Refuse a table of another database than the store's, or one of `system` that tells of other people."""
    database, table = parts if len(parts) == 2 else ("", parts[0] if len(parts) == 1 else "")
    if len(parts) > 2 or (database and database != "system" and database not in reviewed.DATABASES):
        raise Refused(f"Table {'.'.join(parts)!r} is refused over HTTP: it is none of the store's")
    if database == "system" and not reviewed.may_read_system(table):
        raise Refused(f"Table system.{table} is refused over HTTP")


def _nodes(tree: Any) -> Iterator[Tree]:
    """Every node of a tree, in no order; no recursion, for a statement may be nested deeply."""
    left = [tree]
    while left:
        found = left.pop()
        if isinstance(found, list):
            left += found
        elif isinstance(found, dict):
            kind = found.get("type")
            if kind is not None:
                yield found
            apart = _NOT_BELOW.get(str(kind), "")
            left += [value for name, value in found.items() if name != apart]
            if kind == "TableExpression" and "table_function" in found:
                left.append(found["table_function"].get("arguments"))


# What is no node below another: a literal's value, options of EXPLAIN, a table function, which is no ordinary one.
_NOT_BELOW = {
    "Literal": "value",
    "SetQuery": "changes",
    "ExplainQuery": "settings",
    "TableExpression": "table_function",
}


def _function(node: Tree, named: Named, combinators: tuple[str, ...]) -> None:
    name = str(node["name"])
    if name not in _SYNTAX and not reviewed.may_call(name, combinators):
        raise Refused(f"Function {name} is refused over HTTP: it is none that a reader needs")
    takes_lambdas = name.lower().startswith(("array", "map"))
    for argument in (node.get("arguments") or {}).get("children", []):
        if argument.get("type") != "Identifier":
            continue
        # Where a lambda is expected, a bare name is the function of that name: arrayMap(file, …).
        bare = str(argument.get("name", ""))
        if reviewed.names_refused_function(bare) and (takes_lambdas or not reviewed.is_column(bare)):
            raise Refused(f"Function {bare} is refused over HTTP: it is none that a reader needs")


def _apply(node: Tree, named: Named, combinators: tuple[str, ...]) -> None:
    if node.get("func_name") and not reviewed.may_call(str(node["func_name"]), combinators):
        raise Refused(f"Function {node['func_name']} is refused over HTTP: it is none that a reader needs")


def _table_expression(node: Tree, named: Named, combinators: tuple[str, ...]) -> None:
    function = node.get("table_function")
    if function is None:
        return
    name = str(function.get("name", ""))
    may = reviewed.may_make_rows(name)
    if may is False:
        raise Refused(f"Table function {name} is refused over HTTP: it reaches past the store")
    if may is None:
        named.table_functions.append(name)


def _explain(node: Tree, named: Named, combinators: tuple[str, ...]) -> None:
    options = {str(each["name"]) for each in (node.get("settings") or {}).get("changes", [])}
    if unknown := options - _EXPLAIN_OPTIONS:
        raise Refused(f"EXPLAIN {min(unknown)} is refused over HTTP")


def _parameter(node: Tree, named: Named, combinators: tuple[str, ...]) -> None:
    if str(node.get("param_type", "")).strip().lower() == "identifier":
        raise Refused("A parameter that is a name is refused over HTTP: what it names would not be known")


def _identifier(node: Tree, named: Named, combinators: tuple[str, ...]) -> None:
    parts = [str(part) for part in node.get("name_parts", [])]
    if len(parts) > 1 and parts[0] == "system":
        check_table(parts[:2])


def _table(node: Tree, named: Named, combinators: tuple[str, ...]) -> None:
    check_table([str(part) for part in node.get("name_parts", [node.get("name", "")])])


def _set(node: Tree, named: Named, combinators: tuple[str, ...]) -> None:
    if set(node) - {"type", "changes"}:
        raise Refused("Settings are refused over HTTP in this form")
    for change in node.get("changes", []):
        name = str(change["name"])
        reviewed.refuse_setting(name)
        if name == reviewed.FILTERS:
            named.filters += _strings(change["value"])
        named.settings[name] = change["value"]


def _strings(value: Tree) -> list[str]:
    """Every second string of a map of strings; Refused for anything else."""
    if value.get("field_type") != "Map":
        raise Refused(f"Setting {reviewed.FILTERS} is refused over HTTP unless it is a map of strings")
    found = []
    for pair in value["value"]:
        key, expression = pair["value"]
        if key["field_type"] != "String" or expression["field_type"] != "String":
            raise Refused(f"Setting {reviewed.FILTERS} is refused over HTTP unless it is a map of strings")
        found.append(str(expression["value"]))
    return found


def _nothing(node: Tree, named: Named, combinators: tuple[str, ...]) -> None:
    pass


_CHECKS: Mapping[str, Callable[[Tree, Named, tuple[str, ...]], None]] = {
    "ExplainQuery": _explain,
    "Function": _function,
    "ColumnsApplyTransformer": _apply,
    "QueryParameter": _parameter,
    "Identifier": _identifier,
    "TableIdentifier": _table,
    "TableExpression": _table_expression,
    "SetQuery": _set,
}
