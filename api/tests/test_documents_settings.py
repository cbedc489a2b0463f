"""Settings and SQL within sentences: a setting is one that its program takes, a statement one that the engine takes."""

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from document_cover import left_to, present
from document_items import ROOT
from quiclens_ingest import mapping
from quiclens_schema import catalogue
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store
from serve_process import Served

COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", ROOT / "target/release/quiclens-collector"))
needs_collector = pytest.mark.skipif(not COLLECTOR.is_file(), reason="no quiclens-collector: cargo build --release")
SETTINGS = sorted({item.text for item in left_to("setting")})
TABLES = [each for each in SETTINGS if each.startswith("[")]
VALUES = [each for each in SETTINGS if re.match(r"[a-z_]+ = \w+$", each) and not each.endswith((" true", " false"))]
TOML = [each for each in SETTINGS if " = " in each and each not in VALUES]
# Settings of programs that are no TOML: the file in which each is read, and how.
ELSEWHERE = {
    "KEEP_EVENTS=7d": ("deploy/systemd/quiclens-retention.service", "KEEP_EVENTS=7d "),
    "KEEP_SUMMARIES=90d": ("deploy/systemd/quiclens-retention.service", "KEEP_SUMMARIES=90d "),
    "MAX_DISK_GB=0": ("deploy/systemd/quiclens-retention.service", "MAX_DISK_GB=0\n"),
    "QUICLENS_CLICKHOUSE=host:port/database": ("deploy/compose.yaml", "${QUICLENS_CLICKHOUSE:-clickhouse:8443/q"),
    "SHOW=1": ("collectors/fuzz/targets/fold.rs", 'var_os("SHOW")'),
    "acks=all": ("collectors/agent/src/run/to_kafka.rs", '("acks", "all")'),
    "QUICLENS_KEEP_CONTRACT=1": ("api/tests/test_documents_contract.py", 'environ.get("QUICLENS_KEEP_CONTRACT")'),
    "servers=USER": ("ingest/quiclens_ingest/acls.py", '"servers"'),
}  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with stores.open(f"chdb:{tmp_path_factory.mktemp('documents') / 'store'}") as opened:
        migrate(opened)
        yield opened


def test_each_setting_is_looked_at_by_one_test() -> None:
    rest = set(SETTINGS) - {*TABLES, *VALUES, *TOML, *ELSEWHERE, "wait_end_of_query=1"}
    assert not rest and set(ELSEWHERE) <= set(SETTINGS)


@pytest.mark.parametrize("setting", TABLES)
def test_a_table_that_is_named_stands_in_settings_that_a_program_takes(setting: str) -> None:
    """Blocks of TOML in the documents, which tests give to their programs, and files of ours, which are taken too."""
    blocks = [item.text for item in present() if item.kind == "toml"]
    files = ("deploy/containers/ingest.toml", "collectors/fuzz/Cargo.toml")
    blocks += [(ROOT / path).read_text(encoding="utf-8") for path in files]
    table, _, key = setting.partition(" ")
    name, is_list = table.strip("[]"), table.startswith("[[")
    found = [each for each in (at(tomllib.loads(block), name) for block in blocks) if each is not None]
    assert any(isinstance(each, list) == is_list for each in found)
    assert not key or any(isinstance(each, dict) and key in each for each in found)


def at(settings: object, name: str) -> object:
    """What stands at a dotted name; in a list it is looked for in the first."""
    for part in name.split("."):
        settings = settings[0] if isinstance(settings, list) else settings
        settings = settings.get(part) if isinstance(settings, dict) else None
    return settings


@needs_collector
@pytest.mark.parametrize("setting", TOML)
def test_a_setting_that_is_told_is_taken(setting: str, tmp_path: Path) -> None:
    setting = setting.replace("state_dir = …", f'state_dir = "{tmp_path}"')
    log = f'[[access_log]]\npath = "{tmp_path}/a.log"\n'
    bodies = [f"{log}{setting}\n", f"{log}[access_log.format]\n{setting}\n", setting + "\n"]
    if setting.startswith("syntax") and "json" not in setting:
        bodies[1] += "format = '{}'\n".format({"envoy": "%START_TIME%", "haproxy": "%tr", "apache": "%t"}.get(
            setting.split('"')[1], "$msec"))  # fmt: skip
    assert any(is_taken(body, tmp_path) for body in bodies) or is_mapping(setting, tmp_path)


def is_taken(body: str, folder: Path) -> bool:
    """Whether it is the collector's."""
    if "state_dir" not in body:
        body = f'state_dir = "{folder}/state"\n{body}'
    config = folder / "collector.toml"
    sink = f'[sink]\nkind = "files"\nfolder = "{folder}/o"\n'
    config.write_text(f'traces = ["{folder}/logs"]\n{body}{sink}', encoding="utf-8")
    done = subprocess.run([COLLECTOR, "check", "--quiet", config], capture_output=True, check=False)
    return done.returncode == 0


def is_mapping(setting: str, folder: Path) -> bool:
    """Whether it is a mapping's."""
    path = folder / "m.toml"
    if setting.startswith("from = "):
        path.write_text(f'topic = "t"\n[format.columns]\ntime = {{ {setting} }}\n', encoding="utf-8")
        return mapping.read(path).fields == ("a",)
    path.write_text(f'topic = "t"\n[format]\n{setting}\n[format.columns]\ntime = {{ from = "a" }}\n', encoding="utf-8")
    return "redact" in str(mapping.read(path))


@pytest.mark.parametrize("value", VALUES)
def test_a_value_of_a_column_is_one_of_its_words(value: str, store: Store) -> None:
    column, word = value.split(" = ")
    tables = [name for name, table in catalogue.load().tables.items() if column in str(table)]
    assert tables, column
    docs = json.dumps(
        [tomllib.loads(path.read_text(encoding="utf-8")) for path in (ROOT / "schema/catalogue").glob("*.toml")]
    )
    said = re.findall(rf'"name": "{column}"[^}}]*"doc": "([^"]*)"', docs)
    assert any(re.search(rf"\b{word}\b", doc) for doc in said), said
    table = next(each for each in ("requests", "connections") if each in tables)
    assert store.query(f"SELECT count() FROM {table} WHERE {column} = {{word:String}}", {"word": word}).one() == (0,)


@pytest.mark.parametrize("setting", sorted(ELSEWHERE))
def test_a_setting_of_another_program_is_read_there(setting: str) -> None:
    path, reads = ELSEWHERE[setting]
    assert reads in (ROOT / path).read_text(encoding="utf-8")


def test_an_answer_that_is_waited_for_is_an_ordinary_error(served: Served) -> None:
    (setting,) = [each for each in SETTINGS if each.startswith("wait_")]
    name, value = setting.split("=")
    got = served.ask("SELECT throwIf(number = 3) FROM numbers(10)", **{name: value})
    assert got.status != 200 and got.code


STATEMENTS = sorted({item.text for item in left_to("sql")})


@pytest.mark.parametrize("statement", [each for each in STATEMENTS if each.startswith("SELECT ")])
def test_a_question_is_answered(statement: str, store: Store) -> None:
    before = store.query(statement).rows
    store.command("INSERT INTO rejects (reason, file, bytes) VALUES ('truncated', 'a.qlog', 'x')")
    assert len(store.query(statement).rows) == len(before) + ("FROM rejects" in statement)


def test_a_query_is_ended_by_its_id(served: Served) -> None:
    (statement,) = [each for each in STATEMENTS if each.startswith("KILL ")]
    got = served.ask(statement.replace("…", "nobody"))
    assert got.status == 200, got.text


@pytest.mark.parametrize("statement", [each for each in STATEMENTS if not each.startswith(("SELECT ", "KILL "))])
def test_another_statement_is_one_that_the_engine_reads(statement: str, store: Store) -> None:
    """Not run: a right for a user who is not there, a setting of one connection. `api/tests/test_grants.py` has the
    rights."""
    assert store.query(f"EXPLAIN AST {statement}").rows
