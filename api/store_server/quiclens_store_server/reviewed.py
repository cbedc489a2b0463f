"""What of the pinned engine a statement over HTTP may use: lists that somebody has read, name by name.

Each file of `reviewed_lists/` has every name that the engine knows, `+` before those that may be used. A test compares
them with the engine's own lists, so that an upgrade which brings a new name fails until somebody has read it.
`table_engines.txt` is for that test alone: no statement over HTTP makes a table.
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources

from quiclens_schema import catalogue

from quiclens_web.front.faults import Fault, Refused

KINDS = ("functions", "table_functions", "system_tables", "table_engines", "settings", "formats")

DATABASES = frozenset({"default", "INFORMATION_SCHEMA", "information_schema"})
# Most to allow: name of the setting, and of the limit in `Limits`.
CAPPED = {
    "max_execution_time": "seconds",
    "max_memory_usage": "statement_bytes",
    "max_block_size": "block_rows",
    "max_result_rows": "result_rows",
    "max_result_bytes": "result_bytes",
    "max_temporary_data_on_disk_size_for_query": "spill_bytes",
}
FILTERS = "additional_table_filters"
"""A setting whose values are expressions: they are judged as those of a statement are."""


@cache
def names(kind: str) -> Mapping[str, bool]:
    """Every name of a kind, and whether it may be used."""
    text = (resources.files("quiclens_store_server") / "reviewed_lists" / f"{kind}.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {line[2:]: line[0] == "+" for line in lines}


def refuse_setting(setting: str) -> None:
    """Fault for a setting that a request may not set, or that the engine does not know."""
    known = names("settings")
    if setting not in known:
        raise Fault(115, "UNKNOWN_SETTING", f"Unknown setting {setting!r}")
    if not known[setting]:
        raise Refused(f"Setting {setting} is refused over HTTP")


def may_read_system(table: str) -> bool:
    return names("system_tables").get(table, False)


def may_call(function: str, combinators: tuple[str, ...]) -> bool:
    """Whether a function may be called; of an aggregate function with combinators (`sumIf`), the function itself."""
    allowed, refused = _by_lower_case("functions")
    name = function.lower()
    while name not in allowed and name not in refused:
        suffix = next((each for each in combinators if name.endswith(each) and len(name) > len(each)), "")
        if not suffix:
            return False
        name = name.removesuffix(suffix)
    return name in allowed and name not in refused


def names_refused_function(name: str) -> bool:
    """Whether a bare name is that of a function that may not be called: where a lambda is expected, the engine takes a
    name for the function."""
    return name.lower() in _by_lower_case("functions")[1]


def may_answer_in(format: str) -> bool | None:
    """Whether answers may have a format; None where the engine has none of this name."""
    return _may_use("formats", format)


@cache
def _columns() -> frozenset[str]:
    return frozenset(column.name for table in catalogue.load().tables.values() for column in table.columns)


def is_column(name: str) -> bool:
    """Whether a table of the store has a column of this name."""
    return name in _columns()


def may_make_rows(table_function: str) -> bool | None:
    """Whether a table function may be used; None where the engine has none of this name."""
    return _may_use("table_functions", table_function)


def _may_use(kind: str, name: str) -> bool | None:
    """Whether a name may be used in any case of letters; None where the engine has none of this name."""
    allowed, refused = _by_lower_case(kind)
    lower = name.lower()
    return lower in allowed and lower not in refused if lower in allowed | refused else None


@cache
def _by_lower_case(kind: str) -> tuple[frozenset[str], frozenset[str]]:
    found = names(kind)
    return (
        frozenset(name.lower() for name, is_allowed in found.items() if is_allowed),
        frozenset(name.lower() for name, is_allowed in found.items() if not is_allowed),
    )
