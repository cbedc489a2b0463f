"""The judge: calls the collector's binary on many traces at once and reads back its rows."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from quiclens_schema.catalogue import CAUSES

from quiclens_lab.errors import LabError
from quiclens_lab.truth.samples import Row

CONNECTION = '{"table":"connections"'
STREAM = '{"table":"streams"'
NAMED = "causes"
"""The column of the causes that an answer names. The catalogue has none yet: until then every answer names one."""


@contextmanager
def frozen(collector: Path) -> Iterator[Path]:
    """A copy of the binary for the length of a run: who rebuilds it meanwhile must not change the judge."""
    if not collector.is_file():
        raise LabError(f"no collector at {collector}; `make setup` builds it, or set QUICLENS_COLLECTOR")
    with tempfile.TemporaryDirectory(prefix="quiclens-judge-") as folder:
        yield Path(shutil.copy2(collector, folder))


def identity(collector: Path) -> str:
    """The SHA-256 of a binary: figures belong to it, not to the commit beside it."""
    return sha256(collector.read_bytes()).hexdigest()


@contextmanager
def summaries(collector: Path, paths: Sequence[Path], longest_s: float | None = None) -> Iterator[Iterable[str]]:
    """The lines that the collector prints about the files below these paths; an error where that takes longer."""
    command = [str(collector), "dump", *map(str, paths), "--room", "summaries"]
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as said:
        try:
            status = subprocess.run(command, stdout=printed, stderr=said, check=False, timeout=longest_s).returncode
        except subprocess.TimeoutExpired as error:
            raise LabError(f"{collector.name} hangs with one of {len(paths)} logs below {paths[0].parent}") from error
        said.seek(0)
        if status != 0:
            lines = said.read().splitlines() or ["no message"]
            raise LabError(f"{collector.name} dump ended with {status}: {lines[-1]}")
        printed.seek(0)
        yield printed


def judge(collector: Path, paths: Sequence[Path]) -> dict[Path, list[Row]]:
    """Every request row of the files below these paths, by file."""
    with summaries(collector, paths) as lines:
        return rows_by_file(lines)


def rows_by_file(lines: Iterable[str]) -> dict[Path, list[Row]]:
    """Sort the rows of a dump by file: it prints a file's connections, with its name, before their streams.

    Ids do not tell runs apart: the same seed gives the same connection with and without a cause.
    """
    found: dict[Path, list[Row]] = {}
    current: list[Row] = []
    for line in lines:
        if line.startswith(CONNECTION):
            current = found.setdefault(Path(json.loads(line)["row"]["source_file"]), [])
        elif line.startswith(STREAM):
            current.append(_row(json.loads(line)["row"]))
    return found


def _row(row: dict[str, Any]) -> Row:
    """One line of the dump. A row without an end lasts 0 us, is not complete, and is counted as missing."""
    is_whole = row["duration_us"] is not None and row["end_us"] is not None
    return Row(
        connection_id=row["connection_id"],
        vantage=row["vantage"],
        stream_id=row["stream_id"],
        start_us=row["start_us"],
        end_us=row["end_us"] if is_whole else row["start_us"],
        duration_us=row["duration_us"] if is_whole else 0,
        is_complete=row["complete"] and is_whole,
        min_rtt_us=row["min_rtt_us"],
        parts={cause: row.get(f"{cause}_us") or 0 for cause in CAUSES},
        saves={cause: saving for cause, saving in (row.get("saves") or {}).items() if saving is not None},
        named=tuple(row.get(NAMED) or ()),
    )
