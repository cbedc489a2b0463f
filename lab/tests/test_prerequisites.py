"""`make demo` on a machine that lacks what it needs says all of it in one line, before anything is built."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What every machine has, and what is not looked for.
COMMON = ("bash", "sh", "make", "mkdir", "touch", "cut", "sort", "head", "printf", "sed", "find", "grep", "git")
NEEDED = ("cargo", "rustc", "node", "npm", "cc", "perl", "python3")


def told(folder: Path, tools: tuple[str, ...]) -> tuple[int, list[str]]:
    """How the check ends where only these tools are, and what it says."""
    (folder / "bin").mkdir()
    for tool in tools:
        if found := sys.executable if tool == "python3" else shutil.which(tool):
            (folder / "bin" / tool).write_text(f'#!/bin/bash\nexec {found} "$@"\n')
            (folder / "bin" / tool).chmod(0o755)
    # The stamp is elsewhere: the check runs, whatever was checked before.
    words = ["make", "--no-print-directory", "-C", str(ROOT), f"MADE={folder}/made", f"{folder}/made/prerequisites"]
    environment = {**os.environ, "PATH": str(folder / "bin"), "MAKEFLAGS": ""}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, [line for line in done.stderr.splitlines() if "missing on" in line]


def test_all_that_is_missing_is_said_in_one_line(tmp_path: Path) -> None:
    status, said = told(tmp_path, COMMON)
    assert status != 0
    assert len(said) == 1
    for name in ("python >= 3.11", "venv", "cargo", "node", "npm", "cc", "perl", "rust >= "):
        assert name in said[0]


@pytest.mark.parametrize("lacking", NEEDED)
def test_one_that_is_missing_is_named_alone(tmp_path: Path, lacking: str) -> None:
    status, said = told(tmp_path, COMMON + tuple(tool for tool in NEEDED if tool != lacking))
    name = {"rustc": "rust >= ", "python3": "python >= 3.11"}.get(lacking, lacking)
    assert status != 0
    assert len(said) == 1
    assert name in said[0]
    others = {tool for tool in NEEDED if tool not in (lacking, "rustc", "python3")}
    assert not [tool for tool in others if f" {tool}," in said[0] + ","]


def test_a_machine_that_has_all_goes_on(tmp_path: Path) -> None:
    assert told(tmp_path, COMMON + NEEDED) == (0, [])
