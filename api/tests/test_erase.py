"""What is erased is in no table and on no disk block of the store, stays so, and takes nothing else with it."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from api_ran import Ran
from api_seed import DAY, FAILED, TABLES, UNDATED, A
from quiclens_ingest.link import link
from quiclens_schema import catalogue
from quiclens_schema import store as stores
from quiclens_schema.store import Store, StoreError
from serve_process import Served, start
from store_rows import aliases, fill, send, stream

from quiclens_command_line.loading import load_into
from quiclens_command_line.main import main
from quiclens_questions import collector
from quiclens_questions.failure import CannotRun
from quiclens_store_server.erase import ErasureChoice, erase

LINE = {"line_day": DAY, "time": "2026-11-20 10:00:00", "time_is": "end"}
LINES = [
    {"log_id": "aaaa", "offset": 0, "connection_id": A, "stream_id": 4, "path": "/4", "user_hash": "user-one", **LINE},
    {"log_id": "aaaa", "offset": 90, "connection_id": "c0ffee99", "stream_id": 8, "client_key": "key-one", **LINE},
    {"log_id": "aaaa", "offset": 180, "client_network": "203.0.113.0/24", "path": "/alone", **LINE},
    {"log_id": "aaaa", "offset": 270, "client_network": "2001:db8:7::/48", "path": "/six", **LINE},
    {"log_id": "bbbb", "offset": 180, "client_network": "198.51.100.0/24", "path": "/other", **LINE},
]


def tables() -> dict[str, list[dict[str, Any]]]:
    made = {name: [dict(row) for row in rows] for name, rows in TABLES.items() if name != "requests"}
    for row in made["connections"]:
        row["source_file"] = f"/mnt/{row['source_file']}"  # a path as it was read, which may be another one later
        row["client_network"] = {A: "203.0.113.0/24", FAILED: "198.51.100.0/24"}.get(row["connection_id"])
    made["request_lines"] = LINES
    made["rejects"] += [{"source": "5" * 16, "offset": 3, "reason": "truncated", "file": "/var/log/a.qlog"}]
    return made


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled") / "store"
    fill(folder, tables())
    with stores.open(f"chdb:{folder}") as opened:
        link(opened)
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled, tmp_path / "store", symlinks=True))


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with stores.open(f"chdb:{folder}") as opened:
        yield opened


NOW = datetime(2026, 11, 21, tzinfo=UTC)


def erased(store: Store, *connections: str, **more: Any) -> Any:
    return erase(store, ErasureChoice(connections, **more), NOW)


def content(store: Store) -> dict[str, list[str]]:
    """All rows of all tables of the catalogue, as text, in order."""
    skipped = {"ingested_at"}
    found = {}
    for table in catalogue.load().tables.values():
        names = ", ".join(f"`{each.name}`" for each in table.columns if each.name not in skipped)
        final = "" if table.is_linked else "FINAL"
        rows = store.query(f"SELECT {names} FROM {table.name} {final}").rows
        found[table.name] = sorted(map(repr, rows))
    return found


def without(rows: dict[str, list[str]], *texts: str) -> dict[str, list[str]]:
    return {table: [row for row in of if not any(text in row for text in texts)] for table, of in rows.items()}


MADE = ("request_rollups", "request_dimensions")  # counts of the others, built anew


def but_made(rows: dict[str, list[str]]) -> dict[str, list[str]]:
    return {table: of for table, of in rows.items() if table not in MADE}


def test_a_connection_goes_from_every_table_by_any_of_its_ids(store: Store) -> None:
    before = content(store)
    # Of it are its rejects, those of its file that name no trace, and its lines, also by another of its ids.
    expected = without(before, A, "1" * 16, "2" * 16, "c0ffee99")
    expected["rejects"] = [row for row in expected["rejects"] if "a.qlog" not in row]
    trial = erased(store, "C0FFEE99", is_trial=True)
    assert content(store) == before
    done = erased(store, "C0FFEE99")
    assert done == trial and done.connections == 1 and done.lines == 2
    assert but_made(content(store)) == but_made(expected)
    assert dict(done.rows) == {name: len(before[name]) - len(rows) for name, rows in but_made(expected).items()}
    for table in ("events", "connections", "streams", "episodes", "connection_aliases", "request_lines", "rejects"):
        assert done.rows[table] > 0, table
    assert (
        "requests" in done.rows and len(content(store)["requests"]) == len(before["requests"]) - done.rows["requests"]
    )


def test_nothing_of_it_is_on_disk(folder: Path) -> None:
    marker = b"aa11bb22"
    code = "from quiclens_schema import store as s\nwith s.open('chdb:' + __import__('sys').argv[1]) as o: pass"
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)
    assert holding(folder, marker)
    ran = subprocess.run(
        [sys.executable, "-m", "quiclens_command_line", "erase", A, "--yes", "--json", "--store", f"chdb:{folder}"],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert json.loads(ran.stdout)["connections"] == 1
    assert holding(folder, marker) == []
    assert (folder / "quiclens-erase-key").stat().st_mode & 0o777 == 0o600


def holding(folder: Path, text: bytes) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


def test_what_comes_again_is_dropped_and_counted(store: Store) -> None:
    erased(store, A)
    left = content(store)
    names = {"connection_id": [A, "dd", A], "vantage": ["server"] * 3, "trace_id": ["1" * 16, "7" * 16, "8" * 16]}
    rows: dict[str, Any] = {"alias": ["x", "y", "z"], "role": ["dcid"] * 3, "version": [1] * 3, **names}
    days = [date.fromisoformat(DAY)] * 3
    alias = stream({**rows, "trace_day": days}, version=pa.uint64(), trace_day=pa.date32())
    assert store.insert_arrow("connection_aliases", alias, 3) == 2
    new = content(store)
    assert len(new["connection_aliases"]) == len(left["connection_aliases"]) + 1 and "'dd'" in "".join(
        new["connection_aliases"]
    )


def test_a_client_goes_by_address_network_or_key(store: Store) -> None:
    assert erased(store, clients=("192.0.2.1",), is_trial=True).rows["connections"] == 0
    by_key = erased(store, clients=("key-one",), is_trial=True)
    assert (by_key.connections, by_key.lines) == (1, 2)  # the line, its connection, that one's other line
    assert erased(store, clients=("user-one",), is_trial=True).connections == 1
    assert erased(store, clients=("2001:db8:7::1",), is_trial=True).lines == 1
    done = erased(store, clients=("203.0.113.77",))
    assert (done.connections, done.lines) == (1, 3)
    rows = content(store)
    assert [row for of in rows.values() for row in of if A in row or "203.0.113" in row] == []
    assert any(FAILED in row for row in rows["connections"]) and any("/other" in row for row in rows["request_lines"])
    assert erased(store, clients=("203.0.0.0/8",), is_trial=True).connections == 0


def test_conditions_choose_requests_and_connections_without_any(store: Store) -> None:
    assert erased(store, where=("path=/six",), is_trial=True).lines == 1
    assert erased(store, where=("path=/six OR path=/none-such",), is_trial=True).lines == 1
    done = erased(store, where=("region=south", "carrier=acme"))
    assert done.connections == 1 and done.rows["requests"] == 0  # one whose handshake failed
    assert not any(FAILED in row for row in content(store)["connections"])
    with pytest.raises(StoreError, match="no column 'nothing'"):
        erased(store, where=("nothing=1",))


def test_another_key_stops_writing_and_erasing(store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    erased(store, UNDATED)
    monkeypatch.setenv("QUICLENS_ERASE_KEY_FILE", str(tmp_path / "another"))
    with stores.open(f"chdb:{store.folder}") as second:
        with pytest.raises(StoreError, match="is not at"):
            second.insert_arrow("connection_aliases", aliases(), 2)
        with pytest.raises(StoreError, match="another key"):
            erased(second, A)
    assert any(A in row for row in content(store)["connections"])


def test_an_id_that_has_not_come_yet_is_erased_ahead(store: Store) -> None:
    done = erased(store, "cc")
    assert done.connections == 0 and not any(done.rows.values())
    assert store.insert_arrow("connection_aliases", aliases(), 2) == 1


def ask(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> Ran:
    capsys.readouterr()
    code = main(["erase", *words, "--store", f"chdb:{folder}"])
    said = capsys.readouterr()
    return Ran(code, said.out, said.err)


def test_the_command_asks_before_it_erases(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert ask(folder, capsys).code == 2
    refused = ask(folder, capsys, A)
    assert refused.code == 2 and "--yes" in refused.err
    counted = ask(folder, capsys, A, "--dry-run", "--json")
    assert counted.code == 0 and not counted.document["erased"] and counted.document["rows"]["streams"] == 4
    assert ask(folder, capsys, A, "--dry-run").out.startswith("would erase 1 connections")
    for name, size in (("spool/1.segment", 5), ("outbox/1.waiting", 7), ("checkpoints", 11)):
        path = tmp_path / "state" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(size))
    done = ask(folder, capsys, A, "--yes", "--json", "--state", str(tmp_path / "state"))
    assert done.code == 0 and done.document["erased"] and done.document["rows"] == counted.document["rows"]
    assert done.document["state"] == [
        {"folder": str(tmp_path / "state"), "spool_bytes": 5, "outbox_bytes": 7, "checkpoint_bytes": 11}
    ]
    assert ask(folder, capsys, A, "--yes").code == 1


@pytest.fixture(scope="module")
def running(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = start(Path(shutil.copytree(filled, tmp_path_factory.mktemp("served") / "store", symlinks=True)))
    yield served
    assert served.stop() == 0


def test_the_process_that_serves_a_store_erases_and_drops(running: Served, capsys: pytest.CaptureFixture[str]) -> None:
    done = ask(running.folder, capsys, A, "--yes", "--json")
    assert done.code == 0 and done.document["connections"] == 1, done
    assert running.one(f"SELECT count() FROM events WHERE connection_id = '{A}'").strip() == "0"
    got = send(running, "connection_aliases", aliases(connection_id=[A, "zz"]), 2)
    assert got.status == 200 and json.loads(got.text) == {"rows": 2, "erased": 1}
    assert "quiclens_serve_rows_erased_total 1.0" in running.request(b"", "GET", "/metrics", {}).text
    assert running.one("SELECT count() FROM connection_aliases WHERE connection_id = 'zz'").strip() == "1"
    with stores.open(f"chdb:{running.folder}") as through:
        assert through.insert_arrow("connection_aliases", aliases(connection_id=[A, "yy"]), 2) == 1


def test_arguments_of_the_operation_are_checked(running: Served) -> None:
    path = "/store/operations/erase"
    for body in (
        b"{}",
        b'{"connections": ["x"], "nothing": 1}',
        b'{"connections": 3}',
        b'{"where": ["no comparison"]}',
    ):
        assert running.request(body, "POST", path, {"Content-Type": "application/json"}).status == 422, body


def test_files_that_are_read_again_bring_nothing_back(tmp_path: Path) -> None:
    try:
        collector.find()
    except CannotRun as missing:
        pytest.skip(missing.message)
    vectors = Path(__file__).parents[2] / "schema" / "vectors"
    files = [vectors / name / "input.sqlog" for name in ("rule_bandwidth_rate", "rule_cwnd_blocked")]
    with stores.open(f"chdb:{tmp_path / 'store'}") as store:
        first = load_into(store, files, [])
        assert first["connections"] == 2 and first["erased"] == 0
        done = erased(store, "4e3e06d1")
        kept = content(store)
        again = load_into(store, files, [])
        assert but_made(content(store)) == but_made(kept)
        sent = [table for table in done.rows if not catalogue.load().tables[table].is_linked]
        assert again["erased"] == sum(done.rows[table] for table in sent) > 20
        assert not any("4e3e06d1" in row for rows in content(store).values() for row in rows)
