"""What several tests need: a folder's traces and its access log, read back."""

import json
from pathlib import Path
from typing import Any

import pytest

from quiclens_lab.demo import make_folder
from quiclens_lab.population import population


def read_trace(file: Path) -> dict[str, Any]:
    """The one trace of a contained qlog document."""
    content = json.loads(file.read_text())
    assert content["qlog_version"] == "0.3"
    (trace,) = content["traces"]
    return dict(trace)


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The lines of a folder's access log."""
    return [json.loads(line) for line in (folder / "access.jsonl").read_text().splitlines()]


@pytest.fixture(scope="session")
def small_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo of forty connections."""
    folder = tmp_path_factory.mktemp("demo")
    make_folder(population(40, seed=3), folder, with_client_traces=True, with_h2_lines=True)
    return folder
