"""Judged runs that are kept while a truth run is under way: who ends it goes on where it was.

What is kept belongs to one judge and one maker: another collector, another generator or other sources of the lab begin
anew, and what was kept for another collector is removed.
"""

import shutil
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from pydantic import TypeAdapter

from quiclens_lab.errors import LabError
from quiclens_lab.machine import LAB, hash_of
from quiclens_lab.truth.samples import Judged

SHOWN = 16  # of a hash, in a file's name
_RUNS = TypeAdapter(list[Judged])
MAKERS = ("injectors", "job_lists", "runs", "samples", "kept_runs", "collector")


class KeptRuns:
    """A folder of judged runs for one judge. Without a folder nothing is kept."""

    def __init__(self, folder: Path | None, judge: str) -> None:
        self._folder = None if folder is None else folder / judge[:SHOWN]
        if self._folder is not None:
            for other in folder.iterdir() if folder is not None and folder.is_dir() else ():
                if other.is_dir() and other != self._folder:
                    shutil.rmtree(other)
            self._folder.mkdir(parents=True, exist_ok=True)

    def get(self, what: str) -> list[Judged] | None:
        """What was kept under this name, or None."""
        file = self._file(what)
        if file is None or not file.is_file():
            return None
        try:
            return _RUNS.validate_json(file.read_bytes())
        except ValueError as error:
            raise LabError(f"{file} is damaged: {type(error).__name__} {error}; remove it") from error

    def put(self, what: str, judged: Sequence[Judged]) -> None:
        """Keep runs under this name: all of them or none."""
        file = self._file(what)
        if file is None:
            return
        draft = file.with_suffix(".draft")
        draft.write_bytes(_RUNS.dump_json(list(judged)))
        draft.replace(file)

    def _file(self, what: str) -> Path | None:
        return None if self._folder is None else self._folder / f"{sha256(what.encode()).hexdigest()[:SHOWN]}.json"


@cache
def own_code() -> str:
    """A hash of what simulates and judges aioquic's runs."""
    here = LAB / "quiclens_lab"
    return hash_of(LAB, [*sorted(here.glob("*.py")), *(here / "truth" / f"{name}.py" for name in MAKERS)])
