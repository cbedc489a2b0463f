"""The commands of deploy/README.md's block, in a copy of the tree: `docker` is podman-compose with one override.

Services start in the order of the compose file, each when those on whom it depends are well or have ended, which podman
of Debian 12 cannot wait for by itself; nothing else of a command is changed.
"""

import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quiclens_lab.containers.images import ROOT, ours
from quiclens_lab.containers.services import Service, chosen, read
from quiclens_lab.errors import LabError
from quiclens_lab.outside import said_by
from quiclens_lab.podman import Podman
from quiclens_lab.progress import say

PROJECT = "quiclens-check"
OVERRIDE = Path(__file__).with_name("override.yaml")
STORE = "clickhouse:8443/default"
"""Where the store answers that stands in for ClickHouse."""
_PATIENCE_S = 300
_BUILT_AT = 1_577_836_800  # 2020: a wheel's files are not older than 1980
_AS_JSON = "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout, default=str)"
_FOUND = 0, 1
"""Exit codes of a question: it is answered, or nothing was found."""


@dataclass(frozen=True, slots=True)
class State:
    """How podman says that a container is."""

    status: str
    exit_code: int
    restarts: int


class Composed:
    """The services of one run, in a copy of the tree below `folder`."""

    def __init__(self, podman: Podman, tools: Path, folder: Path) -> None:
        self._podman = podman
        self.tree = folder / "tree"
        copy_of_tree(self.tree)
        self.deploy = self.tree / "deploy"
        self._tools = tools.resolve() / "bin"
        self.profiles = {"tools"}
        """Those that were asked for; `run` names a service whose profile need not be."""
        self.services: Mapping[str, Service] = {}
        self.image_bytes: Mapping[str, int] = {}

    def do(self, command: str) -> str:
        """A command of the page, in the tree: what it says. LabError where it fails."""
        say(f"containers: {command}")
        words = shlex.split(command)
        if words[:1] == ["docker"]:
            return self._docker(words[1:])
        return said_by(["sh", "-ec", command], folder=self.tree, patience_s=600)

    def _docker(self, words: Sequence[str]) -> str:
        compose, file, verb = list(words[:1]), list(words[1:3]), list(words[3:])
        if compose != ["compose"] or file != ["-f", "deploy/compose.yaml"]:
            raise LabError(f"nobody knows here what `docker {' '.join(words)}` does")
        while verb[:1] == ["--profile"]:
            self.profiles.add(verb[1])
            verb = verb[2:]
        if verb[:1] == ["run"] and verb[1:2] == ["--rm"]:
            return self.run(*verb[2:])
        if verb != ["up", "--build", "--detach"]:
            raise LabError(f"nobody knows here what `docker {' '.join(words)}` does")
        if not self.image_bytes:
            self.image_bytes = ours(self._podman, self.tree)
        return self._up()

    def _up(self) -> str:
        """Start all that do not run yet."""
        shown = self.compose("config").stdout
        self.services = read(self._podman.do([str(self._tools / "python"), "-c", _AS_JSON], given=shown))
        for name in self.active:
            if self.state(name) is not None:
                continue
            say(f"containers: {name}")
            for before, after in self.services[name].depends_on.items():
                if after.condition == "service_healthy":
                    self.wait_until_well(before)
                if after.condition == "service_completed_successfully":
                    self.wait_until_ended(before)
            self.compose("up", "--detach", "--no-deps", "--no-build", name)
        return ""

    @property
    def active(self) -> list[str]:
        """All services that `up` starts, in its order; tools are for `run`."""
        return chosen(self.services, self.profiles - {"tools"})

    def run(self, *words: str) -> str:
        """What `run --rm` of a service says, on both its outputs. LabError where it fails; nothing may be found."""
        done = self.compose("run", "--rm", "--no-deps", *words, codes=_FOUND)
        return done.stdout + done.stderr

    def question(self, *words: str) -> Any:
        """A command of quiclens with --json, in a container of its own: its document."""
        said = self.compose("run", "--rm", "--no-deps", "quiclens", *words, "--json", codes=_FOUND).stdout
        return json.loads(said[said.index("{") :])

    def compose(self, *words: str, codes: Sequence[int] = (0,)) -> "subprocess.CompletedProcess[str]":
        """Run podman-compose with the page's file and the override. LabError for an exit code that is none of these."""
        files = ("-f", "deploy/compose.yaml", "-f", str(OVERRIDE))
        profiles = [word for name in sorted({"try", "tools", *self.profiles}) for word in ("--profile", name)]
        done = subprocess.run(
            [str(self._tools / "podman-compose"), "--in-pod=false", "-p", PROJECT, *files, *profiles, *words],
            cwd=self.tree,
            env={**os.environ, **self._podman.environment, "QUICLENS_CLICKHOUSE": STORE},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if done.returncode not in codes:
            raise LabError(f"podman-compose {' '.join(words)}: {(done.stdout + done.stderr).strip()[-2000:]}")
        return done

    def secrets(self) -> Mapping[str, bytes]:
        """What must never be told, by its file's name: all of deploy/secrets but certificates and digests, and the line
        of deploy/.env that `plant` put there."""
        kept = {"deploy/.env": (self.deploy / ".env").read_bytes().strip().splitlines()[-1]}
        for file in (self.deploy / "secrets").iterdir():
            if file.suffix == ".key" or (not file.suffix and file.name != "web_tokens"):
                kept[file.name] = file.read_bytes().strip()
        return kept

    def plant(self) -> None:
        """A secret in deploy/.env, where people put them; compose takes it as nothing."""
        with (self.deploy / ".env").open("a", encoding="utf-8") as file:
            file.write(f"\nCANARY={os.urandom(24).hex()}\n")

    def state(self, service: str) -> State | None:
        """None where there is no container of it."""
        form = "--format={{.State.Status}} {{.State.ExitCode}} {{.RestartCount}}"
        try:
            status, code, restarts = self._podman.do(["podman", "inspect", form, container(service)]).split()
        except LabError:
            return None
        return State(status, int(code), int(restarts))

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

    def wait_until_ended(self, service: str) -> None:
        """LabError, with its last words, when it has not done its work in five minutes."""
        until = time.monotonic() + _PATIENCE_S
        while (state := self.state(service)) is None or (state.status, state.exit_code) != ("exited", 0):
            if time.monotonic() > until:
                raise LabError(f"{service} does not end well: {state}: {self.logs(service)[-2000:]}")
            time.sleep(1)

    def logs(self, service: str) -> str:
        """What it said; of one that was not started, that."""
        if self.state(service) is None:
            return f"{service} was not started"
        return self._podman.do(["podman", "logs", container(service)])

    def inside(self, service: str, *words: str) -> str:
        """What a program says in a service's container."""
        return self._podman.do(["podman", "exec", container(service), *words])

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


def copy_of_tree(into: Path) -> None:
    """What a checkout has, with the changes that were not committed."""
    listed = said_by(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if source.is_file():  # one that was removed is still listed
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, into / name)
    # Layers are known by the times of what is copied into them, too: a tree that is the same builds nothing anew.
    for path in (into, *into.rglob("*")):
        os.utime(path, (_BUILT_AT, _BUILT_AT))


@contextmanager
def composed(podman: Podman, tools: Path, folder: Path) -> Iterator[Composed]:
    """A copy of the tree in which nothing runs yet; what runs is ended, and its volumes removed, afterwards."""
    made = Composed(podman, tools, folder)
    try:
        yield made
    finally:
        made.down()
