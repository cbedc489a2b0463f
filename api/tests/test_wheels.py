"""What `pip install` puts on a machine: wheels that hold all that the parts need, of one version."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from quiclens_lab.release import PARTS, WHOLE, wheel_of

ROOT = Path(__file__).resolve().parents[2]
# Folders of a part in the tree, and where they are in its wheel.
DATA = {part: {f"quiclens_{part}": f"quiclens_{part}"} for part in PARTS}
DATA["api"] = {
    f"{name}/quiclens_{name}": f"quiclens_{name}" for name in ("questions", "web", "store_server", "command_line")
}
DATA["schema"] |= {name: f"quiclens_schema/{name}" for name in ("catalogue", "clickhouse/migrations", "topics")}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel of each part."""
    folder = tmp_path_factory.mktemp("wheels")
    built = {}
    for part in PARTS:
        wheel_of(ROOT / part, folder / part)
        (built[part],) = (folder / part).glob("*.whl")
    return built


def test_a_wheel_holds_every_file_of_its_part(wheels: dict[str, Path]) -> None:
    for part, folders in DATA.items():
        with zipfile.ZipFile(wheels[part]) as wheel:
            held = {name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" not in name}
        wanted = {}
        for stands, comes in folders.items():
            for path in (ROOT / part / stands).rglob("*"):
                if path.is_file() and "__pycache__" not in path.parts:
                    wanted[f"{comes}/{path.relative_to(ROOT / part / stands)}"] = path.read_bytes()
        assert wanted, part
        assert {name: held.get(name) for name in wanted} == wanted, part


def test_installed_parts_find_their_data_and_say_their_version(wheels: dict[str, Path], tmp_path: Path) -> None:
    for wheel in wheels.values():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tmp_path)
    script = """
import quiclens_schema, quiclens_questions
from quiclens_web.pages import page
from quiclens_schema import catalogue, topics
from quiclens_schema.migrate import migrations
from quiclens_schema.version import VERSION
assert migrations() and topics.load() and catalogue.load()
print(quiclens_schema.__file__, quiclens_questions.__file__, VERSION, sep="\\n")
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *files, version = done.stdout.splitlines()
    assert all(Path(file).is_relative_to(tmp_path) for file in files)
    assert version == _versions()["schema"]


def test_the_package_of_everything_needs_the_parts_of_its_version(tmp_path: Path) -> None:
    wheel_of(WHOLE, tmp_path)
    (built,) = tmp_path.glob("quiclens-*.whl")
    with zipfile.ZipFile(built) as wheel:
        (name,) = (each for each in wheel.namelist() if each.endswith("/METADATA"))
        metadata = wheel.read(name).decode()
    needs = {line.removeprefix("Requires-Dist: ") for line in metadata.splitlines() if line.startswith("Requires-Dist")}
    version = _versions()["api"]
    assert needs == {f"quiclens-{part}=={version}" for part in ("api[embedded]", "collector", "lab")}
    assert f"Version: {version}" in metadata.splitlines()


def _versions() -> dict[str, str]:
    pyprojects = {part: ROOT / part / "pyproject.toml" for part in PARTS}
    versions = {part: tomllib.loads(path.read_text())["project"]["version"] for part, path in pyprojects.items()}
    return versions | {"Cargo": tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]}


def test_all_parts_have_one_version_which_the_command_says() -> None:
    versions = _versions()
    assert len(set(versions.values())) == 1, versions
    done = subprocess.run(
        [sys.executable, "-m", "quiclens_command_line", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"quiclens {versions['api']}\n"
