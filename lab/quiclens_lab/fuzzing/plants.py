"""Planted bugs: is each found, and how soon? A plant replaces one text in the product's code, in a copy of the tree.

Each begins with the seeds alone, without what earlier runs found. A finding counts when the code without the plant
takes the same input.
"""

import shutil
import subprocess
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from quiclens_lab.errors import LabError
from quiclens_lab.fuzzing import command, engine, seeds, words
from quiclens_lab.fuzzing.targets import FuzzTarget, named
from quiclens_lab.machine import commit, machine
from quiclens_lab.progress import say

PLANTS = command.FUZZ / "plants.toml"


class Replacement(Protocol):
    """In `file`, `old`, which stands there once, becomes `new`."""

    @property
    def name(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def old(self) -> str: ...
    @property
    def new(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Plant:
    """One bug: in `file`, `old`, which stands there once, becomes `new`."""

    name: str
    target: str
    file: str
    old: str
    new: str


def planted(only: list[str], seconds: int, keep: bool) -> dict[str, Any]:
    """Plant each bug and fuzz its target for at most `seconds`; `plants_pass` is false when one is not found, or was
    left out."""
    plants = [plant for plant in read() if not only or plant.name in only]
    folder = command.MADE / "plants"
    tree, into = folder / "tree", command.ROOT / "target" / "fuzz-plants"
    copy_tree(tree)
    for plant in plants:
        plant_in(tree, plant)  # all of them fit before the first is tried
        copy_tree(tree)
    words.write(folder / "words.dict")
    clean = command.build(sorted({plant.target for plant in plants}), tree / "collectors" / "fuzz", into)
    kept = folder / "clean"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    for name in {plant.target for plant in plants}:
        shutil.copy(clean / name, kept / name)
    rows = []
    for plant in plants:
        rows.append(_try(plant, tree, folder, kept, seconds))
        say(f"{plant.name:<48}{plant.target:<16}{rows[-1]['seconds']:>8}  {rows[-1]['outcome']}")
    shutil.rmtree(tree)
    document = {"commit": commit(), "machine": machine(), **verdict(rows, read()), "plants": rows}
    if keep:
        command.keep(document)
    return document | {"passes": document["plants_pass"]}


def verdict(rows: list[dict[str, Any]], plants: list[Plant]) -> dict[str, Any]:
    """Whether each of these plants is found, and which is not. A name of its own: the targets have a verdict too, which
    is kept beside it."""
    outcomes = {row["plant"]: row["outcome"] for row in rows}
    told = [(plant.name, outcomes.get(plant.name, "not tried")) for plant in plants]
    missed = [f"{name}: {outcome}" for name, outcome in told if outcome != "found"]
    return {"plants_missed": missed, "plants_pass": not missed}


def read() -> list[Plant]:
    """The plants of `collectors/fuzz/plants.toml`."""
    return [Plant(**plant) for plant in tomllib.loads(PLANTS.read_text())["plant"]]


def copy_tree(tree: Path) -> None:
    """What the fuzz targets are built of, as it stands in the working tree; unchanged files keep their times."""
    tree.mkdir(parents=True, exist_ok=True)
    names = ["Cargo.toml", "collectors", "schema/catalogue", "schema/topics"]
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *names],
        cwd=command.ROOT,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        source, target = command.ROOT / name, tree / name
        if not name or not source.is_file():
            continue
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def plant_in(tree: Path, plant: Replacement) -> None:
    """Plant one change; LabError when its text is not there, or more than once."""
    path = tree / plant.file
    text = path.read_text() if path.exists() else ""
    if text.count(plant.old) != 1:
        raise LabError(f"plant {plant.name!r}: its text stands {text.count(plant.old)} times in {plant.file}")
    path.write_text(text.replace(plant.old, plant.new))


def _try(plant: Plant, tree: Path, folder: Path, clean: Path, seconds: int) -> dict[str, Any]:
    (target,) = named([plant.target])
    plant_in(tree, plant)
    try:
        binaries = command.build([plant.target], tree / "collectors" / "fuzz", command.ROOT / "target" / "fuzz-plants")
    finally:
        copy_tree(tree)
    place = folder / plant.name
    shutil.rmtree(place, ignore_errors=True)
    seeds.write(target, place / "seeds")
    began = time.monotonic()
    turn = command.one(target, {"max_total_time": seconds}, 0, place, binaries)
    passed = time.monotonic() - began
    outcome = "not found" if turn.found is None else "found"
    if turn.found is not None and not _takes(clean, target, turn.found):
        outcome = "found without the plant"
    return {
        "plant": plant.name,
        "target": plant.target,
        "outcome": outcome,
        "seconds": round(passed, 1),
        "cpu_s": turn.cpu_s,
        "executions": turn.executions,
        "said": turn.said[:200],
    }


def _takes(binaries: Path, target: FuzzTarget, found: Path) -> bool:
    """Whether the code without a plant takes the input."""
    arguments = [*command.command_of(target, binaries), f"-timeout={engine.TIMEOUT_S}", str(found)]
    return subprocess.run(arguments, capture_output=True, check=False).returncode == 0
