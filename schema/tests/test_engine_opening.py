"""Opening the engine with its walls: over stores of all kinds, or not at all."""

import subprocess
import sys
from pathlib import Path

import pytest
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import StoreError


def run(script: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_store_of_the_plain_engine_keeps_its_rows(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    plain = "import chdb, sys; c = chdb.connect(sys.argv[1]); print(c.query(sys.argv[2], 'TSV'), end='')"
    run(plain, folder, "CREATE TABLE t (a UInt32) ENGINE = MergeTree ORDER BY a AS SELECT number FROM numbers(9)")
    for _ in range(2):
        with stores.open(f"chdb:{folder}") as store:
            assert store.query("SELECT sum(a) FROM t").one() == (36,)
    assert run(plain, folder, "SELECT sum(a) FROM t") == "36\n"


def test_a_store_whose_database_is_not_known_is_not_opened_as_an_empty_one(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with stores.open(f"chdb:{folder}") as store:
        migrate(store)
    (folder / "metadata" / "default.sql").unlink()
    with stores.open(f"chdb:{folder}") as store:
        assert migrate(store) == ()
    (folder / "metadata" / "default.sql").unlink()
    (folder / "metadata" / "default").unlink()
    with pytest.raises(StoreError, match="which says of which database"):
        stores.open(f"chdb:{folder}")


def test_an_engine_that_was_opened_without_its_walls_is_refused(tmp_path: Path) -> None:
    """The engine reads its configuration once, and says nothing when it reads none."""
    script = """
import sys, chdb
from pathlib import Path
from quiclens_schema import engine
from quiclens_schema.store import StoreError
before = chdb.connect(sys.argv[1])
try:
    engine.connect(Path(sys.argv[1]))
except StoreError as error:
    print(error)
"""
    assert "grants other than the store's own" in run(script, tmp_path / "store")


def test_a_configuration_in_the_working_folder_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("config.xml", "clickhouse-local.xml"):
        (tmp_path / name).write_text("<clickhouse><path>/nowhere</path><profiles>")
    script = "import os; os.chdir(%r); from quiclens_schema import store; store.open('chdb:store').close(); print('ok')"
    assert run(script % str(tmp_path)) == "ok\n"


def test_a_folder_s_name_never_becomes_an_option(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="question mark"):
        stores.open(f"chdb:{tmp_path}/store?config-file=x")
    for name in ("a b", "a&b", "a#b=%20", "ä'ö"):
        with stores.open(f"chdb:{tmp_path / name}") as store:
            migrate(store)
            assert (tmp_path / name / "metadata" / "default.sql").is_file()
