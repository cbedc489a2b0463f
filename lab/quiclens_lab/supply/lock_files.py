"""Packages as lock files name them. Every lock file of the tree is read; one of a kind that cannot be is an error.

Ecosystems are named as OSV names them: https://ossf.github.io/osv-schema/#defined-ecosystems.
"""

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from quiclens_lab.errors import LabError

_NOT_OURS = {".git", ".venv", ".tools", ".made", "target", "node_modules", "__pycache__", "vectors"}
_FOREIGN = {"yarn.lock", "pnpm-lock.yaml", "poetry.lock", "Pipfile.lock", "pdm.lock", "bun.lock", "gradle.lockfile"}
_CRATES = "registry+https://github.com/rust-lang/crates.io-index"


@dataclass(frozen=True, slots=True)
class Package:
    """A version of somebody else's package, and the lock file that has it.

    `hashes` are as the lock file has them. `origin` is empty for the ecosystem's own registry, else what the lock file
    says in its place. `is_needed_here` is false where the lock file has it for other machines alone.
    """

    ecosystem: str
    name: str
    version: str
    lock: str
    hashes: tuple[str, ...] = ()
    origin: str = ""
    licence: str = ""
    is_needed_here: bool = True

    def __str__(self) -> str:
        return f"{self.ecosystem} {self.name} {self.version} ({self.lock})"


def packages(root: Path) -> list[Package]:
    """Those of every lock file below a folder, by lock file. LabError for a lock file that cannot be read."""
    found = []
    for path in sorted(_lock_files(root)):
        where = str(path.relative_to(root))
        try:
            found += _reader(path.name)(path, where)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise LabError(f"{where} cannot be read: {error!r}") from error
    return found


def _lock_files(root: Path) -> Iterator[Path]:
    for folder, below, names in os.walk(root):
        below[:] = [each for each in below if each not in _NOT_OURS]
        for name in names:
            if name in _FOREIGN:
                raise LabError(f"{Path(folder, name)}: nothing here reads such a lock file")
            if name in _READERS or name.endswith("requirements.lock"):
                yield Path(folder, name)


def _reader(name: str) -> Callable[[Path, str], list[Package]]:
    return _READERS.get(name, _requirements)


def _cargo(path: Path, where: str) -> list[Package]:
    found = []
    for each in tomllib.loads(path.read_text(encoding="utf-8"))["package"]:
        source = each.get("source")
        if source is None:  # a crate of this tree
            continue
        hashes = (f"sha256:{each['checksum']}",) if "checksum" in each else ()
        origin = "" if source == _CRATES else source
        found.append(Package("crates.io", each["name"], each["version"], where, hashes, origin))
    return found


_HASH = re.compile(r"--hash=(\S+)")
_OPTION = re.compile(r"^-\S+ .*")


def _requirements(path: Path, where: str) -> list[Package]:
    found = []
    joined = path.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in joined.splitlines():
        line = line.split("#")[0].strip() if not line.strip().startswith("#") else ""
        if not line:
            continue
        if _OPTION.match(line):
            raise ValueError(f"{line!r} is an option, where only requirements may be")
        requirement = Requirement(line.split("--hash=")[0].strip())
        pins = [each.version for each in requirement.specifier if each.operator == "=="]
        marker: Marker | None = requirement.marker
        found.append(
            Package(
                "PyPI",
                canonicalize_name(requirement.name),
                pins[0] if len(pins) == 1 else "",
                where,
                tuple(_HASH.findall(line)),
                requirement.url or "",
                is_needed_here=marker is None or marker.evaluate(),
            )
        )
    return found


def _npm(path: Path, where: str) -> list[Package]:
    found = []
    for place, each in json.loads(path.read_text(encoding="utf-8"))["packages"].items():
        if not place:
            continue
        name = each.get("name") or place.rpartition("node_modules/")[2]
        hashes = (each["integrity"],) if "integrity" in each else ()
        origin = "" if not each.get("link") else "a link"
        found.append(
            Package(
                "npm", name, each["version"], where, hashes, each.get("resolved", origin), str(each.get("license", ""))
            )
        )
    return found


_REQUIRED = re.compile(r"^(?:require\s+|\t)(\S+) (v\S+)(?: // indirect)?$", re.MULTILINE)
_REPLACED = re.compile(r"^replace\b.*", re.MULTILINE)


def _go(path: Path, where: str) -> list[Package]:
    text = path.read_text(encoding="utf-8")
    replaced = _REPLACED.search(text)
    sums = path.with_name("go.sum")
    known = dict[tuple[str, str], str]()
    if sums.exists():
        for line in sums.read_text(encoding="utf-8").splitlines():
            name, version, digest = line.split(" ")
            known[name, version] = digest
    origin = replaced[0] if replaced else ""
    return [
        Package("Go", name, version, where, (known[name, version],) if (name, version) in known else (), origin)
        for name, version in _REQUIRED.findall(text)
    ]


def _jars(path: Path, where: str) -> list[Package]:
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        digest, coordinates, licence = line.split("\t")
        group, artifact, version = coordinates.split(":")
        found.append(Package("Maven", f"{group}:{artifact}", version, where, (f"sha256:{digest}",), "", licence))
    return found


_READERS: dict[str, Callable[[Path, str], list[Package]]] = {
    "Cargo.lock": _cargo,
    "package-lock.json": _npm,
    "go.mod": _go,
    "jars.lock": _jars,
}
