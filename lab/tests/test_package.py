"""The wheel of lab holds all that its commands need: an installed quiclens has no checkout beside it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "quiclens_lab"


@pytest.mark.parametrize("command", ["demo", "truth", "damage"])
def test_a_command_begins_without_a_checkout(tmp_path: Path, command: str) -> None:
    shutil.copytree(PACKAGE, tmp_path / "quiclens_lab")
    ran = subprocess.run(
        [sys.executable, "-m", "quiclens_lab", command, "--help"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    where = [sys.executable, "-c", "import quiclens_lab; print(quiclens_lab.__file__)"]
    found = subprocess.run(where, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()
    assert Path(found).parent == tmp_path / "quiclens_lab"
