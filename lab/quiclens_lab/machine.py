"""What a kept figure is worth: the machine, the commit, the binary; and the folder in which it is kept."""

import hashlib
import json
import os
import platform
import resource
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quiclens_lab.errors import LabError

LAB = Path(__file__).resolve().parent.parent


def machine() -> dict[str, Any]:
    """The processor, the memory and the system."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor()
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "system": platform.platform(),
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    }


def commit() -> str:
    """The short name of the checked-out commit, with a plus sign when files differ from it."""
    done = subprocess.run(
        ["git", "-C", str(LAB), "describe", "--always", "--dirty=+"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def code_of(tree: Path, places: Sequence[str]) -> str:
    """A short hash of the files at or below these places of a source tree: figures of one hash are of one code.

    Bugs to be planted are no part of it.
    """
    files = []
    for place in places:
        path = tree / place
        if not path.exists():
            raise LabError(f"no {path}: what is hashed as code is not all there")
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        files += [
            each
            for each in inside
            if each.is_file() and each.name != "plants.toml" and not {"target", "__pycache__"} & set(each.parts)
        ]
    return hash_of(tree, files)


def hash_of(tree: Path, files: Iterable[Path]) -> str:
    """A short hash of files of a source tree, their names and what is in them."""
    found = hashlib.sha256()
    for path in files:
        found.update(f"{path.relative_to(tree)}\0".encode() + path.read_bytes())
    return found.hexdigest()[:12]


def collector_binary() -> Path:
    """The collector that judges: QUICLENS_COLLECTOR, else what `make` builds."""
    return Path(os.environ.get("QUICLENS_COLLECTOR", LAB.parent / "target" / "release" / "quiclens-collector"))


def judged(name: str, found: Mapping[str, Any], passes: bool, keep: bool, kind: str = "bench-runs") -> dict[str, Any]:
    """The document of a bar: what was found, of which commit, on which machine; also kept among the runs of its kind,
    where that is asked."""
    document = {"commit": commit(), "machine": machine(), **found, "passes": passes}
    if keep:
        keep_document(kind, name, document)
    return document


def keep_document(kind: str, name: str, document: Mapping[str, Any]) -> None:
    """Write what a run found as `<name>.json` into the folder of its kind."""
    text = json.dumps(document, indent=1) + "\n"
    (kept_folder(kind) / f"{name}.json").write_text(text, encoding="utf-8")


def kept_folder(kind: str) -> Path:
    """Make and return `lab/<kind>/<date>-<machine>`."""
    kept = LAB / kind / f"{time.strftime('%Y-%m-%d')}-{platform.machine()}-{os.cpu_count()}-cores"
    kept.mkdir(parents=True, exist_ok=True)
    return kept
