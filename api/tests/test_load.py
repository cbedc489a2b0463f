"""Load with the real collector, where it was built: what cannot be read is counted, never dropped."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quiclens_command_line.show.load import load_view
from quiclens_questions import collector
from quiclens_questions.failure import CannotRun

VECTORS = Path(__file__).parents[2] / "schema" / "vectors"


def load(store: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """In a process of its own: the embedded engine takes one folder per process."""
    try:
        collector.find()
    except CannotRun as missing:
        pytest.skip(missing.message)
    command = [sys.executable, "-m", "quiclens_command_line", "load", *words, "--store", f"chdb:{store}", "--json"]
    done = subprocess.run(command, capture_output=True, check=False)
    document = json.loads(done.stdout)
    wanted = {
        "files",
        "connections",
        "events",
        "requests",
        "rejected",
        "values_unread",
        "limits_crossed",
        "erased",
        "bytes",
    }
    wanted |= {"seconds"}
    assert set(document) == wanted
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
    command = [sys.executable, "-m", "quiclens_command_line", "load", "--store", f"chdb:{tmp_path / 'store'}", "--json"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 2 and json.loads(done.stdout)["error"]["code"] == "usage"
    assert not (tmp_path / "store").exists()


def test_values_that_their_column_cannot_hold_are_counted(tmp_path: Path) -> None:
    for case, requests in (("quic_trace_deck_tabs", ()), ("access_log_durations", ("access.log", "format.toml"))):
        folder = VECTORS / case
        words = [str(next(folder.glob("input.*")))]
        if requests:
            words += ["--requests", str(folder / requests[0]), "--requests-format", str(folder / requests[1])]
        code, document = load(tmp_path / case, *words)
        assert (code, document["rejected"], document["values_unread"]) == (0, {}, 1), case
        said = load_view(document)
        assert any("1 values that their column cannot hold" in str(line) for line in said), case
    store = f"chdb:{tmp_path / 'quic_trace_deck_tabs'}"
    status = [sys.executable, "-m", "quiclens_command_line", "status", "--store", store]
    found = json.loads(subprocess.run([*status, "--json"], capture_output=True, check=True).stdout)
    at = [column["name"] for column in found["columns"]].index("values_unread")
    assert [row[at] for row in found["rows"]] == [1]
