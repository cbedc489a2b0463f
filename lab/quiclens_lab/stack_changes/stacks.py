"""quic-go in virtual time: of a version, or of one with a change planted; and the folders of logs that it writes."""

import json
import shutil
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from quiclens_lab.errors import CannotTryError, LabError
from quiclens_lab.fuzzing.plants import plant_in
from quiclens_lab.machine import LAB

QUICGO = LAB / "quicgo"
VERSIONS = ("0.61.0", "0.62.0", "0.63.0", "0.64.1")
"""Before the one of `go.mod`; `versions/` has a file of each."""
NEWEST = "0.65.0"
_MODULE = "github.com/quic-go/quic-go"
_PLANTED = Path(__file__).with_name("planted.toml")


@dataclass(frozen=True)
class PlantedChange:
    """A change of quic-go, the work that shows it, and what it does to requests."""

    name: str
    file: str
    old: str
    new: str
    scenarios: tuple[str, ...]
    causes: tuple[str, ...]
    becomes: Literal["slower", "faster"]
    script: str = "constant"


def planted_changes() -> list[PlantedChange]:
    """All of `planted.toml`."""
    return TypeAdapter(list[PlantedChange]).validate_python(tomllib.loads(_PLANTED.read_text())["change"])


@dataclass(frozen=True)
class QuicGo:
    """A generator of logs, built."""

    binary: Path

    def write(
        self, into: Path, scenarios: Sequence[str], scripts: Sequence[str], seeds: range, jitter_seed: int
    ) -> None:
        """A connection of each scenario, script and seed; the folder is made anew."""
        shutil.rmtree(into, ignore_errors=True)
        options = {
            "out": str(into),
            "scenarios": ",".join(scenarios),
            "scripts": ",".join(scripts),
            "seeds": f"{seeds.start}-{seeds.stop - 1}",
            "variants": "with",
            "jitter-seed": str(jitter_seed),
        }
        given = [word for name, value in options.items() for word in (f"-{name}", value)]
        _run([str(self.binary), "-test.run", "^TestGenerate$", *given], into.parent)


def build_version(version: str, into: Path) -> QuicGo:
    """The generator with this version of quic-go."""
    older = [] if version == NEWEST else ["-modfile", f"versions/v{version}.mod", "-tags", "before_0_65"]
    binary = into / f"quic-go-{version}"
    _run(["go", "test", "-c", *older, "-o", str(binary), "."], QUICGO)
    return QuicGo(binary)


def build_planted(changes: Sequence[PlantedChange], into: Path) -> list[QuicGo]:
    """A generator for each change, of a copy of quic-go's newest version into which it is planted."""
    if not changes:
        return []
    _run(["go", "mod", "download", _MODULE], QUICGO)
    original = Path(json.loads(_run(["go", "list", "-m", "-json", _MODULE], QUICGO))["Dir"])
    copy = into / "source"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(original, copy, copy_function=shutil.copyfile)  # those of the module cache are read-only
    copy.chmod(0o755)
    for folder in copy.rglob("*"):
        if folder.is_dir():
            folder.chmod(0o755)
    module = into / "planted.mod"
    module.write_text((QUICGO / "go.mod").read_text() + f"\nreplace {_MODULE} => {copy}\n")
    shutil.copy(QUICGO / "go.sum", module.with_suffix(".sum"))
    built = [_build_one(change, copy, module, into / f"planted-{at}") for at, change in enumerate(changes)]
    shutil.rmtree(copy)
    return built


def _build_one(change: PlantedChange, copy: Path, module: Path, binary: Path) -> QuicGo:
    place = copy / change.file
    text = place.read_text()
    plant_in(copy, change)
    _run(["go", "test", "-c", "-modfile", str(module), "-o", str(binary), "."], QUICGO)
    place.write_text(text)
    return QuicGo(binary)


def _run(command: Sequence[str], where: Path) -> str:
    """What a program prints; it must end well."""
    try:
        done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise CannotTryError(f"{command[0]} is not installed: {error}") from error
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise LabError(f"{' '.join(command[:3])} ended with {done.returncode}: {' '.join(last)}")
    return done.stdout
