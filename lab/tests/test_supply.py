"""The project's own packages fit its policy, and each fault of a package is named; planted weaknesses are found."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quiclens_lab.command_line import main
from quiclens_lab.errors import LabError
from quiclens_lab.supply import command
from quiclens_lab.supply.advisories import database, findings
from quiclens_lab.supply.licences import Policy, faults, policy
from quiclens_lab.supply.lock_files import Package, packages
from quiclens_lab.supply.sbom import document

ROOT = command.ROOT
RULES = Policy(frozenset({"MIT", "Apache-2.0"}), {}, {}, frozenset())
DIGEST = "sha256:" + "a" * 64
GOOD = Package("crates.io", "good", "1.0.0", "Cargo.lock", (DIGEST,), "", "MIT")
OSV_NAMES = {
    "crates.io": ("planted-crate", "0.9.3"),
    "PyPI": ("Planted.Wheel", "0.9.3"),
    "npm": ("@planted/package", "0.9.3"),
    "Go": ("example.org/planted", "0.9.3"),
    "Maven": ("org.planted:jar", "0.9.3"),
}


def advisory(ecosystem: str, name: str, *events: dict[str, str], versions: tuple[str, ...] = ()) -> dict[str, Any]:
    kind = "ECOSYSTEM" if ecosystem in ("PyPI", "Maven") else "SEMVER"
    affected = {
        "package": {"ecosystem": ecosystem, "name": name},
        "ranges": [{"type": kind, "events": list(events)}],
        "versions": list(versions),
    }
    return {
        "id": f"TEST-{ecosystem}-{name}", "modified": "2026-01-01T00:00:00Z", "aliases": ["CVE-2026-1"],
        "summary": "planted", "affected": [affected],
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A database with an advisory of each ecosystem, of packages that nobody has."""
    made = tmp_path / "database"
    made.mkdir()
    for ecosystem, (name, fixed) in OSV_NAMES.items():
        text = advisory(ecosystem, name, {"introduced": "0.5.0"}, {"fixed": fixed})
        (made / f"{ecosystem}.json").write_text(json.dumps(text))
    return made


def found_in(folder: Path, *held: Package) -> list[str]:
    return [each.package.version for each in findings(held, database(folder))]


def test_every_package_of_the_project_fits_the_policy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dependencies"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["faults"] == []
    assert set(said["packages"]) == {"crates.io", "PyPI", "npm", "Go", "Maven"}
    assert all("cffi" not in each for each in said["not_for_this_machine"])


@pytest.mark.parametrize(
    ("package", "says"),
    [
        (replace(GOOD, licence="GPL-3.0-only"), "licence GPL-3.0-only is not allowed"),
        (replace(GOOD, licence="MIT AND GPL-3.0-only"), "is not allowed"),
        (replace(GOOD, licence="Apache-2.0 WITH LLVM-exception AND AGPL-3.0-only"), "is not allowed"),
        (replace(GOOD, licence=""), "says no licence"),
        (replace(GOOD, licence="look inside"), "is no SPDX expression"),
        (replace(GOOD, licence="MIT AND NOASSERTION"), "is no SPDX expression"),
        (replace(GOOD, hashes=()), "no hash in the lock file"),
        (replace(GOOD, hashes=("md5:0123",)), "md5:0123 is no SHA-256"),
        (replace(GOOD, version=""), "not pinned"),
        (replace(GOOD, origin="git+https://example.org/good#12"), "comes from git+https://example.org/good#12"),
    ],
)
def test_a_package_that_does_not_fit_is_named_with_its_fault(package: Package, says: str) -> None:
    said = faults([GOOD, package], RULES)
    assert len(said) == 1 and said[0].startswith("crates.io good") and says in said[0]


@pytest.mark.parametrize("licence", ["MIT", "GPL-3.0-only OR MIT", "MIT/Apache-2.0", "Apache-2.0 WITH LLVM-exception"])
def test_one_side_of_or_is_enough(licence: str) -> None:
    assert faults([replace(GOOD, licence=licence)], RULES) == []


def test_an_exception_is_of_its_package_alone_and_goes_when_nothing_needs_it() -> None:
    rules = replace(RULES, exceptions={"crates.io good": "MPL-2.0"})
    theirs = replace(GOOD, licence="MPL-2.0")
    assert faults([theirs], rules) == []
    assert "crates.io other" in faults([theirs, replace(theirs, name="other")], rules)[0]
    assert faults([GOOD], rules) == ["dependencies.toml: the exception for crates.io good is needed by nothing"]


LOCKS = {
    "Cargo.lock": '[[package]]\nname = "x"\nversion = "1.0.0"\nsource = "git+https://example.org/x#1"\n',
    "package-lock.json": json.dumps(
        {"packages": {"node_modules/x": {"version": "1.0.0", "resolved": "git+ssh://x", "license": "MIT"}}}
    ),
    "requirements.lock": "x @ https://example.org/x.whl\n",
    "go.mod": "module y\n\nrequire x.org/x v1.0.0\n\nreplace x.org/x => ../x\n",
}


@pytest.mark.parametrize("name", LOCKS)
def test_other_sources_and_missing_hashes_are_seen_in_every_kind_of_lock_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(LOCKS[name])
    (found,) = packages(tmp_path)
    said = faults([replace(found, licence="MIT")], RULES)
    assert any("comes from" in each for each in said) and any("no hash" in each for each in said)


@pytest.mark.parametrize("name", ["yarn.lock", "Cargo.lock", "package-lock.json", "requirements.lock"])
def test_a_lock_file_that_cannot_be_read_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("--index-url https://example.org\n{")
    with pytest.raises(LabError, match=name):
        packages(tmp_path)


def test_the_sbom_has_every_package_and_fits_the_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sbom", "--out", str(tmp_path / "made.json")]) == 0
    capsys.readouterr()
    made = json.loads((tmp_path / "made.json").read_text())
    by_url = {each["purl"]: each for each in made["components"]}
    assert made["specVersion"] == "1.6" and made["metadata"]["component"]["name"] == "quiclens"
    assert len({(each.ecosystem, each.name, each.version) for each in packages(ROOT)}) == len(by_url)
    jar = by_url["pkg:maven/org.apache.kafka/kafka-clients@4.1.0"]
    assert jar["licenses"] == [{"expression": "Apache-2.0"}] and jar["hashes"][0]["alg"] == "SHA-256"
    assert by_url["pkg:npm/uplot@1.6.32"]["hashes"][0]["alg"] == "SHA-512"
    assert "pkg:golang/github.com/quic-go/quic-go@v0.65.0" in by_url


def test_an_sbom_that_does_not_fit_is_not_written() -> None:
    with pytest.raises(LabError, match="schema"):
        document([replace(GOOD, hashes=("sha256:not a hash",))], "1")


def test_without_a_database_audit_says_so_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out) == {"passes": False, "checked": False}
    assert "not checked: no database" in said.err


def test_audit_passes_where_nothing_is_known(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--database", str(folder)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["checked"] and said["advisories"] == 5 and said["packages"]["Maven"] == 46


def test_audit_fails_for_the_projects_own_packages(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for ecosystem, name in [("crates.io", "serde"), ("PyPI", "Jinja2"), ("Go", "github.com/quic-go/quic-go")]:
        text = advisory(ecosystem, name, {"introduced": "0"})
        (folder / f"own-{ecosystem}.json").write_text(json.dumps(text))
    assert main(["audit", "--database", str(folder)]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["checked"] and not said["passes"]
    named = {each.split(" (")[0].rpartition(" ")[0] for each in said["findings"]}
    assert named == {"crates.io serde", "PyPI jinja2", "Go github.com/quic-go/quic-go"}


@pytest.mark.parametrize("ecosystem", OSV_NAMES)
def test_an_ecosystem_without_an_advisory_is_not_checked(folder: Path, ecosystem: str) -> None:
    (folder / f"{ecosystem}.json").unlink()
    said = command.audit(folder)
    assert not said["passes"] and not said["checked"] and list(said["not_checked"]) == [ecosystem]


@pytest.mark.parametrize("ecosystem", OSV_NAMES)
def test_a_check_that_finds_too_little_or_too_much_proves_nothing(
    folder: Path, ecosystem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for verdict, says in [(False, "which was not found"), (True, "which was found")]:
        monkeypatch.setattr("quiclens_lab.supply.advisories._concerns", lambda *_, said=verdict: said)
        assert says in command.audit(folder)["not_checked"][ecosystem]


def test_a_document_that_cannot_be_read_fails_the_audit(folder: Path) -> None:
    (folder / "broken.json").write_text('{"id": "X", "modified": "2026", "affected": [{"package": {}}]}')
    said = command.audit(folder)
    assert not said["passes"] and "broken.json" in said["documents_not_read"][0]


def test_archives_are_read(folder: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    packed.mkdir()
    with zipfile.ZipFile(packed / "all.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
    assert command.audit(packed)["advisories"] == 5


@pytest.mark.parametrize(
    ("ecosystem", "events", "affected", "spared"),
    [
        (
            "crates.io",
            [{"introduced": "0.0.0-0"}, {"fixed": "1.2.3"}, {"introduced": "2.0.0-0"}, {"fixed": "2.1.0"}],
            ["0.1.0", "1.2.2", "1.2.3-rc.1", "2.0.0-alpha.1", "2.0.9+build"],
            ["1.2.3", "1.2.10", "2.1.0+build", "3.0.0"],
        ),
        ("PyPI", [{"introduced": "0"}, {"fixed": "2.0"}], ["1.9", "2.0rc1", "0.1.dev1"], ["2.0", "2.0.post1", "1!0.1"]),
        ("npm", [{"introduced": "0"}, {"last_affected": "1.9.0"}], ["1.9.0", "1.2.0"], ["1.10.0", "1.9.1"]),
        ("Go", [{"introduced": "1.0.0"}, {"fixed": "1.9.0"}], ["v1.0.0", "v1.8.9"], ["v0.9.0", "v1.10.0"]),
        ("Maven", [{"introduced": "2.0"}, {"fixed": "2.15.0"}], ["2.0", "2.9", "2.15.0-rc1"], ["2.15.0", "1.9", "3"]),
    ],
)
def test_versions_have_their_ecosystems_order(
    tmp_path: Path, ecosystem: str, events: list[dict[str, str]], affected: list[str], spared: list[str]
) -> None:
    (tmp_path / "one.json").write_text(json.dumps(advisory(ecosystem, "good", *events)))
    held = [replace(GOOD, ecosystem=ecosystem, version=each) for each in [*affected, *spared]]
    assert found_in(tmp_path, *held) == affected


def test_what_is_withdrawn_or_accepted_is_no_finding(tmp_path: Path) -> None:
    text = advisory("crates.io", "good", {"introduced": "0"})
    (tmp_path / "one.json").write_text(json.dumps(text | {"withdrawn": "2026-01-02T00:00:00Z"}))
    assert found_in(tmp_path, GOOD) == []
    (tmp_path / "one.json").write_text(json.dumps(text))
    assert findings([GOOD], database(tmp_path), frozenset({"CVE-2026-1"})) == []
    assert found_in(tmp_path, GOOD) == ["1.0.0"]


def test_a_version_that_cannot_be_compared_is_a_finding_with_its_doubt(tmp_path: Path) -> None:
    text = advisory("crates.io", "good", {"introduced": "1.0.0"}, {"fixed": "2.0.0"})
    (tmp_path / "one.json").write_text(json.dumps(text))
    (found,) = findings([replace(GOOD, version="soon")], database(tmp_path))
    assert "cannot be compared" in found.doubt and "TEST-crates.io-good" in str(found)


def test_an_exception_without_a_reason_is_no_policy(tmp_path: Path) -> None:
    path = tmp_path / "dependencies.toml"
    path.write_text('allowed = []\naccepted = []\nstated = []\n[[exception]]\npackage = "PyPI x"\nlicence = "MIT"\n')
    with pytest.raises(LabError, match="why"):
        policy(path)
