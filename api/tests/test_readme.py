"""Every `quiclens` command that a document shows runs: on the seeded store, or in a folder with what it speaks of."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from api_ran import Run
from api_seed import A
from document_cover import left_to
from document_items import Item, command_of
from quiclens_schema import store as stores
from serve_process import Served, start_words

from quiclens_command_line.loading import load_into

ROOT = Path(__file__).parents[2]
README = ROOT / "api" / "README.md"
_SHOWN = left_to("quiclens")
# What needs no argument is run as it stands; of the others a sentence says the name alone, or that of an option.
_ALONE = ("slow", "triage", "failed", "status", "audit", "migrate", "retention")
# What reads or changes files and stores is run in a folder that has what the documents speak of.
_IN_A_FOLDER = ("load", "lines", "check", "diff", "export", "migrate", "erase", "retention")
# What a document's words stand for in that folder. The store is the folder's, wherever the document has it.
_STANDS_FOR = {
    r"\b(before|after)/": str(ROOT / "schema" / "vectors"),
    r"--store http://quiclens@clickhouse:8123/quiclens": "",
    r"--store chdb:(STORE|/var/lib/quiclens-store)": "",
    r"/var/log/http/access\.jsonl": "access.jsonl",
    r"/var/log/quic(/traces)?|\bFOLDER\b": "logs",
    r"\bMAPPING\.toml\b": "http_log.toml",
    r"\bFILE\b": "server.sqlog",
    r"=…": "=acme",
}
_COLLECTOR = os.environ.get("QUICLENS_COLLECTOR")  # before `run` empties the environment
_MAPPING = ROOT / "deploy" / "docs" / "your-own-table.md"
_TABLE = """
CREATE TABLE http_log (
    ts DateTime64(3), duration_ms Float64, request_id String, quic_connection_id Nullable(String),
    quic_stream_id Nullable(UInt64), method String, url String, status UInt16, protocol String, client_ip String,
    client_port UInt16, upstream String, labels Map(String, String)
) ENGINE = MergeTree ORDER BY ts"""
_ROW = (
    "INSERT INTO http_log SELECT now64(3), 12.5, 'r1', '8394c8f03e515708', 0, 'GET', '/a', 200, 'h3', '192.0.2.7', "
    "4433, 'app-1', map('carrier', 'acme')"
)


def typed(item: Item) -> str:
    """The command as it is typed, without its schedule and its program's name."""
    return re.sub(r"^(\.venv/bin/)?quiclens ", "", command_of(item.text))


def is_name(item: Item) -> bool:
    """Whether a sentence only names a command or an option of it: nobody can type that."""
    command, *rest = typed(item).split()
    is_whole = any(not word.startswith("--") for word in rest) if rest else command in (*_ALONE, "--version")
    return item.form == "inline" and (not is_whole or item.text.endswith("…"))


_NAMES = sorted({typed(item) for item in _SHOWN if is_name(item)})
_TYPED = sorted({typed(item) for item in _SHOWN if not is_name(item)})


def of(*commands: str, are: bool = True) -> list[str]:
    """Those of some commands, or all others."""
    return [each for each in _TYPED if (each.split()[0] in commands) == are]


_SPECIAL = ("serve", "demo", "ingest", "--version")
_GOES_ON = "--follow"  # until it is ended: test_triage.py has that


@pytest.mark.parametrize("example", [each for each in of(*_IN_A_FOLDER, *_SPECIAL, are=False) if _GOES_ON not in each])
def test_an_example_runs(run: Run, example: str) -> None:
    known = example.replace("77b0af4b7e4b0161/8", "REQUEST_ID").replace("=…", "=acme")
    ran = run(*known.replace("REQUEST_ID", f"{A}/4").split(), "--json")
    assert ran.code in (0, 1) and "error" not in ran.document, ran.out + ran.err


@pytest.fixture
def desk(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A working folder with logs, lines, a mapping, and a store that has what they say; the id of a connection."""
    collector = Path(_COLLECTOR or ROOT / "target" / "release" / "quiclens-collector")
    if not collector.is_file():
        pytest.skip("no quiclens-collector: cargo build --release")
    monkeypatch.setenv("QUICLENS_COLLECTOR", str(collector))
    monkeypatch.setenv("QUICLENS_STORE", f"chdb:{tmp_path / 'store'}")
    monkeypatch.chdir(tmp_path)
    trace = (ROOT / "schema" / "vectors" / "quiche_0_30_server" / "input.sqlog").read_bytes()
    (tmp_path / "logs").mkdir()
    for name in ("logs/server.sqlog", "server.sqlog", "conn.qlog"):
        (tmp_path / name).write_bytes(trace)
    line = {"time": "2026-11-20T10:00:00Z", "time_is": "start", "duration_us": 5000, "method": "GET", "path": "/a"}
    (tmp_path / "access.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    (mapping,) = re.findall(r"(?ms)^```toml\n(# http_log\.toml\n.*?)^```$", _MAPPING.read_text(encoding="utf-8"))
    (tmp_path / "http_log.toml").write_text(mapping.replace("web.http_log", "http_log"), encoding="utf-8")
    with stores.open(f"chdb:{tmp_path / 'store'}") as store:
        load_into(store, [tmp_path / "logs"], [])
        store.command(_TABLE)
        store.command(_ROW)
        (connection,) = store.query("SELECT connection_id FROM connections_now LIMIT 1").one()
    return str(connection)


def in_folder(example: str, connection: str) -> list[str]:
    """The words of a command, for what the folder has."""
    for stands, here in _STANDS_FOR.items():
        example = re.sub(stands, here, example)
    return shlex.split(re.sub(r"77b0af4b7e4b0161|\bCONNECTION_ID\b", connection, example))


@pytest.mark.parametrize("example", of(*_IN_A_FOLDER))
def test_an_example_that_reads_files_runs(run: Run, desk: str, tmp_path: Path, example: str) -> None:
    command, *words = in_folder(example, desk)
    ran = run(command, *words, "--json")
    assert ran.code == 0 and "error" not in ran.document, ran.out + ran.err
    did = {"load": "events", "lines": "lines", "export": "events", "erase": "connections"}.get(command)
    assert did is None or ran.document[did], ran.document
    if "-o" in words:
        assert (tmp_path / words[words.index("-o") + 1]).stat().st_size > 1000


@pytest.mark.parametrize("example", of("serve"))
def test_an_example_serves(tmp_path: Path, example: str) -> None:
    (tmp_path / "servers").write_text("edge-1\nedge-2\n", encoding="utf-8")
    words = example.replace("/etc/quiclens", str(tmp_path)).replace("STORE", str(tmp_path / "store")).split()[1:]
    if "--store" not in words:
        words += ["--store", f"chdb:{tmp_path / 'store'}"]
    served = start_words(tmp_path / "store", *re.sub(r"--listen \S+", "", " ".join(words)).split())
    assert served.request(b"", "GET", "/ping", {}).status == 200
    assert served.stop() == 0


@pytest.mark.parametrize("example", of("ingest"))
def test_ingest_checks_its_settings(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, example: str) -> None:
    (tmp_path / "password").write_text("a password\n", encoding="utf-8")
    monkeypatch.setenv("QUICLENS_KAFKA_PASSWORD_FILE", str(tmp_path / "password"))
    ran = run(*example.replace("FILE", str(ROOT / "deploy" / "containers" / "ingest.toml")).split(), "--json")
    assert ran.code == 0 and ran.document["brokers"] == "kafka:9092", ran.err


def test_the_version_is_said() -> None:
    assert [each for each in _TYPED if each.startswith("--")] == ["--version"]
    done = subprocess.run([Path(sys.executable).with_name("quiclens"), "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and re.search(r"\d+\.\d+\.\d+", done.stdout)


@pytest.mark.parametrize("mention", _NAMES)
def test_a_command_that_is_named_is_there_with_its_options(run: Run, mention: str) -> None:
    command, *words = re.sub(r"[,;…]", " ", mention).split()
    ran = run(command, "--help")
    assert ran.code == 0, command
    asked = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert asked <= set(re.findall(r"--[a-z-]+", ran.out)), asked


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each form of the demo says, once."""
    collector = Path(_COLLECTOR or ROOT / "target" / "release" / "quiclens-collector")
    if not collector.is_file():
        pytest.skip("no quiclens-collector: cargo build --release")
    said = {}
    for number, example in enumerate(of("demo")):
        folder = tmp_path_factory.mktemp(f"demo-{number}")
        words = [str(Path(sys.executable).with_name("quiclens")), *example.split()]
        environment = {**os.environ, "QUICLENS_COLLECTOR": str(collector)}
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        said[example] = done.stdout
        shutil.rmtree(folder)
    return said


@pytest.mark.long
def test_the_demo_says_what_the_readme_shows(demo: dict[str, str]) -> None:
    """The first line is `make demo`, which is `quiclens demo`; dots stand for what is left out."""
    (shown,) = [item.text for item in left_to("output")]
    command, *lines = shown.splitlines()
    assert command == "$ make demo" and len(demo) == 2
    wanted = [line.split("…")[0].rstrip() for line in lines if line.strip("… ")]
    assert len(wanted) >= 8
    for said in demo.values():
        printed = [line.rstrip() for line in said.splitlines()]
        missing = [line for line in wanted if not any(each.startswith(line) for each in printed)]
        assert not missing, said


def test_the_readmes_python_runs_against_a_server(served: Served) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    exec(compile(block.replace("8123", str(served.port)), str(README), "exec"), {})
