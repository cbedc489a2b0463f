"""`--where column(=|!=|>=|<=)value` and `--by column`: names from the catalogue, values as bound parameters.

Nothing that a user typed becomes SQL: a column is looked up in the catalogue and the catalogue's own name is written,
a value travels as a parameter of the column's type.
"""

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from quiclens_schema import catalogue
from quiclens_schema.catalogue import Column

from quiclens_questions.failure import UsageMistake, usage
from quiclens_questions.moment import bound, moment

_FORM = re.compile(r"\s*([^\s=!<>]+)\s*(!=|>=|<=|=)(.*)", re.DOTALL)
_WRAPPED = re.compile(r"(LowCardinality|Nullable)\((.*)\)")
_UNSIGNED = re.compile(r"UInt(8|16|32|64)")


@dataclass(frozen=True)
class Condition:
    """One comparison; `value` is None where it asks whether the column has a value at all."""

    column: Column
    operator: str
    value: Any

    def sql(self, parameter: str) -> str:
        name, kind, nullable = f"`{self.column.name}`", plain_type(self.column), is_nullable(self.column)
        if self.value is None:
            return f"{name} IS NULL" if self.operator == "=" else f"{name} IS NOT NULL"
        comparison = f"{name} {self.operator} {{{parameter}:{kind}}}"
        # A request whose carrier nobody knows is not of carrier x.
        return f"({comparison} OR {name} IS NULL)" if nullable and self.operator == "!=" else comparison


@dataclass(frozen=True)
class Where:
    """All conditions of a command, joined by AND."""

    conditions: tuple[Condition, ...] = ()

    def sql(self) -> str:
        return "\n".join(f"    AND {condition.sql(f'where_{i}')}" for i, condition in enumerate(self.conditions))

    def parameters(self) -> dict[str, Any]:
        return {f"where_{i}": c.value for i, c in enumerate(self.conditions) if c.value is not None}


EVERYTHING = Where()


def read(texts: Sequence[str], now: datetime, columns: Mapping[str, Column] | None = None) -> Where:
    """Read every `--where`; a usage mistake when a column is unknown or a value is not of its type."""
    known = request_columns() if columns is None else columns
    return Where(tuple(_condition(text, now, known) for text in texts))


def by_column(name: str, columns: Mapping[str, Column] | None = None) -> str:
    """The column of `--by`, checked against the catalogue."""
    known = request_columns() if columns is None else columns
    return _column(name.strip(), known, "--by").name


def request_columns() -> dict[str, Column]:
    """The columns of `requests` that hold one value each: what --where and --by may name."""
    columns = catalogue.load().table("requests").columns
    return {column.name: column for column in columns if not column.type.startswith(("Map(", "Array("))}


def plain_type(column: Column) -> str:
    """The type inside LowCardinality and Nullable."""
    kind = column.type
    while match := _WRAPPED.fullmatch(kind):
        kind = match[2]
    return kind


def is_nullable(column: Column) -> bool:
    return "Nullable(" in column.type


def _condition(text: str, now: datetime, known: Mapping[str, Column]) -> Condition:
    match = _FORM.fullmatch(text)
    if match is None:
        forms = "write column=value, column!=value, column>=value or column<=value"
        raise usage(f"--where {text!r} is no comparison", forms)
    column, operator, value = _column(match[1], known, "--where"), match[2], match[3]
    if value == "" and is_nullable(column) and operator in ("=", "!="):
        return Condition(column, operator, None)
    return Condition(column, operator, _value(column, value, now))


def _column(name: str, known: Mapping[str, Column], option: str) -> Column:
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else f"columns are {', '.join(sorted(known))}"
    raise usage(f"{option}: no column {name!r}", hint)


def _value(column: Column, text: str, now: datetime) -> Any:
    kind = plain_type(column)
    if kind == "String":
        return text
    if match := _UNSIGNED.fullmatch(kind):
        return _unsigned(column, text, int(match[1]))
    if kind == "Float64":
        return _number(column, text)
    if kind == "Bool":
        if text.lower() in ("true", "1", "false", "0"):
            return text.lower() in ("true", "1")
        raise _bad(column, text, "true or false")
    if kind.startswith("DateTime"):
        instant = bound(moment(text, now))
        return instant if kind.startswith("DateTime64") else instant.partition(".")[0]
    raise _bad(column, text, "a plain value; this column cannot be filtered")


def _unsigned(column: Column, text: str, bits: int) -> int:
    digits = text.strip(" ")
    if not re.fullmatch(r"[0-9]{1,20}", digits) or int(digits) >= 1 << bits:
        raise _bad(column, text, f"a whole number below 2^{bits}")
    return int(digits)


def _number(column: Column, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _bad(column, text, "a number")
    return value


def _bad(column: Column, text: str, wanted: str) -> UsageMistake:
    unit = f" ({column.unit})" if column.unit else ""
    return usage(f"--where: {text!r} does not fit column {column.name}{unit}", f"write {wanted}")
