"""The list of all packages as CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/)."""

import base64
from collections.abc import Iterable
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from quiclens_lab.errors import LabError
from quiclens_lab.supply.lock_files import Package

_PURL_TYPES = {"crates.io": "cargo", "PyPI": "pypi", "npm": "npm", "Go": "golang", "Maven": "maven"}


def document(found: Iterable[Package], version: str, own: Iterable[PackageURL] = ()) -> str:
    """The document, checked against its schema; `own` are the packages of quiclens itself. LabError when it does not
    fit."""
    whole = Component(
        name="quiclens",
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref="quiclens",
        components=[_own(each) for each in own],
    )
    by_url: dict[str, list[Package]] = {}
    for package in found:
        by_url.setdefault(str(_url(package)), []).append(package)
    components = [_component(url, packages) for url, packages in sorted(by_url.items())]
    bom = Bom(components=components, serial_number=uuid5(NAMESPACE_URL, "\n".join([version, *sorted(by_url)])))
    bom.metadata.component = whole
    bom.register_dependency(whole, components)
    text = str(JsonV1Dot6(bom).output_as_string(indent=2))
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if wrong is not None:
        raise LabError(f"the SBOM does not fit CycloneDX's schema: {str(wrong)[:500]}")
    return text


def _own(url: PackageURL) -> Component:
    name, version = url.name, url.version
    return Component(name=name, version=version, type=ComponentType.APPLICATION, bom_ref=str(url), purl=url)


def _url(package: Package) -> PackageURL:
    namespace, name = "", package.name
    if package.ecosystem == "Maven":
        namespace, _, name = package.name.partition(":")
    elif package.ecosystem in ("npm", "Go"):
        namespace, _, name = package.name.rpartition("/")
    return PackageURL(_PURL_TYPES[package.ecosystem], namespace or None, name, package.version)


def _component(url: str, packages: list[Package]) -> Component:
    first = packages[0]
    hashes = sorted({each for package in packages for each in package.hashes})
    locks = sorted({package.lock for package in packages})
    return Component(
        name=first.name,
        version=first.version,
        type=ComponentType.LIBRARY,
        bom_ref=url,
        purl=PackageURL.from_string(url),
        licenses=[LicenseExpression(first.licence.replace("/", " OR "))] if first.licence else [],
        hashes=[hash_ for each in hashes if (hash_ := _hash(each))],
        properties=[Property(name="quiclens:lock_file", value=each) for each in locks],
    )


def _hash(said: str) -> HashType | None:
    """None for Go's `h1:`, which is of a list of files' hashes and none that CycloneDX has."""
    if said.startswith("sha256:"):
        return HashType(alg=HashAlgorithm.SHA_256, content=said.removeprefix("sha256:"))
    if said.startswith("sha512-"):
        return HashType(alg=HashAlgorithm.SHA_512, content=base64.b64decode(said.removeprefix("sha512-")).hex())
    return None
