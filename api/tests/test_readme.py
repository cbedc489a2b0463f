"""Every command line that a document shows works on a store."""

import json
import os
import re
from pathlib import Path

import pytest
from api_ran import Run
from api_seed import A
from quiclens_schema import store as stores
from serve_process import Served

from quiclens_api.loading import load_into

ROOT = Path(__file__).parents[2]
README = ROOT / "api" / "README.md"
TEXTS = sorted(
    {
        ROOT / "README.md",
        ROOT / "SECURITY.md",
        ROOT / "CONTRIBUTING.md",
        *ROOT.glob("*/README.md"),
        *(ROOT / "deploy").glob("**/*.md"),
    }
)
# What does not end, or takes minutes, or needs a broker: options are checked, it is not run.
_NOT_RUN = ("demo", "serve", "ingest")
_NOT_RUN_WITH = ("--brokers", "--follow")
# What reads or changes files and stores is run in a folder that has what the documents speak of.
_IN_A_FOLDER = ("load", "lines", "check", "export", "migrate", "erase")
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


def _is_ours(line: str) -> bool:
    return line.startswith("quiclens ") and "…" not in line


def examples() -> list[str]:
    """Lines of blocks, which are commands as they are typed."""
    found = []
    for path in TEXTS:
        # Of every block, since the end of one would be taken for the beginning of the next.
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        shown = [block for kind, block in blocks if kind in ("", "sh")]
        lines = [line for block in shown for line in block.splitlines() if _is_ours(line)]
        found += [re.split(r"\s{2,}", line)[0] for line in lines]
    return sorted(set(found))


def mentions() -> list[str]:
    """Commands within sentences, which may leave out what is clear there."""
    found = [each for path in TEXTS for each in re.findall(r"`(quiclens [^`\n]+)`", path.read_text(encoding="utf-8"))]
    return sorted(
        {each for each in found if not each.startswith(("quiclens line v1", "quiclens at"))}
    )  # a format, a log


def _is_in_a_folder(example: str) -> bool:
    words = example.split()
    return words[1] in _IN_A_FOLDER and not set(words) & set(_NOT_RUN_WITH)


@pytest.mark.parametrize("example", [each for each in examples() if not _is_in_a_folder(each)])
def test_an_example_runs(run: Run, example: str) -> None:
    known = example.replace("77b0af4b7e4b0161/8", "REQUEST_ID").replace("77b0af4b7e4b0161", "CONNECTION_ID")
    command, *words = known.replace("REQUEST_ID", f"{A}/4").replace("CONNECTION_ID", A).split()[1:]
    if command in _NOT_RUN or set(words) & set(_NOT_RUN_WITH):
        check(run, command, words)
        return
    ran = run(command, *words, "--json")
    assert ran.code in (0, 1) and "error" not in ran.document, ran.err


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


@pytest.mark.parametrize("example", [each for each in examples() if _is_in_a_folder(each)])
def test_an_example_that_reads_files_runs(run: Run, desk: str, tmp_path: Path, example: str) -> None:
    known = re.sub(r" --store https?://\S+", "", example)
    for place in ("/var/log/quic/traces", "/var/log/quic"):
        known = known.replace(place, str(tmp_path / "logs"))
    known = known.replace("77b0af4b7e4b0161", desk).replace("CONNECTION_ID", desk)
    command, *words = known.split()[1:]
    ran = run(command, *words, "--json")
    assert ran.code == 0 and "error" not in ran.document, ran.out + ran.err
    did = {"load": "events", "lines": "lines", "export": "events", "erase": "connections"}.get(command)
    assert did is None or ran.document[did], ran.document
    if "-o" in words:
        assert (tmp_path / words[words.index("-o") + 1]).stat().st_size > 1000


@pytest.mark.parametrize("mention", mentions())
def test_a_command_that_is_mentioned_is_there_with_its_options(run: Run, mention: str) -> None:
    command, *words = re.sub(r"[,;…]", " ", mention).split()[1:]
    if not command.startswith("-"):
        check(run, command, words)


def check(run: Run, command: str, words: list[str]) -> None:
    ran = run(command, "--help")
    assert ran.code == 0, command
    told = set(re.findall(r"--[a-z-]+", ran.out))
    if command == "report":
        told |= set(re.findall(r"--[a-z-]+", run(command, words[0], "--help").out)) if words else set()
    asked = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert asked <= told, asked - told


def test_the_readmes_python_runs_against_a_server(served: Served) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    exec(compile(block.replace("8123", str(served.port)), str(README), "exec"), {})


def test_the_readme_has_examples() -> None:
    assert len(examples()) >= 10
