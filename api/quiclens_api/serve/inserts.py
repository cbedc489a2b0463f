"""Inserts of data, checked as `store.insert_arrow` does: the engine is silent about what it leaves out."""

import re

from quiclens_schema import catalogue
from quiclens_schema.arrow_schema import field_names, row_count

from quiclens_api.serve.engine import Handle
from quiclens_api.serve.faults import Fault
from quiclens_api.serve.judge import Judge
from quiclens_api.serve.protocol import Asked
from quiclens_api.serve.statements import Insert, words

_EVERY_INSERT = {
    "async_insert": "0",  # on by default since 26.x; an insert is done when it is answered
    "input_format_skip_unknown_fields": "0",
    "input_format_allow_errors_num": "0",
    "input_format_allow_errors_ratio": "0",
}
_OF_THE_CATALOGUE = {
    "max_partitions_per_insert_block": "0",  # one batch may hold traces of many days
    "optimize_on_insert": "0",  # rows written must be countable: replaced when read and merged, not here
}
_EXPRESSIONS_BYTES = 65_536  # longer VALUES may have literals only
_CALL = re.compile(rb"[A-Za-z0-9_`\")]\s*[(+*/-]")


def insert_settings(table: str, is_plain: bool) -> dict[str, str]:
    """Settings that every insert has, whatever it asks for."""
    settings = dict(_EVERY_INSERT)
    if table in catalogue.load().tables:
        settings |= _OF_THE_CATALOGUE
    return settings | {"input_format_values_interpret_expressions": "1" if is_plain else "0"}


def values_are_plain(judge: Judge, insert: Insert, asked: Asked) -> bool:
    """Whether expressions among VALUES may be evaluated: they are judged as those of a SELECT would be."""
    if insert.format != "Values" or len(insert.data) > _EXPRESSIONS_BYTES or not _CALL.search(insert.data):
        return False
    values = insert.data.decode("utf-8", "replace").strip().rstrip(";")
    try:
        verdict = judge.verdict(f"SELECT {values}", asked.parameters, asked.database)
    except Fault as fault:
        if fault.code == 62:  # no list of expressions: the engine will say what it makes of them
            return False
        raise
    return not verdict.writes


def refuse_more_statements(insert: Insert) -> None:
    """The engine reads VALUES up to a semicolon and forgets the rest, whatever it is."""
    if insert.format != "Values" or b";" not in insert.data:
        return
    found = words(insert.data.decode("latin-1"))
    if any(word.text == ";" for word in found if word.kind == "symbol") and any(word.text != ";" for word in found):
        raise Fault(62, "SYNTAX_ERROR", "Syntax error: multi-statements are not allowed")


def checked_insert(handle: Handle, table: str, insert: Insert) -> dict[str, int]:
    """Insert the data; Fault when the stream is not of this table, is cut, or not all of it was written."""
    rows = None
    if insert.format == "ArrowStream" and insert.data:
        rows = _arrow_rows(table, insert.data)
    counts = dict(handle.insert(insert.head, insert.format, insert.data))
    if rows is not None and counts["written_rows"] != rows:
        message = f"Table {table}: {rows} rows sent, {counts['written_rows']} written"
        raise Fault(33, "CANNOT_READ_ALL_DATA", message, 500)
    return counts


def _arrow_rows(name: str, stream: bytes) -> int:
    try:
        rows = row_count(stream)
        names = field_names(stream)
    except ValueError as error:
        raise Fault(33, "CANNOT_READ_ALL_DATA", f"Table {name}: {error}") from error
    table = catalogue.load().tables.get(name)
    if table is not None:
        missing = [column for column in table.key_columns if column not in names]
        unknown = [column for column in names if column not in table.sent_columns]
        if missing or unknown:
            said = (f", lacks {', '.join(missing)}" if missing else "") + (
                f", has unknown {', '.join(unknown)}" if unknown else ""
            )
            raise Fault(16, "NO_SUCH_COLUMN_IN_TABLE", f"Table {name}: the batch is of another catalogue{said}", 400)
    return rows
