"""`--where` and `--by column`: names from the catalogue, values as bound parameters.

    carrier=Halden Mobile    carrier!=    duration_us>=1.5s    response_bytes<1MB    path~/api/*    path!~.jpg
    top_cause=congestion window    carrier=Halden Mobile OR carrier=Vale DSL

Nothing that a user typed becomes SQL: a column is looked up in the catalogue and the catalogue's own name is written,
a value travels as a parameter of the column's type.
"""

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from quiclens_schema import catalogue
from quiclens_schema.catalogue import Column

from quiclens_questions.causes import LOOKS
from quiclens_questions.failure import UsageMistake, usage
from quiclens_questions.moment import bound, moment

_NAME, _OPERATOR = r"[^\s=!<>~]+", r"!=|!~|>=|<=|=|~|>|<"
_FORM = re.compile(rf"\s*({_NAME})\s*({_OPERATOR})(.*)", re.DOTALL)
_OR = re.compile(rf"\s+OR\s+(?=[A-Za-z_][A-Za-z0-9_]*\s*(?:{_OPERATOR}))")
_WRAPPED = re.compile(r"(LowCardinality|Nullable)\((.*)\)")
_UNSIGNED = re.compile(r"UInt(8|16|32|64)")
_WITH_UNIT = re.compile(r" *([0-9]{1,20}(?:\.[0-9]{1,9})?) *([A-Za-zµ]{1,3}) *")
_UNITS = {
    "us": {"us": 1, "µs": 1, "ms": 1_000, "s": 10**6, "min": 60 * 10**6, "h": 3_600 * 10**6},
    "B": {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
}
"""Units that a number may be written with, by the column's own."""
_CAUSES = {look.name: cause for cause, look in LOOKS.items()} | {cause: cause for cause in LOOKS}


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
        operator = {"~": "ILIKE", "!~": "NOT ILIKE"}.get(self.operator, self.operator)
        comparison = f"{name} {operator} {{{parameter}:{kind}}}"
        # A request whose carrier nobody knows is not of carrier x.
        return f"({comparison} OR {name} IS NULL)" if nullable and self.operator in ("!=", "!~") else comparison

    def parameters(self, parameter: str) -> dict[str, Any]:
        return {} if self.value is None else {parameter: self.value}

    @property
    def columns(self) -> frozenset[str]:
        """Names of what it asks about."""
        return frozenset({self.column.name})


@dataclass(frozen=True)
class AnyOf:
    """Comparisons of which one at least holds."""

    conditions: tuple[Condition, ...]

    def sql(self, parameter: str) -> str:
        return f"({' OR '.join(each.sql(f'{parameter}_{i}') for i, each in enumerate(self.conditions))})"

    def parameters(self, parameter: str) -> dict[str, Any]:
        return _parameters(self.conditions, parameter)

    @property
    def columns(self) -> frozenset[str]:
        """Names of what they ask about."""
        return _columns(self.conditions)


@dataclass(frozen=True)
class Where:
    """All conditions of a command, joined by AND."""

    conditions: tuple[Condition | AnyOf, ...] = ()

    @property
    def columns(self) -> frozenset[str]:
        """Names of what they ask about."""
        return _columns(self.conditions)

    def sql(self) -> str:
        return "\n".join(f"    AND {condition.sql(f'where_{i}')}" for i, condition in enumerate(self.conditions))

    def parameters(self) -> dict[str, Any]:
        return _parameters(self.conditions, "where")


def _parameters(conditions: Sequence[Condition | AnyOf], name: str) -> dict[str, Any]:
    own = (each.parameters(f"{name}_{i}") for i, each in enumerate(conditions))
    return {parameter: value for each in own for parameter, value in each.items()}


def _columns(conditions: Sequence[Condition | AnyOf]) -> frozenset[str]:
    return frozenset().union(*(each.columns for each in conditions))


EVERYTHING = Where()


def read(texts: Sequence[str], now: datetime, columns: Mapping[str, Column] | None = None) -> Where:
    """Read every `--where`; a usage mistake when a column is unknown or a value is not of its type."""
    known = request_columns() if columns is None else columns
    return Where(tuple(_any_of(text, now, known) for text in texts))


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


def _any_of(text: str, now: datetime, known: Mapping[str, Column]) -> Condition | AnyOf:
    """One comparison, or several with OR between them: where a column's name and a sign follow it, as no value has."""
    parts, begins = [], 0
    for found in _OR.finditer(text):
        parts.append(text[begins : found.start()])
        begins = found.end()
    last = _condition(text[begins:], now, known)
    return AnyOf((*(_condition(part, now, known) for part in parts), last)) if parts else last


def _condition(text: str, now: datetime, known: Mapping[str, Column]) -> Condition:
    match = _FORM.fullmatch(text)
    if match is None:
        forms = "write a column, one of = != >= <= > < ~ !~, and a value, as in duration_us>=1s or path~/api/*"
        raise usage(f"--where {text!r} is no comparison", forms)
    column, operator, value = _column(match[1], known, "--where"), match[2], match[3].strip(" ")
    if value == "" and is_nullable(column) and operator in ("=", "!="):
        return Condition(column, operator, None)
    if operator in ("~", "!~"):
        return Condition(column, operator, _pattern(column, value))
    return Condition(column, operator, _value(column, value, now))


def _pattern(column: Column, text: str) -> str:
    """For ILIKE: `*` is any text; without one, it is what the value has somewhere."""
    if plain_type(column) != "String" or not text:
        raise _bad(column, text, "a part of a text, with * for any; numbers and times have = != >= <= > <")
    escaped = re.sub(r"[\\%_]", r"\\\g<0>", text)
    return escaped.replace("*", "%") if "*" in text else f"%{escaped}%"


def _column(name: str, known: Mapping[str, Column], option: str) -> Column:
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f"did you mean {', '.join(near)}?" if near else f"columns are {', '.join(sorted(known))}"
    raise usage(f"{option}: no column {name!r}", hint)


def _value(column: Column, text: str, now: datetime) -> Any:
    kind = plain_type(column)
    if column.name == "top_cause":
        return _cause(column, text)
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
    digits = _in_own_unit(column, text) or text.strip(" ")
    if not re.fullmatch(r"[0-9]{1,20}", digits) or int(digits) >= 1 << bits:
        units = _UNITS.get(column.unit or "", {})
        with_unit = f", or a number with {', '.join(units)}" if units else ""
        raise _bad(column, text, f"a whole number below 2^{bits}{with_unit}")
    return int(digits)


def _in_own_unit(column: Column, text: str) -> str:
    """`1.5s` of a column in us as `1500000`; empty where it has no such unit, or is no whole number of the column's."""
    match = _WITH_UNIT.fullmatch(text)
    factor = _UNITS.get(column.unit or "", {}).get(match[2]) if match else None
    if match is None or factor is None:
        return ""
    value = Decimal(match[1]) * factor
    return f"{value:.0f}" if value == value.to_integral_value() else ""


def _cause(column: Column, text: str) -> str:
    """A cause by its name in the store, or by that which every screen shows."""
    found = _CAUSES.get(text.strip().lower())
    if found is None:
        raise _bad(column, text, f"one of {', '.join(look.name for look in LOOKS.values())}")
    return found


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
