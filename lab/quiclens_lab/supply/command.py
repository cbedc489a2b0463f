"""The commands `dependencies`, `sbom` and `audit`."""

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from packageurl import PackageURL

from quiclens_lab.machine import LAB
from quiclens_lab.progress import say
from quiclens_lab.supply.advisories import database, findings
from quiclens_lab.supply.licences import faults, policy, with_licences
from quiclens_lab.supply.lock_files import packages
from quiclens_lab.supply.proof import unproven
from quiclens_lab.supply.sbom import document

ROOT = LAB.parent
POLICY = "dependencies.toml"
_PACKED = (("deb", "amd64"), ("rpm", "x86_64"))


def dependencies() -> dict[str, Any]:
    """Compare every package of every lock file with the policy; `passes` is false when one does not fit."""
    rules = policy(ROOT / POLICY)
    found = with_licences(packages(ROOT), ROOT, rules)
    wrong = faults(found, rules)
    for each in wrong:
        say(f"dependencies: {each}")
    return {
        "passes": not wrong,
        "packages": dict(Counter(each.ecosystem for each in found)),
        "not_for_this_machine": [str(each) for each in found if not each.licence],
        "faults": wrong,
    }


def sbom(out: Path) -> dict[str, Any]:
    """Write the SBOM."""
    rules = policy(ROOT / POLICY)
    found = with_licences(packages(ROOT), ROOT, rules)
    out.write_text(document(found, _version(), own_packages(ROOT, _version())), encoding="utf-8")
    return {"sbom": str(out), "packages": len(found)}


def own_packages(root: Path, version: str) -> list[PackageURL]:
    """What a release of this tree brings: a wheel of each part and of the collector, a deb and an rpm of it."""
    projects = sorted([*root.glob("*/pyproject.toml"), *root.glob("collectors/*/pyproject.toml")])
    projects += sorted(root.glob("deploy/packages/*/pyproject.toml"))
    names = [str(tomllib.loads(each.read_text(encoding="utf-8"))["project"]["name"]) for each in projects]
    packages = [PackageURL("pypi", None, name, version) for name in names]
    collector = [PackageURL(kind, None, "quiclens-collector", version, {"arch": arch}) for kind, arch in _PACKED]
    return [*packages, *collector]


def audit(folder: Path | None, root: Path = ROOT) -> dict[str, Any]:
    """Compare every package with the advisories; `passes` is false without a database that finds what is planted."""
    if folder is None:
        say("audit: not checked: no database; name a folder of OSV documents: make audit AUDIT_DB=FOLDER")
        return {"passes": False, "checked": False}
    known = database(folder)
    found = packages(root)
    blind = unproven(known, {each.ecosystem for each in found})
    seen = findings(found, known, policy(ROOT / POLICY).accepted)
    for ecosystem, why in blind.items():
        say(f"audit: not checked: {ecosystem}: {why}")
    for place in known.unread:
        say(f"audit: not read: {place}")
    for each in seen:
        say(f"audit: {each}")
    counts = Counter(each.ecosystem for each in found)
    return {
        "passes": not blind and not seen and not known.unread,
        "checked": not blind,
        "not_checked": blind,
        "advisories": sum(len(each) for each in known.advisories.values()),
        "database_modified": known.modified,
        "documents_not_read": known.unread,
        "packages": dict(counts),
        "findings": [str(each) for each in seen],
    }


def _version() -> str:
    return str(tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"])
