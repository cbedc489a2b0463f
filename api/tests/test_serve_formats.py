"""Answers in every format: one document, the same as the engine writes in one go, and never larger than it may be."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chdb
import pytest
from serve_process import Served, start

from quiclens_store_server import pieces, reviewed

ALLOWED = sorted(name for name, may in reviewed.names("formats").items() if may)
COLUMNS = """
    number AS n, toString(cityHash64(number)) AS "a, ""b""
c", toLowCardinality(toString(modulo(number, 7))) AS low, number / 7 AS "d\\te",
    toDateTime64(number, 6, 'UTC') AS at, [number, 1] AS list, map('k', number) AS pairs, unhex('ff00') AS bytes,
    if(modulo(number, 3) = 0, NULL, number) AS maybe, toDate('2020-01-01') AS day, 'é' AS constant
"""
MANY = f"SELECT {COLUMNS} FROM numbers(50000) ORDER BY n"
FEW = f"SELECT {COLUMNS} FROM numbers(3) ORDER BY n"
NONE = f"SELECT {COLUMNS} FROM numbers(3) WHERE number > 5"
OF_ONE_COLUMN = {"RawBLOB", "LineAsString"}
# Each of its own block: where the engine cuts is not where we do, or a document says how long it took.
NOT_COMPARED = {"Null", "Native", "Arrow", "ArrowStream", "Parquet", "JSON", "JSONCompact", "JSONStrings"}
NOT_COMPARED |= {"JSONCompactStrings", "XML"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    running = start(tmp_path_factory.mktemp("formats") / "store")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    made = chdb.connect(str(tmp_path_factory.mktemp("whole") / "store"))
    yield made
    made.close()


def one_column(sql: str) -> str:
    return sql.replace(COLUMNS, "toString(number) AS n")


@pytest.mark.parametrize("format", [name for name in ALLOWED if name not in NOT_COMPARED])
@pytest.mark.parametrize("sql", [MANY, FEW, NONE], ids=["many", "few", "none"])
def test_an_answer_is_the_engine_s_own(served: Served, engine: Any, format: str, sql: str) -> None:
    sql = one_column(sql) if format in OF_ONE_COLUMN else sql
    got = served.ask(f"{sql} FORMAT {format}")
    assert got.status == 200, got.text
    assert got.body == bytes(engine.query(sql, format).bytes() or b"")


@pytest.mark.parametrize("format", sorted(NOT_COMPARED - {"Null"}))
@pytest.mark.parametrize("sql", [MANY, FEW, NONE], ids=["many", "few", "none"])
def test_what_is_read_from_an_answer_is_what_was_asked_for(
    served: Served, engine: Any, format: str, sql: str, tmp_path: Path
) -> None:
    if format == "XML":
        pytest.skip("the engine does not read it")
    got = served.ask(f"{sql} FORMAT {format}")
    assert got.status == 200, got.text
    file = tmp_path / "answer"
    file.write_bytes(got.body)
    if format.startswith("JSON"):
        rows = got.text.count('"2020-01-01"')
        assert rows == {MANY: 50000, FEW: 3, NONE: 0}[sql]
        assert f'"rows": {rows}' in got.text
        return
    if format == "Native" and sql == NONE:
        assert got.body == b""
        return
    counted = f"SELECT count(), sum(cityHash64(n, low, at, list, maybe)) FROM file('{file}', {format})"
    wanted = f"SELECT count(), sum(cityHash64(n, low, at, list, maybe)) FROM ({sql})"
    if format in ("Arrow", "ArrowStream", "Parquet"):  # which know neither our time zones nor low cardinality
        counted, wanted = (each.replace("low, at,", "toString(low), toUnixTimestamp64Micro(at),")
                           for each in (counted, wanted))  # fmt: skip
    assert str(engine.query(counted, "TSV")) == str(engine.query(wanted, "TSV"))


@pytest.mark.parametrize("format", [name for name in ALLOWED if not pieces.is_streamed(name, {})])
def test_a_whole_document_has_an_end_to_its_rows(served: Served, format: str) -> None:
    """The engine bounds neither the text nor constants."""
    for sql in (
        "SELECT number, repeat('x', 1000) AS constant FROM numbers(40000)",
        "SELECT repeat('\\0', 1000) AS nothing FROM numbers(60000)",
    ):
        got = served.ask(f"{sql} FORMAT {format}")
        assert got.code == 396, (sql[:40], got.text[:200])
        assert f"in the format {format} has at most 32,000,000 bytes of rows" in got.text


@pytest.mark.parametrize("format", ["JSON", "JSONStrings", "XML", "Vertical", "PrettyJSONEachRow"])
def test_names_count_where_a_format_repeats_them(served: Served, format: str) -> None:
    assert served.ask(f"SELECT 1 AS {'long' * 2000} FROM numbers(10000) FORMAT {format}").code == 396
    assert served.ask(f"SELECT 1 AS {'long' * 2000} FROM numbers(10000) FORMAT JSONCompact").status == 200


@pytest.mark.parametrize("format", sorted(set(reviewed.names("formats")) - set(ALLOWED)))
def test_a_format_that_nobody_needs_is_refused(served: Served, format: str) -> None:
    assert served.ask(f"SELECT 1 FORMAT {format}").code in (497, 62)
    assert served.ask("SELECT 1", default_format=format).code == 497


def test_settings_about_writing_hold_in_every_way(served: Served) -> None:
    sql = "SELECT toUInt64(7) AS a, toDateTime('2026-01-01 00:00:00', 'UTC') AS b FORMAT"
    for format in ("JSON", "JSONEachRow", "JSONCompactEachRowWithNames"):
        plain = served.ask(f"{sql} {format}").text.replace(" ", "")
        assert '"7"' in served.ask(f"{sql} {format}", output_format_json_quote_64bit_integers="1").text, format
        assert '"7"' not in plain, format
        own = served.ask(f"{sql} {format} SETTINGS date_time_output_format = 'iso'").text
        assert "2026-01-01T00:00:00Z" in own, format


def test_the_name_of_a_format_in_a_text_is_no_format(served: Served) -> None:
    sql = "SELECT ' FORMAT JSONCompact' AS a, getSetting('format_csv_null_representation') AS b"
    own = f"{sql} FORMAT JSONCompact SETTINGS format_csv_null_representation = ' FORMAT JSONCompact'"
    got = served.ask(own)
    assert '[" FORMAT JSONCompact", " FORMAT JSONCompact"]' in got.text or got.code == 497, got.text
    assert '[" FORMAT JSONCompact", ' in served.ask(f"{sql} FORMAT JSONCompact").text


WHOLE = ["JSON", "JSONCompact", "Pretty", "Values", "XML", "Vertical", "Markdown", "TSVRawWithNames", "JSONColumns"]


@pytest.mark.parametrize("format", WHOLE)
def test_two_columns_of_one_name_and_names_that_are_no_text(served: Served, engine: Any, format: str) -> None:
    for sql in ("SELECT number, number, 1, 1 FROM numbers(3)", "SELECT 1 AS `a``b\\\\`, `a``b\\\\`"):
        got = served.ask(f"{sql} FORMAT {format}")
        wanted = bytes(engine.query(sql, format).bytes())
        assert (got.status, without_times(got.body)) == (200, without_times(wanted)), sql
    assert served.request(b"SELECT 7 AS `\xff` FORMAT JSON", "POST", "/", {}).status in (200, 400)


def without_times(document: bytes) -> bytes:
    return re.sub(
        rb'"elapsed": [0-9.e-]+|<elapsed>[^<]*|"(rows|bytes)_read": \d+|<(rows|bytes)_read>[^<]*', b"", document
    )


def test_rows_that_are_written_as_nothing_do_not_end_an_answer(served: Served) -> None:
    assert served.ask("SELECT if(number < 20000, '', 'x') FROM numbers(40000) FORMAT RawBLOB").text == "x" * 20_000
    assert served.ask("SELECT tuple() FROM numbers(3) FORMAT TSV").text == "()\n" * 3


@pytest.mark.parametrize("column", ["tuple()", "tuple(tuple(), 1)", "arrayMap(x -> tuple(), [1, 2])", "[]"])
def test_what_has_no_bytes_is_not_lost_without_a_word(served: Served, column: str) -> None:
    got = served.ask(f"SELECT {column} AS a FROM numbers(3) FORMAT JSON")
    assert (got.code, "cannot be given in the format JSON; cast it" in got.text) == (48, True)


def test_nulls_of_no_type_are_given(served: Served) -> None:
    assert '"a": null' in served.ask("SELECT NULL AS a FORMAT JSON").text


def test_a_text_that_is_much_larger_than_its_rows_is_bounded_in_time_and_memory(served: Served) -> None:
    """Names of an Enum or of a Tuple's elements are written with each row, which has a byte for them, or none."""
    enum = "CAST(1, concat('Enum8(\\'', repeat('a', 200000), '\\'=1)'))"
    named = "CAST(tuple(number % 2), concat('Tuple(', repeat('n', 100000), ' UInt8)'))"
    for sql in (
        f"SELECT {enum} AS e FROM numbers(100000)",
        f"SELECT {named} AS a FROM numbers(100000)",
        f"SELECT arrayMap(x -> {enum}, range(1000000)) AS e",
    ):
        got = served.ask(f"{sql} FORMAT JSONCompact")
        assert got.code in (241, 396) and len(got.body) < 1000, got.text[:300]
    got = served.ask("SELECT repeat('\\0', 1000) AS a FROM numbers(31000) FORMAT JSON")
    assert "bytes of rows as JSON takes more memory than a statement has" in got.text
    assert len(served.ask(f"SELECT throwIf(1, '{'x' * 100000}')").body) < 12_000


def test_where_the_end_of_a_header_of_csv_cannot_be_told_the_engine_writes_all_of_it(
    served: Served, engine: Any
) -> None:
    sql = "SELECT number AS a, number AS b FROM numbers(40000)"
    for delimiter in ("\n", '"', "|"):
        got = served.ask(f"{sql} FORMAT CSVWithNames", format_csv_delimiter=delimiter)
        engine.query(f"SET format_csv_delimiter = '{delimiter}'")
        assert got.body == bytes(engine.query(sql, "CSVWithNames").bytes()), delimiter
    engine.query("SET format_csv_delimiter = ','")


def test_a_setting_that_makes_one_document_of_rows_is_refused(served: Served) -> None:
    assert served.ask("SELECT 1 FORMAT JSONEachRow", output_format_json_array_of_rows="1").code == 497


def test_one_statement_has_a_quarter_of_the_memory(served: Served) -> None:
    sql = "SELECT length(groupArray(number)) FROM numbers(50000000)"
    got = served.ask(sql)
    assert got.code == 241, got.text
    assert served.ask(f"{sql} SETTINGS max_memory_usage = 300000000").code == 452
    assert served.ask("SELECT length(groupArray(number)) FROM numbers(1000000)").text == "1000000\n"


def test_a_statement_without_rows_that_bounds_them_itself_is_told_so(served: Served) -> None:
    got = served.ask("SELECT 1 AS a WHERE 0 FORMAT JSON SETTINGS max_result_rows = 10")
    assert (got.code, "without rows" in got.text) == (497, True)
    assert served.ask("SELECT 1 AS a WHERE 0 FORMAT TSV SETTINGS max_result_rows = 10").status == 200


@pytest.mark.parametrize("format", ["JSONCompact", "CSVWithNames"])
def test_rows_that_come_while_a_statement_without_rows_is_asked_for_its_names_are_given(
    served: Served, format: str
) -> None:
    """Of ten runs of this statement about one finds no row: of one that runs twice the second finds some."""
    sql = f"SELECT number AS n FROM numbers(17) WHERE cityHash64(now64(9)) % 10 > 0 FORMAT {format}"
    for _ in range(60):
        got = served.ask(sql)
        assert got.status == 200 and got.text.count("\n16") + got.text.count('["16"]') < 2, got.text
        has_last, has_one_before = (f'["{n}"]' in got.text or f"\n{n}\n" in got.text for n in (16, 15))
        assert has_last == has_one_before, got.text
