"""deploy/: no container runs here, so what can be known without one is checked: files, settings, images, commands."""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml
from api_ran import Run
from quiclens_ingest import broker

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", ROOT / "target" / "release" / "quiclens-collector"))
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def filled(service: str, file: str, folder: Path) -> Path:
    """A configuration file of `make up` as the container's entry point fills it in, with the service's environment."""
    environment = {name: str(value) for name, value in SERVICES[service]["environment"].items()}
    done = subprocess.run(
        [DEPLOY / "fill", DEPLOY / "local" / file, "cat"],
        env={"PATH": os.environ["PATH"], "TMPDIR": str(folder), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "@" not in re.sub(r"(?m)^#.*", "", done.stdout)
    target = folder / file
    target.write_text(done.stdout)
    return target


def test_every_service_is_bounded_pinned_and_on_loopback() -> None:
    for name, service in SERVICES.items():
        assert re.fullmatch(r"[a-z/-]+:\d+\.\d+(\.\d+)?", service["image"]), name
        assert "mem_limit" in service, name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        for other in service.get("depends_on", {}):
            needs = service["depends_on"][other]["condition"]
            assert needs != "service_healthy" or "healthcheck" in SERVICES[other], (name, other)


def test_secrets_come_from_the_environment_and_are_asked_for() -> None:
    secret = re.compile("PASSWORD|TOKEN|SECRET")
    for name, service in SERVICES.items():
        for variable, value in service.get("environment", {}).items():
            if secret.search(variable):
                assert re.fullmatch(r"\$\{[A-Z_]+:\?\}", value), (name, variable)
    wanted = set(re.findall(r"\$\{([A-Z_]+):\?\}", (DEPLOY / "compose.yaml").read_text()))
    offered = set(re.findall(r"(?m)^([A-Z_]+)=", (DEPLOY / ".env.example").read_text()))
    assert wanted <= offered


def test_what_is_mounted_exists_and_volumes_are_declared() -> None:
    for service in SERVICES.values():
        for volume in service.get("volumes", []):
            source = volume.rpartition("}")[0] + "}" if volume.startswith("$") else volume.split(":")[0]
            assert source.startswith("$") or source in COMPOSE["volumes"] or (DEPLOY / source).is_file(), volume


def test_the_images_copy_what_exists_and_what_the_context_lets_through() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    let_through = re.findall(r"(?m)^!(.*)", (DEPLOY / "Dockerfile.dockerignore").read_text())
    for line in re.findall(r"(?m)^COPY (?!--from)(.*)", text):
        for source in line.split()[:-1]:
            assert (ROOT / source).exists(), source
            assert any(source == each or source.startswith(f"{each}/") for each in let_through), source
    stages = set(re.findall(r"(?m)^FROM .* AS (\w+)", text))
    assert {service["build"]["target"] for service in OURS.values()} <= stages
    for service in OURS.values():
        assert (DEPLOY / service["build"]["dockerfile"].removeprefix("deploy/")).is_file()


def test_the_command_runs_where_the_image_puts_the_parts(tmp_path: Path) -> None:
    for part in ("schema", "ingest/quiclens_ingest", "api/quiclens_api"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("tests", "__pycache__", "vectors"))
    parts = os.pathsep.join(str(tmp_path / part) for part in ("schema", "ingest", "api"))
    program = "import quiclens_api, quiclens_schema.topics as t; print(quiclens_api.__file__); print(len(t.load()))"
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": parts}, capture_output=True, text=True
    )
    where, topics = done.stdout.split()
    assert Path(where).is_relative_to(tmp_path)
    assert int(topics) == len(list((ROOT / "schema" / "topics").glob("*.toml")))


def test_the_broker_is_set_up_as_the_one_of_make_up() -> None:
    local = dict(line.split("=", 1) for line in broker._PROPERTIES.strip().splitlines())
    own = {"node.id", "process.roles", "listeners", "advertised.listeners", "controller.quorum.voters", "log.dirs"}
    own |= {"listener.security.protocol.map", "controller.listener.names"}
    environment = SERVICES["kafka"]["environment"]
    for name, value in local.items():
        if name not in own:
            assert str(environment[f"KAFKA_{name.upper().replace('.', '_')}"]) == value, name


def test_ingest_takes_its_settings(run: Run, tmp_path: Path) -> None:
    config = filled("ingest", "ingest.toml", tmp_path)
    program, *words = SERVICES["ingest"]["command"]
    assert program == "quiclens"
    ran = run(*words, str(config), "--check", "--json")
    assert ran.code == 0
    assert (ran.document["brokers"], ran.document["metrics_address"]) == ("kafka:9092", "0.0.0.0:9464")
    grace = int(SERVICES["ingest"]["stop_grace_period"].removesuffix("s"))
    assert grace > ran.document["drain_seconds"]


def test_the_collector_takes_its_settings(tmp_path: Path) -> None:
    if not COLLECTOR.exists():
        pytest.skip("no quiclens-collector: cargo build --release")
    config = filled("collector", "collector.toml", tmp_path)
    done = subprocess.run([COLLECTOR, "check", config], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'brokers = "kafka:9092"' in done.stdout
    inside = [volume.split(":")[-1] for volume in SERVICES["collector"]["volumes"]]
    assert "/quiclens/collector" in inside and 'state_dir = "/quiclens/collector"' in done.stdout


def test_a_mark_without_a_value_stops_the_container(tmp_path: Path) -> None:
    done = subprocess.run(
        [DEPLOY / "fill", DEPLOY / "local" / "collector.toml", "cat"],
        env={"PATH": os.environ["PATH"], "BROKERS": "kafka:9092"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert "wants DIR in the environment" in done.stderr


@pytest.mark.parametrize("service", ["migrate", "ingest", "retention"])
def test_the_words_of_a_service_are_commands_and_options_that_exist(run: Run, service: str) -> None:
    words = " ".join(SERVICES[service]["command"])
    (command,) = re.findall(r"(?:quiclens |^)(migrate|ingest|retention)\b", words)
    assert run(command, "--help").code == 0
    help_text = run(command, "--help").out
    for option in re.findall(r"--[a-z-]+", words):
        assert option in help_text, option


def test_grafana_reads_as_the_reader_that_clickhouse_knows() -> None:
    (source,) = yaml.safe_load((DEPLOY / "grafana" / "datasource.yaml").read_text())["datasources"]
    users = ET.parse(DEPLOY / "clickhouse" / "reader.xml").getroot().find("users")
    assert users is not None
    user = users.find(source["jsonData"]["username"])
    password = user.find("password") if user is not None else None
    assert password is not None
    assert source["secureJsonData"]["password"] == f"${password.get('from_env')}"
    for service in ("clickhouse", "grafana"):
        assert password.get("from_env") in SERVICES[service]["environment"]
    assert source["jsonData"]["host"] in SERVICES
    assert source["type"] in SERVICES["grafana"]["environment"]["GF_PLUGINS_PREINSTALL"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_accepts_the_unit(unit: Path, tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze")
    # The programs are not installed here; their options are checked elsewhere.
    text = re.sub(r"(?m)^(ExecStart(?:Pre)?)=\S+", r"\1=/bin/true", unit.read_text())
    copy = tmp_path / unit.name
    copy.write_text(text)
    done = subprocess.run([analyze, "verify", copy], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_units_use_the_files_that_the_readme_installs(unit: Path) -> None:
    readme = (DEPLOY / "README.md").read_text()
    for path in re.findall(r"(?m)^ExecStart=(\S+)", unit.read_text()):
        assert path in readme, path
    for path in re.findall(r"/etc/quiclens/\w+\.toml|/var/lib/[\w-]+", unit.read_text()):
        assert path in readme, path


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_given_what_it_needs_and_no_more(unit: Path) -> None:
    # An exposure of 2.0 at most; 10 is the worst. That the services run so was tried under systemd.
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
