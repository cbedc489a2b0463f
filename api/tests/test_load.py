"""Load with the real collector, where it was built: what cannot be read is counted, never dropped."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from quiclens_api import collector
from quiclens_api.failure import CannotRun


def load(store: Path, *words: str) -> tuple[int, dict[str, object]]:
    """In a process of its own: the embedded engine takes one folder per process."""
    try:
        collector.find()
    except CannotRun as missing:
        pytest.skip(missing.message)
    command = [sys.executable, "-m", "quiclens_api.main", "load", *words, "--store", f"chdb:{store}", "--json"]
    done = subprocess.run(command, capture_output=True, check=False)
    document = json.loads(done.stdout)
    assert set(document) == {"files", "connections", "events", "requests", "rejected", "erased", "bytes", "seconds"}
    return done.returncode, document


def test_a_path_that_cannot_be_opened_is_counted(tmp_path: Path) -> None:
    code, document = load(tmp_path / "store", str(tmp_path / "nowhere.qlog"))
    assert code == 1 and document["rejected"] == {"unreadable": 1}


def test_an_empty_folder_is_nothing_found(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    code, document = load(tmp_path / "store", str(tmp_path / "logs"))
    assert code == 1 and document["rejected"] == {} and document["files"] == 0


def test_an_access_log_alone_can_be_listed(tmp_path: Path) -> None:
    line = {"time": "2026-11-20T10:00:00Z", "time_is": "start", "duration_us": 5000, "method": "GET", "path": "/a"}
    (tmp_path / "access.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    code, document = load(tmp_path / "store", "--requests", str(tmp_path / "access.jsonl"))
    assert code == 0 and document["requests"] == 1 and document["connections"] == 0


def test_nothing_to_load_is_a_usage_error_and_makes_no_store(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "quiclens_api.main", "load", "--store", f"chdb:{tmp_path / 'store'}", "--json"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 2 and json.loads(done.stdout)["error"]["code"] == "usage"
    assert not (tmp_path / "store").exists()
