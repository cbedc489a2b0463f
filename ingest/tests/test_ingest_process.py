"""`quiclens ingest` as a process of its own: killed, ended, asked how it is."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from quiclens_ingest.linking import Rounds
from quiclens_schema import store as stores
from quiclens_schema.version import VERSION
from taking import Pipe, content, seqs, sliced, until

pytestmark = pytest.mark.kafka


def start(folder: Path, pipe: Pipe, settings: str = "", *more: str) -> "subprocess.Popen[bytes]":
    config = folder / "ingest.toml"
    config.write_text(f'brokers = "{pipe.brokers}"\ngroup = "{pipe.group}"\nmetrics_address = ""\n{settings}')
    program = [sys.executable, "-m", "quiclens_command_line", "ingest", "--config", str(config), "--json", *more]
    quiet = {**os.environ, "PYTHONWARNINGS": "ignore"}
    with (folder / "said.txt").open("ab") as said:
        return subprocess.Popen(
            [*program, "--store", f"chdb:{folder / 'store'}"], stdout=subprocess.PIPE, stderr=said, env=quiet
        )


def end(process: "subprocess.Popen[bytes]") -> tuple[int, dict[str, Any]]:
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    return process.returncode, json.loads(out)


def test_killed_at_any_moment_it_loses_nothing_and_doubles_nothing(tmp_path: Path, pipe: Pipe, loaded: Any) -> None:
    small = sliced(loaded.rows, 3)
    chance = random.Random(7)

    def feed() -> None:
        for first in range(0, len(small), 10):
            pipe.send(small[first : first + 10])
            time.sleep(0.12)

    feeder = Thread(target=feed, daemon=True)
    feeder.start()
    settings = "block_rows = 40\nblock_age_ms = 50\nlink_seconds = 0.3\n"
    for _ in range(4):
        process = start(tmp_path, pipe, settings)
        time.sleep(1.5 + 2.5 * chance.random())
        process.kill()
        process.communicate()
    feeder.join()
    process = start(tmp_path, pipe, settings)
    until(lambda: pipe.lag() == 0)
    code, document = end(process)
    assert (code, document["rejected"]) == (0, {}), (tmp_path / "said.txt").read_text()
    with stores.open(f"chdb:{tmp_path / 'store'}") as store:
        assert seqs(store) == loaded.seqs
        Rounds(store, 0).next()  # as the next process would go on
        assert content(store) == loaded.content


def test_told_to_end_it_stores_and_commits_what_it_holds(tmp_path: Path, pipe: Pipe, loaded: Any) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    process = start(tmp_path, pipe, "block_age_ms = 600000\n", "--metrics", address)
    pipe.send(loaded.rows)
    messages = sum(1 for _ in loaded.rows)

    def taken() -> bool:
        try:
            text = urllib.request.urlopen(f"http://{address}/metrics").read().decode()
        except OSError:
            return False
        lines = [line for line in text.splitlines() if line.startswith("quiclens_ingest_messages_total{")]
        return sum(float(line.split()[-1]) for line in lines) == messages

    until(taken)
    with urllib.request.urlopen(f"http://{address}/metrics") as answer:
        assert f'quiclens_ingest_build_info{{version="{VERSION}"}} 1.0' in answer.read().decode()
    with urllib.request.urlopen(f"http://{address}/healthz") as answer:
        assert json.load(answer)["ok"] is True
    assert pipe.lag() == messages
    code, document = end(process)
    assert code == 0
    assert document["messages"] == messages
    assert pipe.lag() == 0
    with stores.open(f"chdb:{tmp_path / 'store'}") as store:
        assert seqs(store) == loaded.seqs


def test_without_a_broker_it_waits_and_can_be_told_to_end(tmp_path: Path, pipe: Pipe) -> None:
    process = start(tmp_path, pipe, "", "--brokers", "127.0.0.1:1")
    until(lambda: "no broker answers" in (tmp_path / "said.txt").read_text())
    code, document = end(process)
    assert (code, document["messages"]) == (0, 0)


def test_an_unknown_setting_is_a_usage_error(tmp_path: Path, pipe: Pipe) -> None:
    process = start(tmp_path, pipe, "block_row = 1\n")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "unknown settings: block_row" in json.loads(out)["error"]["message"]
