import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from migrated import migrated
from quiclens_schema import catalogue
from quiclens_schema import store as stores
from quiclens_schema.catalogue import CAUSES, CatalogueError
from quiclens_schema.store import Store

TABLES = sorted(catalogue.load().tables)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Nothing here writes into it."""
    folder = tmp_path_factory.mktemp("catalogue") / "store"
    migrated(folder)
    with stores.open(f"chdb:{folder}") as opened:
        yield opened


@pytest.mark.parametrize("table", TABLES)
def test_the_tables_have_the_catalogues_columns_in_its_order(store: Store, table: str) -> None:
    """What a table makes by itself, `SELECT *` does not show."""
    wanted = [(column.name, column.type) for column in catalogue.load().table(table).columns]
    found = store.query(
        "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = {table:String}"
        " AND default_kind != 'MATERIALIZED' ORDER BY position LIMIT 1000",
        {"table": table},
    ).rows
    assert found == wanted


@pytest.mark.parametrize("table", TABLES)
def test_the_tables_have_the_catalogues_engine_and_keys(store: Store, table: str) -> None:
    wanted = catalogue.load().table(table)
    of_name = (
        "SELECT engine, engine_full, sorting_key, partition_key FROM system.tables"
        " WHERE database = currentDatabase() AND name = {table:String} LIMIT 2"
    )
    name, engine, key, partition = store.query(of_name, {"table": table}).one()
    if wanted.is_linked:  # a view; the versions of its rows replace each other in one partition
        assert (name, wanted.engine) == ("View", "View")
        _, engine, key, partition = store.query(of_name, {"table": wanted.stored}).one()
        assert engine.startswith("ReplacingMergeTree(version, is_deleted)") and key and partition
        return
    assert engine.split(" ")[0] == wanted.engine
    assert key == ", ".join(wanted.order_by)
    assert partition == wanted.partition_by


@pytest.mark.parametrize("table", ["streams", "requests"])
def test_the_parts_are_the_causes_in_vocabulary_order(table: str) -> None:
    parts = [column.name for column in catalogue.load().table(table).columns if column.doc == "part"]
    assert parts == [f"{cause}_us" for cause in CAUSES]


def test_every_field_has_a_column() -> None:
    read = catalogue.load()
    events = read.table("events")
    for field in read.fields:
        assert events.column(field.name)
    for field in read.frame_fields:
        assert field.kind == "ranges" or events.column(f"frames.{field.name}")


def test_no_spelling_stands_for_two_events() -> None:
    seen = [spelling for event in catalogue.load().events for spelling in {event.name, *event.seen}]
    assert len(seen) == len(set(seen))


def test_reasons_are_words() -> None:
    assert all(re.fullmatch("[a-z0-9_]+", reason.name) and reason.doc for reason in catalogue.load().reasons)


def test_a_table_that_stands_twice_is_refused(tmp_path: Path) -> None:
    text = '[[table]]\nname = "t"\nrow = ""\nengine = "MergeTree"\norder_by = []\npartition_by = ""\ncolumns = []\n'
    (tmp_path / "one.toml").write_text(text)
    (tmp_path / "two.toml").write_text(text)
    with pytest.raises(CatalogueError, match="stands twice"):
        catalogue.read(tmp_path)
