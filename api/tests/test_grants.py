"""The rights of `deploy/clickhouse/grants.sql`: each program does its work with them, and with one less it does not.

The embedded engine is ClickHouse's and asks for them in the same way, but for tables of `system`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from quiclens_schema import engine
from store_rows import plant

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "schema" / "vectors"
COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", ROOT / "target/release/quiclens-collector"))
GRANTED = Path(__file__).with_name("granted.py")
LOGS = [path for case in ("aioquic_burst_loss_server", "quic_trace_loss") for path in VECTORS.glob(f"{case}/input.*")]
SQL = list((ROOT / "ingest" / "quiclens_ingest" / "sql").iterdir())
LINES = VECTORS / "access_log_tcp" / "access.log"

pytestmark = pytest.mark.skipif(not COLLECTOR.is_file(), reason="no quiclens-collector: cargo build --release")


@dataclass(frozen=True)
class Role:
    """A role's rights on the database and on `system`."""

    rights: tuple[str, ...]
    system: tuple[str, ...]


def roles() -> dict[str, Role]:
    text = (ROOT / "deploy" / "clickhouse" / "grants.sql").read_text()
    found = dict.fromkeys(re.findall(r"^CREATE ROLE IF NOT EXISTS quiclens_(\w+);$", text, re.M), Role((), ()))
    granted = re.findall(r"^GRANT (.+?) ON (quiclens\.\*|system\.\w+) TO quiclens_(\w+);$", text, re.M)
    assert len(granted) == len(re.findall(r"^GRANT ", text, re.M))
    for rights, place, role in granted:
        before, several = found[role], tuple(rights.split(", "))
        if place == "quiclens.*":
            found[role] = Role((*before.rights, *several), before.system)
        else:
            assert several == ("SELECT",)
            found[role] = Role(before.rights, (*before.system, place))
    return found


ROLES = roles()
# Each right alone takes minutes: QUICLENS_ALL_GRANTS=1 does so, `make test` leaves out the last of each role.
ALL = bool(os.environ.get("QUICLENS_ALL_GRANTS"))
WORK: dict[str, list[list[str]]] = {
    "migrate": [["migrate"]],
    "ingest": [["load", *map(str, LOGS), "--requests", str(LINES)], ["link"]],
    "retention": [["retention", "--keep-events", "1", "--keep-summaries", "1", "--max-disk-gb", "0.000001"]],
    "erase": [["erase", "--where", "protocol=h3", "--yes"]],
    "read": [["status"], ["slow"], ["report", "tail"], ["audit"], ["triage"]],
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`empty` has no tables, `wanted` no rows, and a migration that wants all linked again, `filled` some days of
    them."""
    folder = tmp_path_factory.mktemp("granted")
    (folder / "empty").mkdir()
    full = [grant for grant in engine.GRANTS if "default" in grant]
    assert as_user(full, folder / "migrated", [["migrate"]])[0] == 0
    shutil.copytree(folder / "migrated", folder / "filled", symlinks=True)
    plant(folder / "wanted", "INSERT INTO link_pending (token) VALUES ('a migration')")
    logs = [str(path) for path in sorted(VECTORS.glob("*/input.*"))[::8]]
    assert as_user(full, folder / "filled", [["load", *logs, *map(str, LOGS), "--requests", str(LINES)]])[0] == 0
    return folder


def as_user(grants: Sequence[str], store: Path, commands: Sequence[Sequence[str]]) -> tuple[int, str]:
    """Exit code and what was printed of `commands` on a store, as a user with `grants` alone."""
    words = [[*command, "--store", f"chdb:{store}"] for command in commands]
    environment = {**os.environ, "QUICLENS_COLLECTOR": str(COLLECTOR)}
    done = subprocess.run(
        [sys.executable, GRANTED, json.dumps(grants), json.dumps(words)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    return done.returncode, done.stdout + done.stderr


def with_rights(rights: Sequence[str], role: str, stores: Path, folder: Path) -> tuple[int, str]:
    before = {"migrate": "empty", "ingest": "wanted"}.get(role, "filled")
    shutil.copytree(stores / before, folder / "store", symlinks=True)
    return as_user([f"{right} ON default.*" for right in rights], folder / "store", WORK[role])


@pytest.mark.parametrize("role", WORK)
def test_a_program_does_its_work_with_the_rights_of_its_role(role: str, stores: Path, tmp_path: Path) -> None:
    code, said = with_rights(ROLES[role].rights, role, stores, tmp_path)
    assert code == 0, said
    assert "store_denied" not in said and '"error"' not in said


@pytest.mark.parametrize(
    ("role", "right"), [(role, right) for role in WORK for right in ROLES[role].rights[0 if ALL else -1 :]]
)
def test_no_right_of_a_role_is_needless(role: str, right: str, stores: Path, tmp_path: Path) -> None:
    code, said = with_rights([each for each in ROLES[role].rights if each != right], role, stores, tmp_path)
    assert code == 3, said
    assert re.search(rf"grant [^\n]*{right}", said), said


def test_a_collector_may_add_rows_and_nothing_else() -> None:
    assert ROLES["collector"] == Role(("INSERT",), ())
    assert set(ROLES) == {*WORK, "collector"}


def test_tables_of_system_are_granted_to_whom_asks_them() -> None:
    """The engine would not say: statements that a role's program runs name them."""
    always = {"system.tables", "system.columns"}  # a server shows everybody what he may see of these
    sources = {
        "ingest": [*(ROOT / "ingest" / "quiclens_ingest").rglob("*.py"), *SQL],
        "retention": [ROOT / "api" / "store_server" / "quiclens_store_server" / "retention.py"],
        "erase": [ROOT / "api" / "store_server" / "quiclens_store_server" / "erase.py", *SQL],
        "read": [
            *(ROOT / "api" / "questions" / "quiclens_questions" / "queries").iterdir(),
            *(ROOT / "dashboards" / "quiclens_dashboards" / "queries").rglob("*.sql"),
        ],
        "migrate": [ROOT / "schema" / "quiclens_schema" / "migrate.py"],
    }
    for role, paths in sources.items():
        named = {name for path in paths for name in re.findall(r"\bsystem\.[a-z_]+", path.read_text())}
        assert named - always == set(ROLES[role].system), role
