"""Stores as the migrations make them, each a copy of one that is made once: to make one takes as long as a test."""

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

_MAKE = """
import sys
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate

with stores.open(f"chdb:{sys.argv[1]}") as store:
    migrate(store)
"""


def migrated(folder: Path) -> None:
    """Make a store in a folder; where that is there, it stays as it is."""
    if not folder.exists():
        shutil.copytree(Path(_made().name) / "store", folder, symlinks=True)


@cache
def _made() -> "TemporaryDirectory[str]":
    """By a process of its own: in this one the engine may have another store open."""
    folder = TemporaryDirectory(prefix="migrated-")
    subprocess.run([sys.executable, "-c", _MAKE, f"{folder.name}/store"], check=True)
    return folder
