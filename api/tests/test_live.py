"""From a file that a real HTTP/3 server is still writing to a row that can be asked for: collector, serve, link, slow.

The collector is killed while it follows; afterwards every record of every trace is in the store, each once.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from quiclens_schema import store as stores
from serve_process import quiclens

COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", "target/release/quiclens-collector"))
BIN = Path(sys.executable).parent
KILLS = 4

pytestmark = pytest.mark.skipif(
    not (COLLECTOR.is_file() and (BIN / "quiclens-lab").is_file()), reason="the collector or the lab is not there"
)


@contextmanager
def running(*words: str | Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that is ended with the block."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=30)


def written(traces: Path) -> dict[str, int]:
    """Events in each connection's file."""
    return {path.stem: path.read_bytes().count(b"\n") - 1 for path in traces.glob("*.sqlog")}


def stored(store: str) -> dict[str, set[int]]:
    with stores.open(store) as opened:
        rows = opened.query("SELECT connection_id, groupArray(seq) FROM events_now GROUP BY connection_id").rows
    assert all(len(seqs) == len(set(seqs)) for _, seqs in rows), "a record is seen twice"
    return {connection_id: set(seqs) for connection_id, seqs in rows}


def test_a_live_server_s_requests_can_be_asked_for_and_kills_lose_nothing(tmp_path: Path) -> None:
    store, traffic = f"chdb:{tmp_path / 'store'}", tmp_path / "live"
    (traffic / "traces").mkdir(parents=True)
    (traffic / "access.jsonl").touch()
    with running(BIN / "quiclens", "serve", "--store", store, "--listen", "127.0.0.1:0", "--json") as serve:
        assert serve.stdout is not None
        ready = json.loads(serve.stdout.readline())
        quiclens("migrate", "--store", store)
        config = tmp_path / "run.toml"
        config.write_text(
            f'state_dir = "{tmp_path / "state"}"\ntraces = ["{traffic / "traces"}"]\n'
            f"scan_interval_ms = 50\nbatch_interval_ms = 100\nidle_timeout_s = 2\n"
            f'[[access_log]]\npath = "{traffic / "access.jsonl"}"\n'
            f'[sink]\nkind = "quiclens"\nurl = "{ready["url"]}"\n'
        )
        lab: list[str | Path] = [
            BIN / "quiclens-lab",
            "live",
            "--out",
            traffic,
            "--connections",
            "12",
            "--requests",
            "4",
        ]
        with running(*lab) as server:
            for _ in range(KILLS):
                with running(COLLECTOR, "run", config) as collector:
                    time.sleep(0.5)
                    collector.send_signal(signal.SIGKILL)
            assert server.wait(timeout=60) == 0
        with running(COLLECTOR, "run", config):
            wanted = {name: set(range(count)) for name, count in written(traffic / "traces").items()}
            assert len(wanted) == 12
            began = time.monotonic()
            while (found := stored(store)) != wanted:
                assert time.monotonic() - began < 600, {name: len(found.get(name, ())) for name in wanted}
                time.sleep(0.2)
        quiclens("link", "--store", store)
        answer = quiclens("slow", "--limit", "100", "--store", store)
    assert len(answer["requests"]) == 48
    assert {each["source"] for each in answer["requests"]} == {"log"}
    assert all(each["top_cause"] for each in answer["requests"]), "every line found its stream"
