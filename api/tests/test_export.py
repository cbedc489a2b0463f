"""Export and check with a collector of our own making: what it is given, and what becomes of its answer."""

import json
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from api_ran import Run
from api_seed import A

pa_ipc = pytest.importorskip("pyarrow.ipc")

Make = Callable[[str], Path]
KEEP = """
data = sys.stdin.buffer.read()
open(sys.argv[0] + ".in", "wb").write(data)
sys.stdout.write("{}")
"""


def test_the_collector_gets_the_header_and_the_events(run: Run, fake_collector: Make, tmp_path: Path) -> None:
    program, target = fake_collector(KEEP), tmp_path / "out.sqlog"
    ran = run("export", A, "-o", str(target), "--from-us", "5", "--json")
    assert ran.code == 0 and target.read_text() == "{}"
    assert ran.document == {
        "connection_id": A,
        "trace_id": "1" * 16,
        "vantage": "server",
        "events": 7,
        "file": str(target),
        "mode": "for-qvis",
        "bytes": 2,
    }
    first, _, rest = Path(f"{program}.in").read_bytes().partition(b"\n")
    about = json.loads(first)
    assert about["header"] == '{"qlog_version":"0.3"}' and about["started_at_ms"] == 1763632800000 + 31536000000
    assert (about["format"], about["mode"], about["from_us"], about["to_us"]) == ("sqlog", "for-qvis", 5, None)
    assert pa_ipc.open_stream(BytesIO(rest)).read_all()["seq"].to_pylist() == [5, 6, 7, 8, 10, 11, 12]
    assert not list(tmp_path.glob(".out*"))


def test_a_trace_is_chosen_by_vantage(run: Run, fake_collector: Make, tmp_path: Path) -> None:
    fake_collector(KEEP)
    ran = run("export", A, "-o", str(tmp_path / "c.qlog"), "--vantage", "client", "--json")
    assert ran.document["trace_id"] == "2" * 16 and ran.document["mode"] == "as-is" and ran.code == 1
    assert run("export", "c0ffee99", "-o", str(tmp_path / "a.qlog"), "--json").document["connection_id"] == A


def test_a_collector_that_fails_leaves_no_file(run: Run, fake_collector: Make, tmp_path: Path) -> None:
    fake_collector("sys.stderr.write('no such dialect\\n'); sys.exit(4)")
    ran = run("export", A, "-o", str(tmp_path / "x.qlog"), "--json")
    assert ran.code == 3 and "no such dialect" in ran.document["error"]["message"]
    assert not list(tmp_path.glob("*x.qlog*"))


def test_an_unknown_connection_is_exit_1(run: Run, fake_collector: Make, tmp_path: Path) -> None:
    fake_collector(KEEP)
    ran = run("export", "nobody", "-o", str(tmp_path / "x.qlog"), "--json")
    assert ran.code == 1 and ran.document["events"] == 0 and ran.document["file"] is None


def test_a_folder_that_is_not_there_cannot_be_written(run: Run, fake_collector: Make, tmp_path: Path) -> None:
    fake_collector(KEEP)
    assert run("export", A, "-o", str(tmp_path / "no" / "x.qlog")).code == 3


def test_standard_output_is_the_log_alone(store_url: str, fake_collector: Make) -> None:
    fake_collector(KEEP)
    command = [sys.executable, "-m", "quiclens_command_line", "export", A, "-o", "-", "--store", store_url]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout == b"{}"
