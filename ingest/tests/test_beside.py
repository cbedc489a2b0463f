"""`quiclens serve --ingest-config`: what takes from Kafka lives and ends with the process that holds the store."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from quiclens_ingest.beside import Beside
from quiclens_ingest.settings import IngestSettings
from quiclens_schema import store as stores
from taking import Pipe, free_address, seqs, sliced, until

Process = subprocess.Popen[bytes]


@contextmanager
def serving(folder: Path, pipe: Pipe, settings: str = "", metrics: str = "") -> Iterator[tuple[Process, str]]:
    """The process, and where it answers, once it does; killed afterwards if it still runs."""
    config = folder / "ingest.toml"
    config.write_text(f'brokers = "{pipe.brokers}"\ngroup = "{pipe.group}"\nmetrics_address = "{metrics}"\n{settings}')
    words = [sys.executable, "-m", "quiclens_command_line", "serve", "--listen", "127.0.0.1:0", "--json"]
    with (folder / "said.txt").open("ab") as said:
        process = subprocess.Popen(
            [*words, "--store", f"chdb:{folder / 'store'}", "--ingest-config", str(config)],
            stdout=subprocess.PIPE,
            stderr=said,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
    with process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())["url"]
        finally:
            process.kill()


def children(pid: int) -> Iterator[tuple[int, str]]:
    """The processes below one: their ids and command lines."""
    for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with_what = Path(f"/proc/{each}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        yield int(each), with_what
        yield from children(int(each))


def taker(process: Process) -> int:
    """The process that takes, once there is one."""
    found: list[int] = []

    def is_there() -> bool:
        found[:] = [pid for pid, words in children(process.pid) if words.strip().endswith("beside take")]
        return bool(found)

    until(is_there)
    return found[0]


def is_gone(pid: int) -> bool:
    """It has ended, whether or not its new parent has asked for its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def messages_taken(address: str) -> float:
    try:
        text = urllib.request.urlopen(f"http://{address}/metrics").read().decode()
    except OSError:
        return 0
    lines = [line for line in text.splitlines() if line.startswith("quiclens_ingest_messages_total{")]
    return sum(float(line.split()[-1]) for line in lines)


@pytest.mark.long
@pytest.mark.kafka
def test_one_command_takes_serves_and_ends_with_all_that_it_took(tmp_path: Path, pipe: Pipe, loaded: Any) -> None:
    small = sliced(loaded.rows, 3)
    half = len(small) // 2
    with serving(tmp_path, pipe, "block_age_ms = 50\n") as (process, url):
        pipe.send(small[:half])
        until(lambda: pipe.lag() == 0)
        first = taker(process)
        os.kill(first, signal.SIGKILL)
        pipe.send(small[half:])
        until(lambda: pipe.lag() == 0)
        second = taker(process)
        assert second != first
        for pid in (second, *(pid for pid, _ in children(process.pid))):
            os.kill(pid, signal.SIGHUP)  # as a terminal that closes does
        assert json.loads(urllib.request.urlopen(f"{url}/healthz").read()) == {"ok": True}
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert is_gone(second)
        assert "ingest ended with signal 9 and is started again" in (tmp_path / "said.txt").read_text()
    with stores.open(f"chdb:{tmp_path / 'store'}") as store:
        assert seqs(store) == loaded.seqs


@pytest.mark.kafka
def test_told_to_end_it_stores_what_it_holds_before_the_store_is_closed(
    tmp_path: Path, pipe: Pipe, loaded: Any
) -> None:
    metrics = free_address()
    with serving(tmp_path, pipe, "block_age_ms = 600000\n", metrics) as (process, _):
        pipe.send(loaded.rows)
        until(lambda: messages_taken(metrics) == len(loaded.rows))
        assert pipe.lag() == len(loaded.rows)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert pipe.lag() == 0
    with stores.open(f"chdb:{tmp_path / 'store'}") as store:
        assert seqs(store) == loaded.seqs


@pytest.mark.kafka
def test_a_parent_that_is_killed_takes_it_along(tmp_path: Path, pipe: Pipe) -> None:
    with serving(tmp_path, pipe) as (process, _):
        below = [taker(process), *(pid for pid, _ in children(process.pid))]
        process.kill()
        process.wait(60)
        until(lambda: all(map(is_gone, below)))


def test_what_takes_has_none_of_the_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUICLENS_SERVE_TOKEN", "a-token-of-the-server")
    beside = Beside(IngestSettings())
    environment = Path(f"/proc/{beside._process.pid}/environ")
    try:
        until(lambda: b"PATH=" in environment.read_bytes())  # empty while the kernel makes the process
        found = environment.read_bytes()
    finally:
        beside.close()
    assert b"a-token-of-the-server" not in found


def test_one_that_ended_makes_the_process_unwell() -> None:
    beside = Beside(IngestSettings())
    assert beside.unwell() == []
    beside.close()
    assert beside.unwell() == ["ingest has ended"]
