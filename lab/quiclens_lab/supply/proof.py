"""The proof that `audit` works: it must find an old version that the database names, and not the one that mended it."""

import json
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from quiclens_lab.supply.advisories import Advisory, Database, findings
from quiclens_lab.supply.lock_files import packages

_SHA256 = "0" * 64


def unproven(known: Database, ecosystems: Iterable[str]) -> dict[str, str]:
    """Ecosystems in which no planted version was found, with the reason; none when the check works."""
    said = {}
    for ecosystem in sorted(ecosystems):
        planted = _to_plant(known, ecosystem)
        if planted is None:
            said[ecosystem] = "the database has no advisory of it that names an old version and the one that mended it"
            continue
        advisory, old, mended = planted
        if not _is_found(known, advisory, old):
            said[ecosystem] = f"planted {advisory.name} {old} of {advisory.id}, which was not found"
        elif _is_found(known, advisory, mended):
            said[ecosystem] = f"planted {advisory.name} {mended}, the mended version of {advisory.id}, which was found"
    return said


def _to_plant(known: Database, ecosystem: str) -> tuple[Advisory, str, str] | None:
    for (each, _), advisories in sorted(known.advisories.items()):
        for advisory in advisories:
            if each != ecosystem or len(advisory.spans) != 1:
                continue
            span = advisory.spans[0]
            old = span.introduced if span.introduced != "0" else min(advisory.versions, default="0.0.0")
            if span.fixed and old != span.fixed:
                return advisory, old, span.fixed
    return None


def _is_found(known: Database, advisory: Advisory, version: str) -> bool:
    with TemporaryDirectory() as folder:
        _plant(Path(folder), advisory, version)
        return any(each.advisory is advisory and not each.doubt for each in findings(packages(Path(folder)), known))


def _plant(folder: Path, advisory: Advisory, version: str) -> None:
    name = advisory.name
    if advisory.ecosystem == "crates.io":
        source = "registry+https://github.com/rust-lang/crates.io-index"
        text = f'[[package]]\nname = "{name}"\nversion = "{version}"\nsource = "{source}"\nchecksum = "{_SHA256}"\n'
        (folder / "Cargo.lock").write_text(f"version = 4\n\n{text}")
    elif advisory.ecosystem == "PyPI":
        (folder / "requirements.lock").write_text(f"{name}=={version} --hash=sha256:{_SHA256}\n")
    elif advisory.ecosystem == "npm":
        (folder / "package-lock.json").write_text(
            json.dumps({"lockfileVersion": 3, "packages": {"": {}, f"node_modules/{name}": {"version": version}}})
        )
    elif advisory.ecosystem == "Go":
        (folder / "go.mod").write_text(f"module planted\n\nrequire {name} v{version.removeprefix('v')}\n")
    else:
        (folder / "jars.lock").write_text(f"{_SHA256}\t{name}:{version}\tApache-2.0\n")
