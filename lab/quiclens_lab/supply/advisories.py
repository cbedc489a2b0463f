"""Known weaknesses of packages, from documents in OSV's format (https://ossf.github.io/osv-schema/) in a folder.

RustSec, PyPA, GitHub and Go publish theirs so. The order of versions is each ecosystem's own, as univers has it.
"""

import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from univers.versions import GolangVersion, InvalidVersion, MavenVersion, PypiVersion, SemverVersion, Version

from quiclens_lab.errors import LabError
from quiclens_lab.supply.lock_files import Package

_ORDERS: dict[str, type[Version]] = {
    "crates.io": SemverVersion,
    "PyPI": PypiVersion,
    "npm": SemverVersion,
    "Go": GolangVersion,
    "Maven": MavenVersion,
}


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Versions from `introduced` on, to `fixed` without it or to `last_affected` with it. "0" is before every other."""

    introduced: str
    fixed: str = ""
    last_affected: str = ""


@dataclass(frozen=True, slots=True)
class Advisory:
    """What a document says of one package."""

    id: str
    aliases: tuple[str, ...]
    summary: str
    ecosystem: str
    name: str
    spans: tuple[VersionRange, ...]
    versions: frozenset[str]


@dataclass(slots=True)
class Database:
    """Advisories by ecosystem and package; what could not be read, by its place; the last change of any document."""

    advisories: dict[tuple[str, str], list[Advisory]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    modified: str = ""

    def ecosystems(self) -> set[str]:
        return {ecosystem for ecosystem, _ in self.advisories}

    def of(self, package: Package) -> Sequence[Advisory]:
        return self.advisories.get((package.ecosystem, package.name), ())


@dataclass(frozen=True, slots=True)
class AdvisoryFinding:
    """A package that an advisory names. `doubt` says why it cannot be ruled out, where it could not be decided."""

    package: Package
    advisory: Advisory
    doubt: str = ""

    def __str__(self) -> str:
        also = f" ({', '.join(self.advisory.aliases)})" if self.advisory.aliases else ""
        fixed = ", ".join(span.fixed for span in self.advisory.spans if span.fixed)
        ending = f"; fixed in {fixed}" if fixed else ""
        doubt = f"; {self.doubt}" if self.doubt else ""
        return f"{self.package}: {self.advisory.id}{also} {self.advisory.summary}{ending}{doubt}"


def database(folder: Path) -> Database:
    """Every document below a folder, in files and in ZIP archives of them. LabError when there is no folder."""
    if not folder.is_dir():
        raise LabError(f"{folder} is no folder")
    found = Database()
    for place, text in _documents(folder):
        try:
            _take(found, json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            found.unread.append(f"{place}: {error!r}")
    return found


def findings(
    packages: Iterable[Package], known: Database, accepted: frozenset[str] = frozenset()
) -> list[AdvisoryFinding]:
    """Packages with a weakness that nobody accepted."""
    found = []
    for package in packages:
        for advisory in known.of(package):
            if accepted & {advisory.id, *advisory.aliases}:
                continue
            try:
                if _concerns(advisory, package.version):
                    found.append(AdvisoryFinding(package, advisory))
            except (InvalidVersion, ValueError, TypeError) as error:
                found.append(AdvisoryFinding(package, advisory, f"its versions cannot be compared: {error}"))
    return found


def _documents(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".json" and path.is_file():
            yield str(path), path.read_bytes()
        elif path.suffix == ".zip" and path.is_file():
            with zipfile.ZipFile(path) as archive:
                for name in sorted(archive.namelist()):
                    if name.endswith(".json"):
                        yield f"{path}/{name}", archive.read(name)


def _take(known: Database, document: Mapping[str, Any]) -> None:
    known.modified = max(known.modified, str(document["modified"]))
    if "withdrawn" in document:
        return
    for affected in document.get("affected", []):
        package = affected.get("package")
        if package is None or package["ecosystem"] not in _ORDERS:
            continue
        ecosystem, name = str(package["ecosystem"]), str(package["name"])
        ranges = [each for each in affected.get("ranges", []) if each["type"] in ("SEMVER", "ECOSYSTEM")]
        advisory = Advisory(
            str(document["id"]),
            tuple(document.get("aliases", [])),
            _first_line(str(document.get("summary") or document.get("details") or "")),
            ecosystem,
            canonicalize_name(name) if ecosystem == "PyPI" else name,
            tuple(span for each in ranges for span in _spans(each["events"])),
            frozenset(affected.get("versions", [])),
        )
        known.advisories.setdefault((advisory.ecosystem, advisory.name), []).append(advisory)


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "")


def _spans(events: Sequence[Mapping[str, str]]) -> Iterator[VersionRange]:
    """Each `introduced` with the event after it that ends it, as the documents order them."""
    since = ""
    for event in events:
        if "introduced" in event:
            if since:
                yield VersionRange(since)
            since = event["introduced"]
        elif since and "fixed" in event:
            yield VersionRange(since, fixed=event["fixed"])
            since = ""
        elif since and "last_affected" in event:
            yield VersionRange(since, last_affected=event["last_affected"])
            since = ""
    if since:
        yield VersionRange(since)


def _concerns(advisory: Advisory, version: str) -> bool:
    if version in advisory.versions or version.removeprefix("v") in advisory.versions:
        return True
    order = _ORDERS[advisory.ecosystem]
    ours = order(_bare(advisory.ecosystem, version))
    for span in advisory.spans:
        if span.introduced != "0" and ours < order(_bare(advisory.ecosystem, span.introduced)):
            continue
        if span.fixed and ours >= order(_bare(advisory.ecosystem, span.fixed)):
            continue
        if span.last_affected and ours > order(_bare(advisory.ecosystem, span.last_affected)):
            continue
        return True
    return False


def _bare(ecosystem: str, version: str) -> str:
    """Without Go's `v`, which OSV's documents leave out, and without what SemVer gives no order (section 10)."""
    if ecosystem == "Go":
        version = version.removeprefix("v")
    return version.split("+")[0] if ecosystem in ("Go", "crates.io", "npm") else version
