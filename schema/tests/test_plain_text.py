"""Hostile text is shown as what it is, and obeyed by nothing."""

import csv
import io
import json
import logging
import unicodedata
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from quiclens_schema import plain_text
from quiclens_schema.plain_text import (
    LogFormatter,
    all_printable,
    csv_cell,
    json_for_terminal,
    markdown_cell,
    printable,
)

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
_TURNING = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_MARKED = "|`*_[]()<>&!~#=+-@\\:/.0123456789\n\t h"


def obeyed(text: str, but: str = "") -> set[str]:
    """Characters that a terminal obeys."""
    return {each for each in text if unicodedata.category(each) in ("Cc", "Zl", "Zp") or each in _TURNING} - set(but)


def test_every_control_character_is_an_escape() -> None:
    every = "".join(map(chr, range(0x3000)))
    assert len(obeyed(every)) == 65 + 2 + 12
    assert obeyed(printable(every)) == set()
    assert printable("a\x1b[31m\x9b\u202e\r\n\tb\\é漢") == "a\\x1b[31m\\x9b\\u202e\\r\\n\\tb\\é漢"
    assert plain_text.printable_lines("a\r\nb\rc\n\x1b") == "a\r\nb\\rc\n\\x1b"


@given(_TEXTS)
def test_json_keeps_its_values(text: str) -> None:
    for ascii_only in (True, False):
        written = json_for_terminal(json.dumps({text: [text]}, ensure_ascii=ascii_only))
        assert obeyed(written) == set()
        assert json.loads(written) == {text: [text]}


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    more: object


def test_texts_are_made_printable_wherever_they_stand() -> None:
    bad, good = "a\x1bb", "a\\x1bb"
    row = Row(bad, {bad: [bad, (bad, 1, None, 2.5)], "inside": Row(bad, b"\x1b")})
    assert all_printable(row) == Row(good, {good: [good, (good, 1, None, 2.5)], "inside": Row(good, b"\x1b")})


@given(_TEXTS | st.text(_MARKED))
def test_no_csv_cell_is_a_formula(text: str) -> None:
    written = io.StringIO()
    csv.writer(written).writerow([csv_cell(text), "x"])
    assert obeyed(written.getvalue(), but="\r\n") == set()
    (row,) = csv.reader(io.StringIO(written.getvalue()))
    assert row[0][:1] not in set("=+-@\t\r") and row[0].removeprefix("'") == printable(text).removeprefix("'")


@pytest.mark.parametrize("start", "=+-@\t\r")
def test_a_cell_that_would_be_a_formula_begins_with_an_apostrophe(start: str) -> None:
    assert csv_cell(f"{start}1+1") == f"'{printable(start)}1+1"
    assert csv_cell(f"a{start}1") == printable(f"a{start}1")


@given(_TEXTS | st.text(_MARKED))
def test_a_markdown_cell_is_text_and_nothing_else(text: str) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(f"| a |\n| --- |\n| {markdown_cell(text)} |\n")
    inline = [token for token in tokens if token.type == "inline"]
    assert len(inline) == 2 and "table_open" in {token.type for token in tokens}
    inside = inline[1].children or []
    assert {each.type for each in inside} <= {"text", "text_special"}
    assert "".join(each.content for each in inside).strip() == printable(text).strip()


def test_text_in_markdown_names_nobody_and_is_no_link() -> None:
    said = plain_text.markdown_text("@ada: see https://x.example, WWW.x.example, 12:30, a.b/c")
    assert said == r"\@ada: see https\://x.example, WWW\.x.example, 12:30, a.b/c"
    inside = MarkdownIt("gfm-like", {"linkify": False}).parseInline(said)[0].children or []
    assert {each.type for each in inside} <= {"text", "text_special"}


def test_a_name_that_leads_nowhere_is_code_and_ends_it_nowhere() -> None:
    assert plain_text.markdown_link("a`b @ada", "") == "`ab @ada`"
    assert plain_text.markdown_link("a`b @ada", "https://x.example/1") == r"[a\`b \@ada](https://x.example/1)"


def test_a_record_of_the_log_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    formatter = LogFormatter("%(levelname)s %(message)s")
    try:
        raise ValueError("a\x1b[2Jb")
    except ValueError as error:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "%s failed", ("a\nERROR forged\x07",), None)
        record.exc_info = (type(error), error, error.__traceback__)
    lines = formatter.format(record).splitlines()
    assert lines[0] == "ERROR a\\nERROR forged\\x07 failed"
    assert lines[-1] == "ValueError: a\\x1b[2Jb" and obeyed("".join(lines)) == set()
