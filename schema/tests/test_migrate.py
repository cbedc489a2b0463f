from pathlib import Path

import pytest
from quiclens_schema import store as stores
from quiclens_schema.migrate import dump, migrate, migrations, migrations_folder, statements
from quiclens_schema.store import Store, StoreError


def test_migrating_twice_does_nothing_the_second_time(tmp_path: Path) -> None:
    with stores.open(f"chdb:{tmp_path / 'store'}") as store:
        assert migrate(store) == tuple(migration.name for migration in migrations())
        before = dump(store)
        assert migrate(store) == ()
        assert dump(store) == before


def test_a_migration_that_was_cut_short_can_run_again(store: Store) -> None:
    before = dump(store)
    for migration in migrations():
        for statement in migration.statements:
            store.command(statement)
    assert dump(store) == before


def test_of_two_rejects_at_one_place_the_longer_one_is_kept(store: Store) -> None:
    put = "INSERT INTO rejects (source, offset, length, bytes) VALUES "
    store.command(put + "('a', 1, 677, 'whole')")
    store.command(put + "('a', 1, 37, 'cut')")
    assert store.query("SELECT offset, bytes FROM rejects FINAL").rows == [(1, "whole")]


def test_schema_sql_is_what_the_migrations_make(store: Store) -> None:
    committed = (migrations_folder().parent / "schema.sql").read_text(encoding="utf-8")
    assert dump(store) == committed, "run `make schema` and read its diff"


def test_a_store_of_a_newer_quiclens_is_refused(store: Store) -> None:
    store.command("INSERT INTO schema_migrations (number, name) VALUES (9999, '9999_later')")
    with pytest.raises(StoreError, match="newer quiclens"):
        migrate(store)


def test_a_store_from_before_the_migrations_became_one_is_refused(store: Store) -> None:
    store.command("TRUNCATE TABLE schema_migrations")
    for number, name in enumerate(("0001_tables", "0002_views", "0003_causes"), 1):
        store.command(f"INSERT INTO schema_migrations (number, name) VALUES ({number}, '{name}')")
    before = dump(store)
    with pytest.raises(StoreError, match=r"before 0\.2 \(0001_tables\).*load its logs into a new store"):
        migrate(store)
    assert dump(store) == before


def test_a_gap_in_the_numbers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "0001_one.sql").write_text("SELECT 1;\n")
    (tmp_path / "0003_three.sql").write_text("SELECT 3;\n")
    with pytest.raises(StoreError, match="without gaps"):
        migrations(tmp_path)


def test_what_makes_a_table_or_a_view_begins_with_what_one_row_is() -> None:
    for migration in migrations():
        for statement in migration.statements:
            assert "-- One row is " in statement.split("CREATE")[0], statement[:80]


def test_comments_are_no_statements() -> None:
    assert statements("-- a; b\nSELECT 1;\n-- end\n") == ("-- a; b\nSELECT 1",)
