"""One store for all tests: the embedded engine takes one folder per process. Its rows are in api_seed.py."""

import os
import stat
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from quiclens_command_line.main import main

sys.path.insert(0, str(Path(__file__).parent))  # pytest's importlib mode leaves a test folder's own modules out

from api_ran import Ran, Run
from api_seed import TABLES
from serve_process import Served, start
from store_rows import fill


@pytest.fixture(scope="session")
def store_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("store")
    fill(folder, TABLES)
    return f"chdb:{folder}"


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A store that is served to this machine without tokens."""
    running = start(tmp_path_factory.mktemp("served") / "store")
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A store that is served to whoever has a token: `write` may write, `read` may read, `upload` may upload."""
    tokens = {
        variable: f"sha256:{sha256(token.encode()).hexdigest()}"
        for variable, token in (("QUICLENS_SERVE_TOKEN", "write"), ("QUICLENS_SERVE_READ_TOKEN", "read"))
    }
    running = start(tmp_path_factory.mktemp("guarded") / "store", **tokens)
    yield running
    assert running.stop() == 0


@pytest.fixture
def run(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command against the seeded store, as a user with an empty environment would."""
    monkeypatch.setenv("QUICLENS_STORE", store_url)
    monkeypatch.delenv("QUICLENS_COLLECTOR", raising=False)

    def run_now(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main(arguments)
        written = capsys.readouterr()
        return Ran(code, written.out, written.err)

    return run_now


@pytest.fixture
def fake_collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """Make the commands run a script of ours instead of the collector."""

    def make(body: str) -> Path:
        program = tmp_path / "quiclens-collector"
        program.write_text(f"#!/usr/bin/env python3\nimport sys\n{body}\n", encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("QUICLENS_COLLECTOR", os.fspath(program))
        return program

    yield make
