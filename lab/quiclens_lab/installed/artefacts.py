"""What can be said of a release without installing it: its sums, its SBOM, and whether rpm and deb are the same."""

import hashlib
import re
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from pydantic import BaseModel

from quiclens_lab.errors import LabError
from quiclens_lab.outside import said_by
from quiclens_lab.release import program_in

SUMS, SBOM = "SHA256SUMS", "quiclens.cdx.json"


def wrong_sums(dist: Path) -> list[str]:
    """What `sha256sum -c SHA256SUMS` finds wrong, and files without a sum: empty where nothing is."""
    listed = {line.partition("  ")[2] for line in (dist / SUMS).read_text(encoding="utf-8").splitlines()}
    wrong = [f"{path.name} has no sum" for path in sorted(dist.iterdir()) if path.name not in {SUMS, *listed}]
    try:
        said_by(["sha256sum", "--check", "--strict", "--quiet", SUMS], folder=dist)
    except LabError as error:
        wrong.append(str(error))
    return wrong


class _Component(BaseModel):
    name: str
    version: str = ""
    purl: str = ""
    components: list["_Component"] = []


class _Metadata(BaseModel):
    component: _Component


class _Sbom(BaseModel):
    metadata: _Metadata
    components: list[_Component] = []


def wrong_sbom(dist: Path) -> list[str]:
    """What is wrong with the SBOM: it does not fit its schema; a file of the release, or a package that a wheel asks
    for, is not in it under its name and version."""
    text = (dist / SBOM).read_text(encoding="utf-8")
    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if fault is not None:
        return [f"{SBOM} does not fit CycloneDX's schema: {str(fault)[:300]}"]
    said = _Sbom.model_validate_json(text)
    own = {_without_qualifiers(each.purl) for each in said.metadata.component.components}
    others = {_python_name(each.name) for each in said.components if each.purl.startswith("pkg:pypi/")}
    wrong = []
    for path in sorted(dist.iterdir()):
        if path.name in (SUMS, SBOM):
            continue
        package = package_of(path)
        if package not in own:
            wrong.append(f"{SBOM} does not name {package}, which is {path.name}")
        if path.suffix == ".whl":
            own_names = {PackageURL.from_string(each).name for each in own}
            asked = sorted(_asked_by(path) - others - own_names)
            wrong += [f"{SBOM} does not name {name}, which {path.name} asks for" for name in asked]
    return wrong


def package_of(path: Path) -> str:
    """The package URL of a file of the release, as its own name says. LabError for a name that says nothing."""
    for kind, pattern in (
        ("pypi", r"([^-]+)-([^-]+)-.*\.whl"),
        ("deb", r"([^_]+)_([^_-]+)(?:-\d+)?_[^_]+\.deb"),
        ("rpm", r"(.+)-([^-]+)-\d+\.[^.]+\.rpm"),
    ):
        if found := re.fullmatch(pattern, path.name):
            return str(PackageURL(kind, None, found[1].replace("_", "-"), found[2]))
    raise LabError(f"{path.name} is no wheel, deb or rpm")


def _without_qualifiers(purl: str) -> str:
    return purl.partition("?")[0]


def _python_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _asked_by(wheel: Path) -> set[str]:
    """Names of the packages that come with a wheel on this system, those of no extra."""
    with zipfile.ZipFile(wheel) as archive:
        (held,) = (name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
        lines = archive.read(held).decode().partition("\n\n")[0].splitlines()
    asked = [line.partition(": ")[2] for line in lines if line.startswith("Requires-Dist: ") and "extra ==" not in line]
    return {_python_name(found[0]) for each in asked if (found := re.match(r"[\w.-]+", each))}


@dataclass(frozen=True, slots=True)
class Packed:
    """One file of a package."""

    mode: int
    sha256: str


def unlike(dist: Path, scratch: Path) -> list[str]:
    """Where the rpm brings other files than the deb: names, modes, bytes. Empty where it does not."""
    (deb,), (rpm,) = dist.glob("*.deb"), dist.glob("*.rpm")
    data = scratch / "data.tar"
    control = said_by(["bsdtar", "-tf", str(deb)]).split()
    (held,) = (name for name in control if name.startswith("data.tar"))
    said_by(["sh", "-ec", 'bsdtar -xOf "$0" "$1" >"$2"', str(deb), held, str(data)])
    return differences(unpacked(data, scratch / "deb"), unpacked(rpm, scratch / "rpm"))


def unpacked(archive: Path, into: Path) -> dict[str, Packed]:
    """The files of an archive, which libarchive reads: tar and rpm among others. LabError where it holds none."""
    into.mkdir()
    said_by(["bsdtar", "-xpf", str(archive.resolve()), "-C", str(into)])
    found = {
        str(path.relative_to(into)): Packed(stat.S_IMODE(path.stat().st_mode), _sha256(path))
        for path in sorted(into.rglob("*"))
        if path.is_file()
    }
    if not found:
        raise LabError(f"{archive.name} brings no file")
    return found


def differences(deb: dict[str, Packed], rpm: dict[str, Packed]) -> list[str]:
    """In one line each."""
    wrong = [f"the rpm has no {name}" for name in sorted(deb.keys() - rpm.keys())]
    wrong += [f"the deb has no {name}" for name in sorted(rpm.keys() - deb.keys())]
    for name in sorted(deb.keys() & rpm.keys()):
        if deb[name].sha256 != rpm[name].sha256:
            wrong.append(f"{name} is another in the rpm")
        if deb[name].mode != rpm[name].mode:
            wrong.append(f"{name} has mode {deb[name].mode:o} in the deb, {rpm[name].mode:o} in the rpm")
    return wrong


def glibc(dist: Path, scratch: Path) -> tuple[int, ...]:
    """The newest version of glibc that a symbol of the collector's wheel asks for."""
    (wheel,) = dist.glob("quiclens_collector-*.whl")
    binary = scratch / "program"
    binary.write_bytes(program_in(wheel))
    symbols = said_by(["objdump", "-T", str(binary)])
    found = {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", symbols)}
    if not found:
        raise LabError(f"{wheel.name}: the program names no version of glibc")
    return max(found)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
