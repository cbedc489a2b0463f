"""`make up` and `make down`: twice in a row, beside another, and where the port is taken."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from quiclens_ingest.broker import BrokerMissing, fetch_jars

from quiclens_lab import system
from quiclens_lab.errors import LabError
from quiclens_lab.machine import collector_binary


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["system", *words])
    return system.main()


def test_a_port_that_is_taken_is_said_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        assert run(monkeypatch, "up", "--dir", str(tmp_path / "live"), "--listen", listen) == 3
    said = capsys.readouterr()
    assert f"cannot listen at {listen}: Address already in use" in said.err.splitlines()[0]
    assert not (tmp_path / "live").exists()


def test_down_where_nothing_runs_is_done(tmp_path: Path) -> None:
    assert system.down(tmp_path / "nothing") == {"ended": []}


def test_a_start_that_was_cut_short_is_not_taken_for_a_running_system(tmp_path: Path) -> None:
    here = {"name": "serve", "pid": os.getpid(), "words": sys.argv[:1]}
    (tmp_path / "system.json").write_text(json.dumps({"processes": [here], "broker": str(tmp_path / "broker")}))
    with pytest.raises(LabError, match="stopped while it started"):
        system.up(tmp_path, "127.0.0.1:0")


def as_a_program(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "quiclens_lab.system", *words], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A system that runs, in a folder with a space in its name."""
    try:
        fetch_jars()
    except BrokerMissing as missing:
        pytest.skip(f"no broker: {missing}")
    if not collector_binary().exists():
        pytest.skip("no quiclens-collector: cargo build --release")
    folder = tmp_path_factory.mktemp("live") / "two words"
    done = as_a_program("up", "--dir", str(folder), "--listen", "127.0.0.1:0")
    assert done.returncode == 0, done.stderr
    assert f"--store 'chdb:{folder}/store'" in done.stderr
    yield folder
    ended = json.loads(as_a_program("down", "--dir", str(folder)).stdout)["ended"]
    assert sorted(ended) == ["broker", "collector", "ingest", "serve", "server"]


@pytest.mark.kafka
def test_up_again_leaves_what_runs_and_starts_what_has_ended(folder: Path) -> None:
    pids = {name: system.pid_of(folder, name) for name in ("broker", "serve", "ingest", "server")}
    killed = system.pid_of(folder, "collector")
    os.kill(killed, signal.SIGKILL)
    done = as_a_program("up", "--dir", str(folder))
    assert done.returncode == 0, done.stderr
    assert {name: system.pid_of(folder, name) for name in pids} == pids
    assert system.pid_of(folder, "collector") != killed


@pytest.mark.kafka
def test_another_system_cannot_take_the_port_of_one_that_runs(folder: Path, tmp_path: Path) -> None:
    listen = json.loads((folder / "system.json").read_text())["answers"]["serve"].removeprefix("http://")
    done = as_a_program("up", "--dir", str(tmp_path / "other"), "--listen", listen)
    assert (done.returncode, done.stdout) == (3, "")
    assert system.is_running(folder)
