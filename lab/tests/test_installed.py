"""What `make release-check` does to a machine is a script that a shell takes; a secret is found where it is told."""

import subprocess
from pathlib import Path

import pytest

from quiclens_lab import installed
from quiclens_lab.errors import LabError


def test_the_script_is_one_that_a_shell_takes_and_plants_the_secret() -> None:
    done = subprocess.run(["bash", "-n"], input=installed._SERVICE, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert installed._SERVICE.count(installed._SECRET) == 3


def test_a_secret_that_is_told_is_found_and_silence_is_no_proof(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="said nothing"):
        installed.telling(tmp_path)
    for name in ("check", "journal", "show", "status"):
        (tmp_path / f"{name}.txt").write_text("sink_away http://writer:[redacted]@127.0.0.1:9\n")
    assert installed.telling(tmp_path) == []
    (tmp_path / "journal.txt").write_text(f"sink_away http://writer:{installed._SECRET}@127.0.0.1:9\n")
    assert installed.telling(tmp_path) == ["journal"]
