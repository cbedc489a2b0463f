"""What `make release-check` does to a machine is what the page prints; a secret is found where it is told; a release
whose files do not fit together is seen without any machine."""

import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from shutil import which
from types import SimpleNamespace
from typing import Any

import pytest
from packageurl import PackageURL

from quiclens_lab.errors import LabError
from quiclens_lab.installed import artefacts, booted, command, deb, units
from quiclens_lab.installed.artefacts import Packed
from quiclens_lab.installed.booted import Booted, Unit
from quiclens_lab.installed.units import StoredEvents
from quiclens_lab.judgement import Judgement
from quiclens_lab.page_blocks import block, substituted
from quiclens_lab.supply.command import own_packages
from quiclens_lab.supply.lock_files import Package
from quiclens_lab.supply.sbom import document

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("script", [deb.SCRIPT, deb.REMOVE, command.WHEELS])
def test_the_scripts_are_such_that_a_shell_takes(script: str) -> None:
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_secret_that_is_told_is_found_and_silence_is_no_proof(tmp_path: Path) -> None:
    assert deb.SCRIPT.count(deb.SECRET) == 3
    with pytest.raises(LabError, match="said nothing"):
        deb.telling(tmp_path)
    for name in ("check", "journal", "show", "status"):
        (tmp_path / f"{name}.txt").write_text("sink_away http://writer:[redacted]@127.0.0.1:9\n")
    assert deb.telling(tmp_path) == []
    (tmp_path / "journal.txt").write_text(f"sink_away http://writer:{deb.SECRET}@127.0.0.1:9\n")
    assert deb.telling(tmp_path) == ["journal"]


def test_the_units_are_installed_as_the_page_says_but_for_the_clone(tmp_path: Path) -> None:
    commands = block(units.PAGE, units.BLOCK)
    done = substituted(commands, units.INSTEAD)
    assert sum(one != other for one, other in zip(commands, done, strict=True)) == 1
    assert any("systemctl enable --now quiclens-serve quiclens-collector" in each for each in done)
    units.prepare(ROOT, tmp_path)
    here = {path.name for path in (ROOT / "deploy" / "systemd").iterdir()}
    assert {path.name for path in (tmp_path / "deploy" / "systemd").iterdir()} == here
    of_units = {name.removeprefix("quiclens-").partition(".")[0].replace("@", "@edge") for name in here}
    assert of_units == {"serve", "collector", "ingest", "lines@edge", "retention"}


def test_what_systemd_says_of_a_unit_is_read() -> None:
    said = {
        "systemctl show serve": "Result=success\nActiveState=active\nSubState=running\nNRestarts=0\n",
        "systemctl show lines": "Result=exit-code\nActiveState=failed\nSubState=failed\nNRestarts=10\n",
        "systemctl show timer": "Result=success\nActiveState=active\nSubState=waiting\n",
        "systemd-analyze": "→ Overall exposure level for quiclens-serve.service: 1.4 OK 🙂\n",
    }
    podman: Any = SimpleNamespace(do=lambda words, _: next(said[each] for each in said if words[-1].startswith(each)))
    machine = Booted(podman, "x")
    assert machine.unit("serve") == Unit("active", "running", "success", 0) and machine.unit("serve").runs
    assert machine.unit("lines") == Unit("failed", "failed", "exit-code", 10) and not machine.unit("lines").runs
    assert machine.unit("timer").restarts == 0
    assert machine.exposure("serve") == 1.4
    said["systemd-analyze"] = "Unit serve could not be found."
    with pytest.raises(LabError, match="systemd-analyze said"):
        machine.exposure("serve")


class _Watched:
    """A machine whose collector stands still, is started again, and stored this in the end."""

    def __init__(
        self, at_the_end: Callable[[int], StoredEvents], journal: str = "Watchdog timeout (limit 5s)!"
    ) -> None:
        self.booted: Any = self
        self._at_the_end, self._journal, self._written = at_the_end, journal, [""]

    def stored(self) -> StoredEvents:
        records = "".join(self._written).count("\n")
        if len(self._written) > 2:
            return self._at_the_end(100 + records - 1)
        return StoredEvents(100 + max(records - 1, 0), 0, 0)

    def write_log(self, name: str, text: str, is_more: bool = False) -> None:
        self._written.append(text)

    def put(self, place: str, text: str, mode: int = 0) -> None: ...

    def do(self, script: str) -> str:
        return ""

    def unit(self, name: str) -> Unit:
        return Unit("active", "running", "success", 1)

    def journal(self, name: str) -> str:
        return self._journal

    def until(self, is_so: Callable[[], bool], otherwise: str, patience_s: float) -> float:
        if not is_so():
            raise LabError(otherwise)
        return 1.0


def _watched(machine: Any) -> list[str]:
    judgement = Judgement("installed")
    with judgement.stage("the watchdog"):
        units._watchdog(judgement, machine)
    return judgement.missed


def test_what_is_lost_or_doubled_by_a_restart_is_missed() -> None:
    assert _watched(_Watched(lambda wanted: StoredEvents(wanted, 0, 0))) == []
    for found in (
        lambda n: StoredEvents(n, 0, 3),
        lambda n: StoredEvents(n + 3, 0, 0),
        lambda n: StoredEvents(n, 1, 0),
    ):
        (missed,) = _watched(_Watched(found))
        assert missed.startswith("of 360 events the store has ")
    (missed,) = _watched(_Watched(lambda wanted: StoredEvents(wanted - 1, 0, 0)))
    assert missed == "the watchdog: not all of 360 events come"
    (missed,) = _watched(_Watched(lambda wanted: StoredEvents(wanted, 0, 0), journal="Stopped."))
    assert missed == "it was not the watchdog who ended it"


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """A release of one wheel, which asks for one package, with its SBOM and its sums."""
    folder = tmp_path / "dist"
    folder.mkdir()
    with zipfile.ZipFile(folder / "quiclens_api-0.1.1-py3-none-any.whl", "w") as wheel:
        asked = (
            'Requires-Dist: Some_Thing>=2\nRequires-Dist: chdb ; extra == "embedded"\nRequires-Dist: quiclens-schema\n'
        )
        wheel.writestr("quiclens_api-0.1.1.dist-info/METADATA", f"Name: quiclens-api\n{asked}\nRequires-Dist: text\n")
    described(folder, ["some.thing"], own_packages(ROOT, "0.1.1"))
    return folder


def described(folder: Path, names: list[str], own: list[PackageURL]) -> None:
    one = Package("PyPI", "x", "2.0", "requirements.lock", ("sha256:" + "0" * 64,), "MIT")
    text = document([replace(one, name=name) for name in names], "0.1.1", own)
    (folder / artefacts.SBOM).write_text(text)
    subprocess.run("sha256sum *.* >SHA256SUMS", shell=True, check=True, cwd=folder)


def test_sums_are_of_every_file_and_of_its_bytes(dist: Path) -> None:
    assert artefacts.wrong_sums(dist) == []
    (dist / "more.whl").touch()
    assert artefacts.wrong_sums(dist) == ["more.whl has no sum"]
    (dist / artefacts.SBOM).write_text("{}")
    _unlisted, changed = artefacts.wrong_sums(dist)
    assert artefacts.SBOM in changed and "FAILED" in changed


def test_the_sbom_names_every_file_and_all_that_wheels_ask_for(dist: Path) -> None:
    assert artefacts.wrong_sbom(dist) == []
    described(dist, [], [])
    wheel = "quiclens_api-0.1.1-py3-none-any.whl"
    assert artefacts.wrong_sbom(dist) == [
        f"{artefacts.SBOM} does not name pkg:pypi/quiclens-api@0.1.1, which is {wheel}",
        f"{artefacts.SBOM} does not name quiclens-schema, which {wheel} asks for",
        f"{artefacts.SBOM} does not name some-thing, which {wheel} asks for",
    ]
    (dist / artefacts.SBOM).write_text('{"bomFormat": "CycloneDX", "specVersion": "1.6", "version": "one"}')
    (fault,) = artefacts.wrong_sbom(dist)
    assert "does not fit" in fault


def test_a_release_has_its_packages_and_no_others() -> None:
    own = {str(each) for each in own_packages(ROOT, "0.1.1")}
    names = ("api", "collector", "dashboards", "ingest", "lab", "schema")
    packed = {"pkg:deb/quiclens-collector@0.1.1?arch=amd64", "pkg:rpm/quiclens-collector@0.1.1?arch=x86_64"}
    assert own == {f"pkg:pypi/quiclens-{name}@0.1.1" for name in names} | {"pkg:pypi/quiclens@0.1.1"} | packed


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("quiclens_api-0.1.1-py3-none-any.whl", "pkg:pypi/quiclens-api@0.1.1"),
        ("quiclens_collector-0.1.1-py3-none-manylinux2014_x86_64.whl", "pkg:pypi/quiclens-collector@0.1.1"),
        ("quiclens-collector_0.1.1_amd64.deb", "pkg:deb/quiclens-collector@0.1.1"),
        ("quiclens-collector_0.1.1-1_amd64.deb", "pkg:deb/quiclens-collector@0.1.1"),
        ("quiclens-collector-0.1.1-1.x86_64.rpm", "pkg:rpm/quiclens-collector@0.1.1"),
    ],
)
def test_a_files_name_says_its_package(name: str, package: str) -> None:
    assert artefacts.package_of(Path(name)) == package


def test_a_file_that_names_no_package_is_an_error() -> None:
    with pytest.raises(LabError, match="no wheel, deb or rpm"):
        artefacts.package_of(Path("quiclens.zip"))


def test_an_rpm_that_is_not_the_deb_is_seen() -> None:
    files = {"usr/bin/x": Packed(0o755, "a"), "etc/x.toml": Packed(0o644, "b")}
    assert artefacts.differences(files, dict(files)) == []
    rpm = {"usr/bin/x": Packed(0o775, "c"), "etc/y.toml": Packed(0o644, "b")}
    assert artefacts.differences(files, rpm) == [
        "the rpm has no etc/x.toml",
        "the deb has no etc/y.toml",
        "usr/bin/x is another in the rpm",
        "usr/bin/x has mode 755 in the deb, 775 in the rpm",
    ]


@pytest.mark.skipif(which("bsdtar") is None, reason="no bsdtar: apt install libarchive-tools")
def test_an_archive_is_unpacked_with_modes_and_bytes(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "data.tar", "w") as archive:
        file = tarfile.TarInfo("./usr/bin/x")
        file.mode, file.size = 0o755, 2
        archive.addfile(file, BytesIO(b"hi"))
    assert artefacts.unpacked(tmp_path / "data.tar", tmp_path / "out") == {
        "usr/bin/x": Packed(0o755, "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4")
    }
    with tarfile.open(tmp_path / "empty.tar", "w"):
        pass
    with pytest.raises(LabError, match=r"empty.tar brings no file"):
        artefacts.unpacked(tmp_path / "empty.tar", tmp_path / "none")


def test_a_release_that_is_none_cannot_be_tried(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="`make release` fills it"):
        command.installed(tmp_path, tmp_path / "base.tar", keep=False)
    assert booted.IMAGE.startswith("localhost/")
