"""A machine of packages alone that systemd has booted: a container."""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from quiclens_lab.errors import LabError
from quiclens_lab.podman import Podman, mounted

IMAGE = "localhost/quiclens-bare:bookworm"
PACKAGES = "ca-certificates,systemd,systemd-sysv,dbus,python3,python3-venv"
_BOOT = "until systemctl is-system-running; do sleep 1; done"


@dataclass(frozen=True, slots=True)
class Unit:
    """How systemd says that a unit is."""

    active: str
    sub: str
    result: str
    restarts: int

    @property
    def runs(self) -> bool:
        return (self.active, self.result) == ("active", "success")


@dataclass(frozen=True, slots=True)
class Booted:
    """A container whose first process is systemd."""

    podman: Podman
    name: str

    def do(self, script: str, patience_s: float = 900) -> str:
        """What a script of bash says there, as root. LabError where it fails."""
        return self.podman.do(["podman", "exec", self.name, "bash", "-ec", script], patience_s)

    def unit(self, name: str) -> Unit:
        names = ("ActiveState", "SubState", "Result", "NRestarts")
        said = self.do(f"systemctl show {name} {' '.join(f'--property={each}' for each in names)}")
        found = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
        restarts = int(found.get("NRestarts", "0"))  # a unit that runs once has none
        return Unit(found["ActiveState"], found["SubState"], found["Result"], restarts)

    def exposure(self, name: str) -> float:
        """By `systemd-analyze security`; 10 is the worst."""
        said = self.do(f"systemd-analyze security --no-pager {name} | tail -n 1")
        found = re.search(r"exposure level for \S+: ([\d.]+)", said)
        if found is None:
            raise LabError(f"systemd-analyze said {said.strip()[-300:]!r}")
        return float(found[1])

    def journal(self, unit: str) -> str:
        return self.do(f"journalctl --no-pager --all --output=cat --unit {unit}")

    def until(self, is_so: Callable[[], bool], otherwise: str, patience_s: float) -> float:
        """Seconds until it is so; LabError when it is not in that time."""
        began = time.monotonic()
        while not is_so():
            if time.monotonic() > began + patience_s:
                raise LabError(f"{otherwise} within {patience_s:g} s")
            time.sleep(1)
        return round(time.monotonic() - began, 1)


@contextmanager
def booted(podman: Podman, shown: Mapping[Path, str], options: Sequence[str] = ()) -> Iterator[Booted]:
    """A machine that has booted and is shown these folders; gone afterwards."""
    name = f"quiclens-installed-{os.getpid()}"
    words = ["--detach", f"--name={name}", "--systemd=always", *options, *mounted(shown)]
    podman.do(["podman", "run", *words, IMAGE, "/sbin/init"])
    try:
        podman.do(["podman", "exec", name, "bash", "-c", _BOOT], 120)
        yield Booted(podman, name)
    finally:
        podman.do(["podman", "rm", "--force", name])
