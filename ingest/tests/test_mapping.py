"""Mapping files: what they say, what they may not say, and that the collector reads the format as it was meant."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quiclens_ingest.from_table import slices
from quiclens_ingest.lines import one_line
from quiclens_ingest.mapping import MappingError, of, read, toml

COLUMNS = {"time": {"from": "ts"}, "path": {"from": "http.url"}}
TABLE: dict[str, Any] = {"table": "web.log", "time": "ts", "format": {"columns": COLUMNS}}
TOPIC: dict[str, Any] = {"topic": "edge.access", "format": {"columns": COLUMNS}}


def test_a_mapping_names_its_source_and_what_is_read_of_it() -> None:
    table = of({**TABLE, "key": ["id"], "keep": ["host", "ts"], "time_unit": "ms"})
    assert (table.table, table.topic, table.name, table.place) == (("web", "log"), "", "web.log", "table web.log")
    assert table.columns == ("id", "ts", "http", "host")
    topic = of({**TOPIC, "name": "edge"})
    assert (topic.table, topic.topic, topic.name, topic.place) == ((), "edge.access", "edge", "topic edge.access")


def test_others_addresses_are_not_kept_unless_somebody_says_so() -> None:
    assert tomllib.loads(of(TABLE).format) == {"syntax": "json", "redact": True, "columns": COLUMNS}
    kept = of({**TABLE, "format": {"redact": False, "columns": COLUMNS}})
    assert tomllib.loads(kept.format)["redact"] is False


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({}, "one of table and topic"),
        ({**TABLE, "topic": "x"}, "one of table and topic"),
        ({**TABLE, "tabel": "x"}, "unknown: tabel; there are table, topic"),
        ({**TABLE, "time": ""}, "a table needs time"),
        ({**TABLE, "time_unit": "h"}, "time_unit is one of s, ms"),
        ({**TABLE, "table": "a.b.c"}, "DATABASE.TABLE"),
        ({**TABLE, "table": ".b"}, "DATABASE.TABLE"),
        ({**TABLE, "table": 5}, "table is a text"),
        ({**TABLE, "name": "a/b"}, "no slash"),
        ({**TABLE, "name": "a\n"}, "printable"),
        ({**TABLE, "key": "id"}, "key is a list"),
        ({**TABLE, "keep": [""]}, "keep is a list"),
        ({**TOPIC, "key": ["id"]}, "of tables alone"),
        ({**TABLE, "format": {}}, "[format.columns]"),
        ({**TABLE, "format": {"columns": {"path": {"from": "p"}}}}, "time is one of them"),
        ({**TABLE, "format": {"columns": {"time": "ts"}}}, "NAME = { from"),
        ({**TABLE, "format": {"preset": "caddy", "columns": COLUMNS}}, "lines are JSON"),
        ({**TABLE, "format": {"x": 1.5, "columns": COLUMNS}}, "x cannot be 1.5"),
    ],
)
def test_what_cannot_be_is_told(document: dict[str, Any], says: str) -> None:
    with pytest.raises(MappingError) as told:
        of(document)
    assert says in str(told.value)


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    for text in ("table = ", "table = 'a'\n"):
        path.write_text(text)
        with pytest.raises(MappingError, match=r"m\.toml"):
            read(path)
    with pytest.raises(MappingError, match="cannot read"):
        read(tmp_path / "none.toml")


TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
VALUES = st.recursive(
    TEXTS | st.booleans() | st.integers(-(2**63), 2**63 - 1),
    lambda inner: st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


NAMES = st.sampled_from(["table", "topic", "name", "time", "time_unit", "key", "keep", "format", "columns", "from"])
ANY = st.recursive(
    TEXTS | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, ANY, max_size=6), st.booleans())
def test_whatever_a_file_says_it_is_a_mapping_or_is_told_why_not(document: dict[str, Any], is_near: bool) -> None:
    try:
        found = of({**TABLE, **document} if is_near else document)
    except MappingError as error:
        assert len(str(error).splitlines()) == 1
    else:
        assert found.fields and bool(found.table) != bool(found.topic)
        tomllib.loads(found.format)


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_a_format_is_written_as_it_was_read(document: dict[str, Any]) -> None:
    assert tomllib.loads(toml(document)) == document


@given(
    st.dictionaries(st.integers(0, 60), st.integers(1, 30), max_size=40),
    st.dictionaries(st.integers(0, 60), st.integers(1, 30), max_size=40),
    st.integers(1, 40),
)
def test_every_second_that_has_more_is_read_once_and_no_stretch_is_too_large(
    seconds: dict[int, int], before: dict[int, int], most: int
) -> None:
    new = {second for second, count in seconds.items() if before.get(second) != count}
    read_in: list[int] = []
    for first, end, parts in slices(seconds, before, most):
        inside = [second for second in seconds if first <= second < end]
        rows = sum(seconds[second] for second in inside)
        assert rows <= most * parts and (parts == 1 or len(inside) == 1)
        read_in += inside
    assert sorted(read_in) == sorted(new)


@pytest.mark.parametrize(
    ("message", "lines"),
    [
        (b"", []),
        (b' {"a":1}\n', [b'{"a":1}']),
        (b'{"a":1}\r\n\n{"b":2}', [b'{"a":1}', b'{"b":2}']),
        (b'{\n "a": "\xc3\xa9"\n}', [b'{"a": "\xc3\xa9"}']),
        (b"{\n" * 3000, [b"{"] * 3000),
        (b'{"a":1}\n{"b', [b'{"a":1}', b'{"b']),
    ],
)
def test_a_message_is_one_object_or_several_lines(message: bytes, lines: list[bytes]) -> None:
    assert one_line(message) == lines
