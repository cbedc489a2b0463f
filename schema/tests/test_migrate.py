from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
from quiclens_schema import store as stores
from quiclens_schema.lease import LeaseLostError
from quiclens_schema.migrate import LEASES, dump, least, migrate, migrations, migrations_folder, statements
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


FIRST = "CREATE TABLE IF NOT EXISTS t (a UInt8) ENGINE = MergeTree ORDER BY a;\n"
ADDS = "-- additive: what a column is\nALTER TABLE t ADD COLUMN IF NOT EXISTS b UInt8;\n"
CHANGES = "ALTER TABLE t DROP COLUMN IF EXISTS b;\n"


def folder(tmp_path: Path, *files: str) -> Path:
    made = tmp_path / str(len(files))
    made.mkdir()
    for number, text in enumerate(files, 1):
        (made / f"{number:04d}_step.sql").write_text(text)
    return made


def test_the_version_before_goes_on_with_a_store_to_which_something_was_added(tmp_path: Path) -> None:
    """Expand: the store first, then each process in any order, of which some start again as they were."""
    before, added, changed = (folder(tmp_path, *files) for files in ((FIRST,), (FIRST, ADDS), (FIRST, ADDS, CHANGES)))
    with stores.open(f"chdb:{tmp_path / 'store'}") as store:
        assert migrate(store, before) == ("0001_step",)
        assert migrate(store, added) == ("0002_step",)
        for known in (before, added, before):
            assert migrate(store, known) == ()
        assert migrate(store, changed) == ("0003_step",)
        for known in (before, added):
            with pytest.raises(StoreError, match="migrated to 0003 by a newer quiclens"):
                migrate(store, known)
        assert [least(migrations(known)) for known in (before, added, changed)] == [1, 1, 3]


def test_a_store_from_before_anything_was_said_of_additions_goes_on(tmp_path: Path) -> None:
    before, added = (folder(tmp_path, *files) for files in ((FIRST,), (FIRST, ADDS)))
    with stores.open(f"chdb:{tmp_path / 'store'}") as store:
        migrate(store, before)
        store.command("ALTER TABLE schema_migrations DROP COLUMN additive")
        assert migrate(store, before) == ()
        assert migrate(store, added) == ("0002_step",) and migrate(store, before) == ()


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE t", "ALTER TABLE t DROP COLUMN b", "ALTER TABLE t MODIFY COLUMN a UInt16", "RENAME TABLE t TO u",
        "ALTER TABLE t ADD COLUMN IF NOT EXISTS c UInt8, DROP COLUMN b", "ALTER TABLE t ADD COLUMN c UInt8",
        "CREATE TABLE t2 (a UInt8) ENGINE = Memory", "INSERT INTO t VALUES (1)", "ALTER TABLE t DELETE WHERE a = 1",
        "-- what a row is\nTRUNCATE TABLE t",
    ],
)  # fmt: skip
def test_what_does_more_than_add_is_not_called_additive(tmp_path: Path, statement: str) -> None:
    with pytest.raises(StoreError, match="says that it is additive, and does more"):
        migrations(folder(tmp_path, FIRST, f"{ADDS}{statement};\n"))
    assert [each.is_additive for each in migrations(folder(tmp_path, FIRST, ADDS, f"{statement};\n"))] == [
        False, True, False
    ]  # fmt: skip


def test_a_store_from_before_the_migrations_became_one_is_refused(store: Store) -> None:
    store.command("TRUNCATE TABLE schema_migrations")
    for number, name in enumerate(("0001_tables", "0002_views", "0003_causes"), 1):
        store.command(f"INSERT INTO schema_migrations (number, name) VALUES ({number}, '{name}')")
    before = dump(store)
    with pytest.raises(StoreError, match=r"before 0\.2 \(0001_tables\).*load its logs into a new store"):
        migrate(store)
    assert dump(store) == before


def test_a_store_whose_migration_had_other_statements_is_refused(store: Store) -> None:
    store.command("TRUNCATE TABLE schema_migrations")
    (migration, *_) = migrations()
    store.command(
        f"INSERT INTO schema_migrations (number, name, checksum) VALUES (1, '{migration.name}', '{'0' * 64}')"
    )
    with pytest.raises(StoreError, match=rf"{migration.name}\.sql was another \(SHA-256 0{{12}}…, this one has"):
        migrate(store)


def test_comments_and_blanks_between_statements_do_not_change_a_checksum(tmp_path: Path) -> None:
    (tmp_path / "0001_one.sql").write_text("SELECT 1;\nSELECT 2;\n")
    (first,) = migrations(tmp_path)
    (tmp_path / "0001_one.sql").write_text("SELECT 1;\n\nSELECT 2;\n-- end\n")
    (second,) = migrations(tmp_path)
    (tmp_path / "0001_one.sql").write_text("SELECT 1;\nSELECT 3;\n")
    (third,) = migrations(tmp_path)
    assert first.checksum == second.checksum != third.checksum


class _OfAProcess:
    """A store as one of several processes has it, each of which may be killed at a statement."""

    is_embedded = False

    def __init__(self, store: Store, killed_at: int = 0) -> None:
        self._store = store
        self._left = killed_at

    def query(self, sql: str, *more: Any) -> Any:
        return self._store.query(sql, *more)

    def command(self, sql: str, *more: Any) -> None:
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt
        self._store.command(sql, *more)


def test_of_several_that_start_at_once_one_migrates_and_the_others_wait_for_it(tmp_path: Path) -> None:
    with stores.open(f"chdb:{tmp_path / 'store'}") as store:

        def start(number: int) -> tuple[str, ...]:
            return migrate(cast("Store", _OfAProcess(store)), process=f"process-{number}")

        with ThreadPoolExecutor(6) as pool:
            done = list(pool.map(start, range(6)))
        assert sorted(done)[:5] == [()] * 5
        assert max(done) == tuple(migration.name for migration in migrations())
        assert store.query("SELECT number FROM schema_migrations").rows == [
            (migration.number,) for migration in migrations()
        ]
        assert dump(store) == (migrations_folder().parent / "schema.sql").read_text(encoding="utf-8")


@pytest.mark.parametrize("killed_at", [1, 5, 6, 7, 20, 33])
def test_what_a_killed_process_left_is_migrated_by_the_next(tmp_path: Path, killed_at: int) -> None:
    with stores.open(f"chdb:{tmp_path / 'store'}") as store:
        with pytest.raises(KeyboardInterrupt):
            migrate(cast("Store", _OfAProcess(store, killed_at)))
        assert migrate(store) == tuple(migration.name for migration in migrations())
        assert dump(store) == (migrations_folder().parent / "schema.sql").read_text(encoding="utf-8")


def test_a_process_that_lost_its_lease_migrates_no_further(tmp_path: Path) -> None:
    with stores.open(f"chdb:{tmp_path / 'store'}") as store:

        class Overtaken(_OfAProcess):
            def command(self, sql: str, *more: Any) -> None:
                super().command(sql, *more)
                if "CREATE TABLE IF NOT EXISTS connections" in sql:
                    LEASES.take(store, 99, "another", 600)

        with pytest.raises(LeaseLostError, match="fence 99, ours was 1"):
            migrate(cast("Store", Overtaken(store)))
        assert store.query("SELECT count() FROM schema_migrations").one() == (0,)


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
