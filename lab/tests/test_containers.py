"""What `make containers` looks for is found where it stands; it runs what deploy/README.md prints."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from quiclens_ingest import broker as brokers
from quiclens_ingest import kafka
from quiclens_ingest.broker import BrokerMissing
from quiclens_ingest.kafka import KafkaException

from quiclens_lab import podman
from quiclens_lab.containers import command, composed, telling
from quiclens_lab.containers.composed import Composed, State
from quiclens_lab.containers.images import STANDINS
from quiclens_lab.containers.services import chosen, read
from quiclens_lab.errors import CannotTryError, LabError
from quiclens_lab.judgement import Judgement
from quiclens_lab.page_blocks import block, inline
from quiclens_lab.podman import Podman
from quiclens_lab.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
SECRETS = {
    "store": b"hunter2",
    "web.key": b"-----BEGIN PRIVATE KEY-----\nMIIEvQ\nAbCd==\n-----END PRIVATE KEY-----",
}
COMPOSE = {
    "services": {
        "web": {"image": "w", "depends_on": {"migrate": {"condition": "service_completed_successfully"}}},
        "migrate": {"image": "w", "restart": "on-failure", "depends_on": {"kafka": {"condition": "service_healthy"}}},
        "kafka": {"image": "k", "restart": "unless-stopped", "healthcheck": {"test": ["CMD", "true"]}},
        "server": {"image": "c", "profiles": ["try"]},
        "quiclens": {"image": "w", "profiles": ["tools"]},
    }
}


def test_a_secret_is_found_wherever_a_line_of_it_stands() -> None:
    texts = {
        "a log": "begun\npassword=hunter2 given\n",
        "metrics": "# AbCd==\n",
        "check": "-----BEGIN PRIVATE KEY-----\n",
    }
    assert telling.among(texts, SECRETS) == [("a log", "store"), ("metrics", "web.key")]


def test_a_secret_is_found_in_the_layers_of_an_image(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    archive.write_bytes(b"\0" * 5000 + b"-----BEGIN PRIVATE KEY-----" + b"\0" * 5000)
    assert telling.in_file(archive, SECRETS) == []
    archive.write_bytes(b"\0" * 5000 + SECRETS["web.key"] + b"\0" * 5000)
    assert telling.in_file(archive, SECRETS) == ["web.key"]


class _Podman:
    """Builds images of the bytes that a careless build would take."""

    def __init__(self, ignores: bool, stores: bool) -> None:
        self._ignores, self._stores, self._image = ignores, stores, b""

    def build(self, image: str, file: Path, context: Path, *, ignore: Path | None = None) -> None:
        assert "COPY . " in file.read_text()
        is_kept_out = ignore is not None and self._ignores
        self._image = b"layers" if is_kept_out or not self._stores else b"".join(SECRETS.values())

    def do(self, words: list[str]) -> str:
        if words[1:3] == ["image", "save"]:
            Path(words[4].partition("=")[2]).write_bytes(self._image)
        return ""


def test_the_search_of_images_is_proved_and_so_is_the_ignore_file(tmp_path: Path) -> None:
    def proof(podman: Any) -> list[str]:
        return telling.proof(podman, tmp_path, SECRETS, tmp_path)

    assert proof(_Podman(ignores=True, stores=True)) == []
    assert proof(_Podman(ignores=False, stores=True)) == [
        f"deploy/Dockerfile.dockerignore lets a careless build take {name}" for name in SECRETS
    ]
    assert proof(_Podman(ignores=True, stores=False)) == [
        f"the search finds no {name} in an image that has it" for name in SECRETS
    ]


def test_metrics_of_every_process_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"http://127.0.0.1:9464/metrics": "quiclens_ingest_x 1", "http://collector:9465/metrics": "hunter2"}

    class Answering:
        def inside(self, service: str, *words: str) -> str:
            return told[words[-1]]

    running: Any = Answering()
    monkeypatch.setattr(command, "_asked", lambda _, path: (200, f"quiclens_serve_x 1 of {path}"))
    with pytest.raises(LabError, match="/metrics of the collector has no quiclens_collector_"):
        command._metrics(running)
    told["http://collector:9465/metrics"] += "\nquiclens_collector_x 1"
    texts = command._metrics(running)
    assert set(texts) == {"/metrics of ingest", "/metrics of the collector", "/metrics of web"}
    assert telling.among(texts, {"store": b"hunter2"}) == [("/metrics of the collector", "store")]
    config = tomllib.loads((ROOT / "deploy" / "containers" / "collector.toml").read_text())
    port = config["metrics_address"].rpartition(":")[2]
    assert command._METRICS["the collector"][0] == f"http://collector:{port}/metrics" and config["metrics_public"]


def test_services_start_behind_those_on_whom_they_depend() -> None:
    services = read(json.dumps(COMPOSE))
    assert chosen(services, []) == ["kafka", "migrate", "web"]
    assert chosen(services, ["try"]) == ["kafka", "migrate", "web", "server"]
    assert [name for name, each in services.items() if each.ends] == ["web", "migrate", "server", "quiclens"]


class _Running:
    """Services of which one may be in another state than it should, and what retention says."""

    def __init__(self, swept: str, **states: State) -> None:
        self.services = read(json.dumps(COMPOSE))
        self.services["retention"] = self.services["kafka"]
        self.active = ["kafka", "migrate", "retention"]
        self._swept, self._states = swept, states

    def state(self, name: str) -> State:
        return self._states.get(name, State("exited" if name == "migrate" else "running", 0, 0))

    def is_well(self, name: str) -> bool:
        return True

    def logs(self, name: str) -> str:
        return self._swept


def _missed(running: Any) -> list[str]:
    judgement = Judgement("containers")
    command._services(judgement, running)
    return judgement.missed


def test_a_service_that_ended_or_came_again_and_a_retention_that_did_nothing_are_missed() -> None:
    swept = "INFO dropped 0 partitions; 1 MB stay"
    assert _missed(_Running(swept)) == []
    assert _missed(_Running("nothing was dropped: no store")) == [
        "retention has not swept: nothing was dropped: no store"
    ]
    for state in (State("exited", 1, 0), State("running", 0, 3)):
        (missed,) = _missed(_Running(swept, retention=state))
        assert missed.startswith(f"retention is {state}")
    (missed,) = _missed(_Running(swept, migrate=State("exited", 1, 0)))
    assert missed.startswith("migrate is ")


def test_a_copy_of_the_tree_is_a_checkout_and_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("one", "other"):
        composed.copy_of_tree(tmp_path / name)
    one, other = (
        {path.relative_to(tmp_path / name): path.stat().st_mtime for path in (tmp_path / name).rglob("*")}
        for name in ("one", "other")
    )
    assert one == other and len(set(one.values())) == 1
    assert (tmp_path / "one" / "deploy" / "compose.yaml").read_bytes() == (ROOT / "deploy/compose.yaml").read_bytes()
    assert not (tmp_path / "one" / ".venv").exists() and not (tmp_path / "one" / "target").exists()


def test_the_page_is_run_as_it_stands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done: list[str] = []
    running = Composed.__new__(Composed)
    running.tree, running.profiles, running.image_bytes = tmp_path, {"tools"}, {"web": 1}

    def noted(*words: str) -> str:
        done.append(" ".join(words))
        return ""

    monkeypatch.setattr(composed, "said_by", lambda words, **_: noted(words[-1]))
    monkeypatch.setattr(Composed, "_up", lambda _: noted("up"))
    monkeypatch.setattr(
        Composed, "compose", lambda _, *words, **__: subprocess.CompletedProcess(words, 0, noted(*words), "")
    )
    commands = block(command.PAGE, command._BLOCK)
    assert commands[0] == "deploy/containers/secrets", "secrets are drawn before anything is built"
    for each in [*commands, inline(command.PAGE, command._TRY)]:
        running.do(each)
    assert done == [
        "deploy/containers/secrets",
        "cp deploy/.env.example deploy/.env",
        "up",
        "run --rm --no-deps quiclens slow",
        "run --rm --no-deps quiclens status --config /etc/quiclens/ingest.toml --metrics ingest:9464",
        "run --rm --no-deps erase --client 203.0.113.0/24 --dry-run",
        "up",
    ]
    assert running.profiles == {"tools", "try"}
    with pytest.raises(LabError, match="nobody knows here"):
        running.do("docker compose -f deploy/compose.yaml up --detach --quick")


def test_a_questions_document_is_read_and_what_podman_says_beside_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    running = Composed.__new__(Composed)
    done = subprocess.CompletedProcess((), 1, 'a container\n{"samples": 3}\n', "next: quiclens slow\n{}\n")
    monkeypatch.setattr(Composed, "compose", lambda *_, **__: done)
    assert running.question("audit") == {"samples": 3}
    assert running.run("quiclens", "audit").endswith("next: quiclens slow\n{}\n")


def test_containers_that_find_no_names_are_no_finding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here = Podman.__new__(Podman)
    monkeypatch.setattr(Podman, "do", lambda _, words: "cni\n")
    monkeypatch.setitem(podman._NAMES, "cni", (tmp_path / "dnsname", "the-package"))
    with pytest.raises(CannotTryError, match="apt install the-package"):
        here.knows_names()
    (tmp_path / "dnsname").touch()
    here.knows_names()


class _Broker:
    """deploy/kafka/start with the scripts of its stand-in, in a folder: what they are told is noted."""

    def __init__(self, folder: Path, jars: Path) -> None:
        self.folder, self.secrets = folder, folder / "secrets"
        numbers = [free_port() for _ in range(3)]
        ports = dict(zip(("9092", "9093", "9094"), map(str, numbers), strict=True))
        self.clients, self.ready = f"localhost:{ports['9092']}", folder / "passwords-are-set"
        shutil.copytree(DEPLOY / "containers", folder / "containers")
        self.draw()
        (folder / "run").mkdir()
        for name in ("admin", "collector", "ingest"):
            (folder / "run" / f"kafka_{name}_password").symlink_to(self.secrets / f"kafka_{name}")
        (folder / "run" / "kafka").symlink_to(self.secrets / "kafka.pem")
        (folder / "kafka" / "bin").mkdir(parents=True)
        (folder / "kafka" / "libs").symlink_to(jars)
        (folder / "told").touch()
        places = {
            "/opt/kafka": f"{folder}/kafka",
            "/etc/kafka": str(folder),
            "/run/secrets": f"{folder}/run",
            "/var/lib/kafka/data": f"{folder}/data",
            "/tmp/passwords-are-set": str(self.ready),
            "//kafka:": "//localhost:",
            **ports,
        }
        for script in sorted((STANDINS / "kafka").iterdir()):
            interpreter, rest = script.read_text().split("\n", 1)
            noted = f'{interpreter}\nprintf "%s\\n" "$@" >>{folder}/told\n{rest}'
            self._write(folder / "kafka" / "bin" / script.name, noted, places)
        self._write(folder / "start", (DEPLOY / "kafka" / "start").read_text(), places)
        self._write(folder / "quiclens.properties", (DEPLOY / "kafka" / "server.properties").read_text(), places)

    @staticmethod
    def _write(path: Path, text: str, places: Mapping[str, str]) -> None:
        known = re.compile("|".join(map(re.escape, places)))
        path.write_text(known.sub(lambda found: places[found[0]], text))
        path.chmod(0o755)

    def draw(self) -> None:
        subprocess.run([self.folder / "containers" / "secrets"], check=True)

    def password(self, user: str) -> str:
        return (self.secrets / f"kafka_{user}").read_text().strip()

    @contextmanager
    def running(self) -> Iterator[None]:
        """The passwords are set when it begins, as the health check of deploy/compose.yaml asks."""
        self.ready.unlink(missing_ok=True)
        with (self.folder / "log").open("a") as log:
            process = subprocess.Popen([self.folder / "start"], stdout=log, stderr=log, start_new_session=True)
        try:
            until = time.monotonic() + 120
            while not self.ready.exists():
                assert process.poll() is None and time.monotonic() < until, (self.folder / "log").read_text()[-2000:]
                time.sleep(0.2)
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def let_in(self, user: str, password: str) -> None:
        """KafkaException where the broker refuses."""
        client = {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.secrets / "ca.pem"),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": password,
        }
        kafka.consumer(self.clients, "group", 1, client).list_topics(timeout=10)


@pytest.mark.long
@pytest.mark.kafka
def test_a_password_of_kafka_that_changes_is_set_at_the_next_start_and_no_process_shows_it(tmp_path: Path) -> None:
    try:
        broker = _Broker(tmp_path, brokers.fetch_jars())
        with broker.running():
            before = broker.password("collector")
            broker.let_in("collector", before)
    except BrokerMissing as missing:
        pytest.skip(f"no broker: {missing}")
    (broker.secrets / "kafka_collector").unlink()
    broker.draw()
    with broker.running():
        assert broker.password("collector") != before
        for user in ("admin", "collector", "ingest"):
            broker.let_in(user, broker.password(user))
        with pytest.raises(KafkaException, match=r"(?i)auth|broker"):
            broker.let_in("collector", before)
    told = (tmp_path / "told").read_text()
    assert "--add-config-file\n/dev/stdin\n" in told
    shown = {before, *(broker.password(user) for user in ("admin", "collector", "ingest"))}
    assert {password for password in shown if password in told + (tmp_path / "log").read_text()} == set()
    check = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["kafka"]["healthcheck"]["test"]
    assert "test -e /tmp/passwords-are-set && " in " ".join(check)


def test_the_override_is_of_services_that_are_there() -> None:
    # Compose's marks say what replaces a value, and does not add to it.
    loader: Any = type("Loader", (yaml.SafeLoader,), {})
    loader.add_multi_constructor("!", lambda _, mark, node: None)
    override = yaml.load(composed.OVERRIDE.read_text(), loader)
    services = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]
    assert set(override["services"]) <= set(services)
