"""What the plugin makes of a query: its browser half fills in choices, its server half the window.

By grafana/clickhouse-datasource 4.20: src/data/CHDatasource.ts (applyConditionalAll, format), pkg/macros/macros.go, and
Grafana's formats of variables. Only what our queries use is known; anything else stays and fails in the store.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

Value = str | Sequence[str]
ALL = ["$__all"]

_AS_THEY_ARE = "-_.~"  # encodeURIComponentStrict of @grafana/data encodes !'()* too
_CONDITIONAL = "$__conditionalAll("
_VARIABLE = re.compile(r"\$\{(\w+)(?::(\w+))?\}|\$(\w+)")
_COMMENT = re.compile(r"('(?:[^'\\]|\\.)*')|--[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Window:
    """The dashboard's time range, and the step that Grafana chose for it."""

    since: datetime
    until: datetime
    step_s: int = 60


def expand(sql: str, variables: Mapping[str, Value], window: Window) -> str:
    """The statement that reaches the store."""
    return _macros(_without_comments(_filled(_conditional_all(sql, variables), variables)), window)


def _conditional_all(sql: str, variables: Mapping[str, Value]) -> str:
    """The last one first; 1=1 where the variable of the second argument is empty or `All`."""
    while (start := sql.rfind(_CONDITIONAL)) >= 0:
        arguments, end = _arguments(sql, start + len(_CONDITIONAL) - 1)
        if len(arguments) != 2:
            return sql
        name = re.search(r"(?<=\$\{)\w+(?=\})|(?<=\$)\w+", arguments[1].strip())
        value = variables.get(name[0]) if name else None
        text = value if value is None or isinstance(value, str) else ",".join(value)
        sql = sql[:start] + ("1=1" if text in ("", "$__all") else arguments[0]) + sql[end:]
    return sql


def _filled(sql: str, variables: Mapping[str, Value]) -> str:
    def fill(found: re.Match[str]) -> str:
        name, form = found[1] or found[3], found[2]
        return _formatted(name, variables[name], form) if name in variables else found[0]

    return _VARIABLE.sub(fill, sql)


def _formatted(name: str, value: Value, form: str | None) -> str:
    values = [value] if isinstance(value, str) else value
    if form == "queryparam":
        return "&".join(f"var-{name}={quote(each, safe=_AS_THEY_ARE)}" for each in values)
    if form in (None, "raw"):
        if isinstance(value, str):
            return value
        return ",".join(value) if form else "'" + "','".join(value) + "'"
    raise ValueError(f"format {form} is not known here")


def _without_comments(sql: str) -> str:
    return _COMMENT.sub(lambda found: found[1] or "", sql)


def _macros(sql: str, window: Window) -> str:
    """The last macro first, so that one inside another's argument is filled in before it."""
    since, until = (f"toDateTime({int(each.timestamp())})" for each in (window.since, window.until))
    step = max(window.step_s, 1)
    made: dict[str, Callable[..., str]] = {
        "fromTime": lambda: since,
        "toTime": lambda: until,
        "interval_s": lambda: str(step),
        "timeFilter": lambda column: f"{column} >= {since} AND {column} <= {until}",
        "timeInterval": lambda column: f"toStartOfInterval(toDateTime({column}), INTERVAL {step} second)",
    }
    for found in reversed(list(re.finditer(r"\$__(\w+)", sql))):
        if found[1] not in made:
            continue
        takes = found[1].startswith("time")
        arguments, end = _arguments(sql, found.end()) if takes else ([], found.end())
        sql = sql[: found.start()] + made[found[1]](*(each.strip() for each in arguments)) + sql[end:]
    return sql


def _arguments(sql: str, opening: int) -> tuple[list[str], int]:
    """What stands between a bracket and the one that closes it, cut at its own commas; and where that ends."""
    if sql[opening : opening + 1] != "(":
        raise ValueError(f"no argument at {sql[opening : opening + 20]!r}")
    depth, began, arguments = 0, opening + 1, []
    for place in range(opening, len(sql)):
        depth += {"(": 1, ")": -1}.get(sql[place], 0)
        if depth == 0 or (depth == 1 and sql[place] == ","):
            arguments.append(sql[began:place])
            began = place + 1
        if depth == 0:
            return arguments, place + 1
    raise ValueError("a bracket is not closed")
