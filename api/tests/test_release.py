"""What `make release` packs: checked without building it, which takes minutes and the tools of the release."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "deploy" / "packages"
COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", ROOT / "target" / "release" / "quiclens-collector"))
STABILITY = (ROOT / "deploy" / "docs" / "stability.md").read_text()


def test_a_package_holds_files_that_are_there_and_what_its_unit_needs() -> None:
    package = yaml.safe_load((PACKAGES / "quiclens-collector.yaml").read_text())
    files = {each["dst"]: each for each in package["contents"]}
    for each in package["contents"]:
        assert each["src"] == "${COLLECTOR}" or (ROOT / each["src"]).is_file(), each
    for script in package["scripts"].values():
        assert subprocess.run(["sh", "-n", ROOT / script], check=False).returncode == 0, script
    unit = (ROOT / "deploy" / "systemd" / "quiclens-collector.service").read_text()
    commands = re.findall(r"(?m)^Exec\w+=(\S+)", unit)
    assert commands and set(commands) <= set(files)
    assert set(re.findall(r"/etc/quiclens/\S+\.toml", unit)) <= set(files)
    assert files["/etc/quiclens/collector.toml"]["type"] == "config|noreplace"
    (user,) = re.findall(r"(?m)^User=(\S+)", unit)
    assert f"u {user} " in (PACKAGES / "sysusers.conf").read_text()


def test_the_packed_settings_are_those_of_the_unit_and_the_collector_takes_them() -> None:
    settings = tomllib.loads((PACKAGES / "collector.toml").read_text())
    unit = (ROOT / "deploy" / "systemd" / "quiclens-collector.service").read_text()
    (state,) = re.findall(r"(?m)^StateDirectory=(\S+)", unit)
    assert settings["state_dir"] == f"/var/lib/{state}"
    command = [str(COLLECTOR), "check", "--quiet", str(PACKAGES / "collector.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_collectors_wheel_is_built_of_this_trees_collector() -> None:
    wheel = tomllib.loads((ROOT / "collectors" / "wheel" / "pyproject.toml").read_text())
    cargo = ROOT / "collectors" / "wheel" / wheel["tool"]["maturin"]["manifest-path"]
    assert tomllib.loads(cargo.read_text())["bin"][0]["name"] == wheel["project"]["name"] == "quiclens-collector"
    assert (
        wheel["project"]["version"]
        == tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    )


def test_what_is_promised_to_stay_is_there() -> None:
    (tables,) = re.findall(r"(?m)^\| tables .*$", STABILITY)
    schema = (ROOT / "schema" / "clickhouse" / "schema.sql").read_text()
    there = set(re.findall(r"(?m)^CREATE (?:TABLE|VIEW) (\w+)", schema))
    promised = set(re.findall(r"`(\w+)`", tables))
    assert promised and promised <= there
