"""What a package's licence is, as the package itself says, and whether the project may use it.

An expression is one of SPDX (https://spdx.github.io/spdx-spec/v3.0.1/annexes/spdx-license-expressions/).
"""

import json
import re
import subprocess
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from license_expression import LicenseExpression, get_spdx_licensing
from packaging.utils import canonicalize_name

from quiclens_lab.errors import LabError
from quiclens_lab.supply.lock_files import Package

_SPDX = get_spdx_licensing()
# https://pypi.org/classifiers/, those that name one licence, and two that packages write as free text.
_CLASSIFIERS = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: ISC License (ISCL)": "ISC",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "License :: OSI Approved :: Python Software Foundation License": "PSF-2.0",
}
_DIGEST = re.compile(r"^(sha256:[0-9a-f]{64}|sha512-[A-Za-z0-9+/]{86}==|h1:[A-Za-z0-9+/]{43}=)$")


@dataclass(frozen=True, slots=True)
class Policy:
    """Licences that the project may use, those of single packages beside, what metadata do not say, and advisories
    that do not concern it."""

    allowed: frozenset[str]
    exceptions: Mapping[str, str]
    stated: Mapping[str, str]
    accepted: frozenset[str]


def policy(path: Path) -> Policy:
    """As `dependencies.toml` says. LabError when it does not say it well."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    try:
        exceptions = {each["package"]: each["licence"] for each in document["exception"] if each["why"]}
        stated = {each["package"]: each["licence"] for each in document["stated"] if each["source"]}
        accepted = frozenset(each["id"] for each in document["accepted"] if each["why"])
        return Policy(frozenset(document["allowed"]), exceptions, stated, accepted)
    except KeyError as error:
        raise LabError(f"{path}: no {error}") from error


def with_licences(found: Sequence[Package], root: Path, rules: Policy) -> list[Package]:
    """The packages, each with its licence as far as it says one. LabError when a tool for it fails."""
    known = {**_of_crates(root, found), **_of_modules(root, found), **_of_distributions(root)}
    return [_with(package, known, rules) for package in found]


def faults(found: Iterable[Package], rules: Policy) -> list[str]:
    """What is wrong, a line each: no version, hash or licence, another source, a licence that is not allowed."""
    said = []
    used = set()
    for package in found:
        key = f"{package.ecosystem} {package.name}"
        if not package.version:
            said.append(f"{package}: not pinned to one version")
        if package.origin:
            said.append(f"{package}: comes from {package.origin}, not from its registry")
        if not package.hashes:
            said.append(f"{package}: no hash in the lock file")
        said += [f"{package}: {each} is no SHA-256 or SHA-512" for each in package.hashes if not _DIGEST.match(each)]
        if not package.is_needed_here and not package.licence:
            continue
        if not package.licence:
            said.append(f"{package}: says no licence; read its own and state it in dependencies.toml")
            continue
        try:
            expression = _SPDX.parse(_normal(package.licence), validate=True)
        except Exception as error:  # the library raises several kinds
            said.append(f"{package}: {package.licence!r} is no SPDX expression: {error}")
            continue
        if _may_be(expression, rules.allowed):
            continue
        granted = rules.exceptions.get(key)
        if granted is None or not _may_be(expression, rules.allowed | {granted}):
            said.append(f"{package}: licence {package.licence} is not allowed by dependencies.toml")
        else:
            used.add(key)
    said += [
        f"dependencies.toml: the exception for {each} is needed by nothing" for each in rules.exceptions.keys() - used
    ]
    return said


def _with(package: Package, known: Mapping[tuple[str, str, str], str], rules: Policy) -> Package:
    if package.licence:
        return package
    licence = known.get((package.ecosystem, package.name, package.version), "")
    licence = licence or rules.stated.get(f"{package.ecosystem} {package.name}", "")
    return Package(
        package.ecosystem, package.name, package.version, package.lock, package.hashes, package.origin, licence,
        package.is_needed_here,
    )  # fmt: skip


def _may_be(expression: LicenseExpression, allowed: frozenset[str]) -> bool:
    """Whether the allowed licences alone satisfy it: one side of OR, all of AND; an exception only makes it wider."""
    operator = getattr(expression, "operator", "").strip()
    if operator == "OR":
        return any(_may_be(each, allowed) for each in expression.args)
    if operator == "AND":
        return all(_may_be(each, allowed) for each in expression.args)
    return str(getattr(expression, "license_symbol", expression)) in allowed


def _normal(licence: str) -> str:
    """Cargo's old `MIT/Apache-2.0` is `MIT OR Apache-2.0`: doc.rust-lang.org/cargo/reference/manifest.html."""
    return re.sub(r"\s*/\s*", " OR ", licence)


def _of_crates(root: Path, found: Sequence[Package]) -> dict[tuple[str, str, str], str]:
    known = {}
    for lock in sorted({each.lock for each in found if each.ecosystem == "crates.io"}):
        manifest = (root / lock).with_name("Cargo.toml")
        words = ["cargo", "metadata", "--locked", "--format-version", "1", "--manifest-path", str(manifest)]
        for each in json.loads(_run(words, manifest.parent))["packages"]:
            known["crates.io", each["name"], each["version"]] = each["license"] or ""
    return known


def _of_modules(root: Path, found: Sequence[Package]) -> dict[tuple[str, str, str], str]:
    folders = {}
    for lock in sorted({each.lock for each in found if each.ecosystem == "Go"}):
        wanted = [f"{each.name}@{each.version}" for each in found if each.lock == lock]
        said = _run(["go", "mod", "download", "-json", *wanted], (root / lock).parent)
        decoder, at = json.JSONDecoder(), 0
        while said[at:].strip():
            each, length = decoder.raw_decode(said[at:].lstrip())
            at += length + len(said[at:]) - len(said[at:].lstrip())
            folders[each["Dir"]] = ("Go", each["Path"], each["Version"])
    if not folders:
        return {}
    texts = json.loads(_run(["go", "run", "."], root / "lab" / "licences", "\n".join(folders)))
    # A text that was not recognised makes an expression that nobody may use.
    return {folders[folder]: " AND ".join(ids) for folder, ids in texts.items()}


def _of_distributions(root: Path) -> dict[tuple[str, str, str], str]:
    tools = [str(each) for each in root.glob(".tools/lib/python3*/site-packages")]
    known = {}
    for each in [*distributions(), *distributions(path=tools)]:
        known["PyPI", str(canonicalize_name(each.name)), each.version] = _stated_by(each)
    return known


def _stated_by(distribution: Distribution) -> str:
    """License-Expression (PEP 639), else classifiers, else the older field License where it is an expression."""
    metadata = distribution.metadata
    for expression in metadata.get_all("License-Expression") or []:
        return str(expression)
    named = [each for each in metadata.get_all("Classifier") or [] if each.startswith("License ::")]
    if named and all(each in _CLASSIFIERS for each in named):
        return " AND ".join(_CLASSIFIERS[each] for each in named)
    text = next(iter(metadata.get_all("License") or []), "")
    return text if text and not _SPDX.validate(text).errors else ""


def _run(words: list[str], folder: Path, text: str = "") -> str:
    done = subprocess.run(words, cwd=folder, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"`{' '.join(words[:3])}` in {folder}: {done.stderr.strip()[-300:]}")
    return done.stdout
