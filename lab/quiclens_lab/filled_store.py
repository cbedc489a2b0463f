"""Stores that take long to fill, kept for the next run."""

import json
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from quiclens_lab.machine import LAB, hash_of


def filled_store(made: Path, name: str, sources: Iterable[Path], fill: Callable[[Path], None]) -> Path:
    """The store that `fill` makes as `store` in the folder that it is given: made once for what these sources, linking
    and the tables are. One of other sources is removed."""
    ingest = sorted((LAB.parent / "ingest" / "quiclens_ingest").rglob("*.sql"))
    migrations = sorted((LAB.parent / "schema" / "clickhouse" / "migrations").glob("*.sql"))
    place = made / f"{name}-{hash_of(LAB.parent, [*sources, *ingest, *migrations])}"
    done = place / "filled.json"
    if not done.exists():
        shutil.rmtree(made, ignore_errors=True)
        place.mkdir(parents=True)
        begun = time.monotonic()
        fill(place)
        done.write_text(json.dumps({"seconds": round(time.monotonic() - begun, 1)}))
    return place / "store"
