"""The other commands while serve holds the store, and how serve starts and stops."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from api_ran import Run
from api_seed import TABLES
from quiclens_schema import owner
from quiclens_schema import store as stores
from serve_process import Served, start, until
from store_rows import fill

COLLECTOR = os.environ.get("QUICLENS_COLLECTOR")  # before `run` empties the environment
QUESTIONS = (
    ("slow",),
    ("slow", "--where", "carrier=acme"),
    ("explain", "aa11bb22/4"),
    ("failed",),
    ("report", "tail"),
    ("report", "rtt"),
    ("report", "loss"),
)


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The rows of `store_url` in a store that is served, with a token asked for."""
    folder = tmp_path_factory.mktemp("seeded") / "store"
    fill(folder, TABLES)
    running = start(folder, "--keep-events", "0", "--keep-summaries", "0", QUICLENS_SERVE_TOKEN="t" * 16)
    with stores.open(running.store_url) as store:
        assert not store.is_embedded and store.folder is None
    yield running
    assert running.stop() == 0


@pytest.mark.parametrize("words", QUESTIONS, ids=" ".join)
def test_every_question_has_the_same_answer_through_serve(run: Run, seeded: Served, words: tuple[str, ...]) -> None:
    through = run(*words, "--store", seeded.store_url, "--json")
    alone = run(*words, "--json")
    assert (through.code, through.out) == (alone.code, alone.out), through.err


def test_link_and_migrate_work_through_serve(run: Run, tmp_path: Path) -> None:
    running = start(tmp_path / "store")
    try:
        assert run("migrate", "--store", running.store_url, "--json").document["applied"] == []
        assert run("link", "--store", running.store_url, "--json").code in (0, 1)
        assert run("status", "--store", running.store_url, "--json").code in (0, 1)
    finally:
        running.stop()


def test_a_store_is_loaded_through_serve(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = Path(COLLECTOR or Path(__file__).parents[2] / "target/release/quiclens-collector")
    if not built.is_file():
        pytest.skip("the collector is not built: loading through serve was not tested")
    monkeypatch.setenv("QUICLENS_COLLECTOR", str(built))
    case = Path(__file__).parents[2] / "schema/vectors/quic_trace_tail_loss"
    running = start(tmp_path / "store")
    try:
        loaded = run("load", str(case), "--store", running.store_url, "--json").document
        assert loaded["connections"] == 1 and loaded["events"] == 73
        found = run("slow", "--store", running.store_url, "--json").document["requests"]
        assert len(found) == 2
        explained = run("explain", found[0]["request_id"], "--store", running.store_url, "--json").document
        assert sum(part["us"] for part in explained["parts"]) == explained["duration_us"]
    finally:
        running.stop()


def test_the_owners_socket_is_outside_of_the_store_and_of_this_user_alone(seeded: Served) -> None:
    said = json.loads((seeded.folder / "owner.json").read_text())
    assert said["pid"] == seeded.process.pid and said["url"] == seeded.url
    kept = Path(said["socket"])
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600 and kept.stat().st_uid == os.getuid()
    assert not kept.is_relative_to(seeded.folder) and not kept.parent.stat().st_mode & 0o022
    assert not [path for path in seeded.folder.rglob("*") if "token" in path.name]


def test_a_second_serve_says_who_holds_the_store(run: Run, seeded: Served) -> None:
    ran = run("serve", "--store", seeded.store_url, "--listen", "127.0.0.1:0", "--json")
    assert ran.code == 3 and ran.document["error"]["code"] == "store_busy"
    assert f"process {seeded.process.pid}, which serves it at {seeded.url}" in ran.document["error"]["message"]


def test_what_answers_at_the_port_must_be_the_owner(tmp_path: Path) -> None:
    """Another process may have taken the port of one that holds the store and does not answer."""
    running = start(tmp_path / "store")
    try:
        said = json.loads((running.folder / "owner.json").read_text())
        (running.folder / "owner.json").write_text(json.dumps({**said, "instance": "another"}))
        with pytest.raises(stores.StoreBusy, match=f"process {running.process.pid}.* does not answer"):
            stores.open(running.store_url)
        (running.folder / "owner.json").write_text(json.dumps({**said, "socket": "/nowhere"}))
        with pytest.raises(stores.StoreBusy, match=f"process {running.process.pid}.* does not answer"):
            stores.open(running.store_url)
        (running.folder / "owner.json").write_text(json.dumps(said))
    finally:
        running.stop()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_when_told_and_leaves_nothing_behind(tmp_path: Path, how: signal.Signals) -> None:
    running = start(tmp_path / "store")
    socket = json.loads((running.folder / "owner.json").read_text())["socket"]
    assert Path(socket).is_socket()
    assert running.stop(how) == 0
    assert not Path(socket).exists() and "owner.json" not in {path.name for path in running.folder.iterdir()}
    assert not owner.is_locked(running.folder) and owner.read(running.folder) is None


def test_it_finishes_what_runs_before_it_stops(tmp_path: Path) -> None:
    from threading import Thread

    running = start(tmp_path / "store")
    got: list[str] = []
    asked = Thread(target=lambda: got.append(running.one("SELECT sleepEachRow(0.5) FROM numbers(4) FORMAT JSON")))
    asked.start()
    assert until(lambda: 'running{kind="queries"} 1' in running.ask(method="GET", path="/metrics").text)
    assert running.stop() == 0
    asked.join(10)
    assert got and '"rows": 4' in got[0]


def test_without_sql_pages_answer_and_so_do_commands_of_the_stores_user(run: Run, tmp_path: Path) -> None:
    fill(tmp_path / "store", TABLES)
    running = start(tmp_path / "store", "--no-sql", "--keep-events", "0", "--keep-summaries", "0")
    try:
        got = running.ask("SELECT 1")
        assert got.code == 497 and "--sql" in got.text
        assert running.ask(method="GET", query="SELECT 1").code == 497
        assert running.ask(method="GET", path="/api/v1/requests").status == 200
        found = run("slow", "--store", running.store_url, "--json")
        assert found.code == 0 and found.document["requests"]
    finally:
        running.stop()


def test_help_teaches() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "quiclens_command_line", "serve", "--help"], capture_output=True, text=True, check=True
    ).stdout
    for word in ("--listen", "--keep-events", "--max-disk-gb", "QUICLENS_SERVE_TOKEN", "curl", "quiclens serve"):
        assert word in told
