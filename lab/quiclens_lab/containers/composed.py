"""deploy/compose.yaml, run by podman-compose in a copy of deploy/: services in order, each when those before it are
well, which podman of Debian 12 cannot wait for by itself."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quiclens_lab.containers.images import ROOT
from quiclens_lab.errors import LabError
from quiclens_lab.podman import Podman
from quiclens_lab.progress import say

PROJECT = "quiclens-check"
OVERRIDE = Path(__file__).with_name("override.yaml")
STORE = "clickhouse:8443/default"
"""Where the store answers that stands in for ClickHouse."""
_PATIENCE_S = 300


class Composed:
    """The services of one run."""

    def __init__(self, podman: Podman, tools: Path, folder: Path) -> None:
        self._podman = podman
        self.deploy = folder / "deploy"
        shutil.copytree(ROOT / "deploy", self.deploy, ignore=shutil.ignore_patterns("secrets.*", ".env"))
        (self.deploy / ".env").write_text("QUICLENS_RUNBOOK=https://git.example/RUNBOOK.md\n")
        files = ("-f", str(self.deploy / "compose.yaml"), "-f", str(OVERRIDE))
        self._compose = [str(tools.resolve() / "bin" / "podman-compose"), "--in-pod=false", "-p", PROJECT, *files]

    def secrets(self, *words: str) -> Mapping[str, bytes]:
        """Run deploy/containers/secrets; what must never be told, by the file's name: all but certificates."""
        self._podman.do([str(self.deploy / "containers" / "secrets"), *words])
        kept = {}
        for file in (self.deploy / "secrets").iterdir():
            if file.suffix == ".key" or (not file.suffix and file.name != "web_tokens"):
                kept[file.name] = file.read_bytes().strip()
        return kept

    def up(self, service: str) -> None:
        """Start one service alone."""
        self.compose("up", "--detach", "--no-deps", "--no-build", service)

    def to_its_end(self, service: str) -> str:
        """Run a service that ends; what it said. LabError where it failed."""
        return self.compose("run", "--rm", "--no-deps", service)

    def compose(self, *words: str) -> str:
        environment = {**self._podman.environment, "QUICLENS_CLICKHOUSE": STORE}
        done = subprocess.run(
            [*self._compose, "--profile", "try", "--profile", "tools", *words],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if done.returncode != 0:
            raise LabError(f"podman-compose {' '.join(words)}: {(done.stdout + done.stderr).strip()[-2000:]}")
        return done.stdout

    def is_well(self, service: str) -> bool:
        """Whether the service's own health check passes."""
        try:
            self._podman.do(["podman", "healthcheck", "run", container(service)])
        except LabError:
            return False
        return True

    def wait_until_well(self, service: str) -> None:
        """LabError, with its last words, when it is not well for five minutes."""
        until = time.monotonic() + _PATIENCE_S
        while not self.is_well(service):
            if time.monotonic() > until:
                raise LabError(f"{service} is not well: {self.logs(service)[-2000:]}")
            time.sleep(1)

    def logs(self, service: str) -> str:
        return self._podman.do(["podman", "logs", container(service)])

    def inside(self, service: str, *words: str) -> str:
        """What a program says in a service's container."""
        return self._podman.do(["podman", "exec", container(service), *words])

    def command(self, *words: str) -> Any:
        """A command of quiclens with --json, in a container of its own: its document."""
        said = self.compose("run", "--rm", "--no-deps", "quiclens", *words, "--json")
        return json.loads(said[said.index("{") :])

    def inspected(self) -> str:
        """What podman tells of all containers: their environment, their words, their mounts."""
        names = self._podman.do(
            ["podman", "ps", "--all", "--quiet", f"--filter=label=io.podman.compose.project={PROJECT}"]
        )
        return self._podman.do(["podman", "inspect", *names.split()])

    def down(self) -> None:
        self.compose("down", "--volumes", "--timeout", "10")


def container(service: str) -> str:
    return f"{PROJECT}_{service}_1"


@contextmanager
def composed(podman: Podman, tools: Path, folder: Path, services: Sequence[str]) -> Iterator[Composed]:
    """All services up and well; ended, and their volumes removed, afterwards."""
    made = Composed(podman, tools, folder)
    made.secrets()
    try:
        for service in ("kafka", "clickhouse"):
            say(f"containers: {service}")
            made.up(service)
            made.wait_until_well(service)
        say(f"containers: migrate: {made.to_its_end('migrate').strip()}")
        for service in services:
            say(f"containers: {service}")
            made.up(service)
        yield made
    finally:
        made.down()
