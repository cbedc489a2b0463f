"""podman, with settings that work where this process runs: images from Debian's packages, and containers of them."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from quiclens_lab.errors import CannotTryError, LabError
from quiclens_lab.machine import machine
from quiclens_lab.outside import said_by
from quiclens_lab.progress import say

# Neither more descriptors than this process may give, nor cgroups of a manager that is not here.
_SETTINGS = """[containers]
default_ulimits = ["nofile=4096:{files}", "nproc=4096:8192"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
"""
_PACKAGES = "podman runc mmdebstrap binutils libarchive-tools"
_NAMES = {
    "cni": (Path("/usr/lib/cni/dnsname"), "golang-github-containernetworking-plugin-dnsname"),
    "netavark": (Path("/usr/lib/podman/aardvark-dns"), "aardvark-dns"),
}
"""What lets containers of a network know each other by name, and its package; podman asks for it and needs it not."""
CERTIFICATES = Path("/usr/local/share/ca-certificates")
"""Whom this machine trusts beside Debian's authorities."""


class Podman:
    """podman of one run; its settings lie in a folder that outlives it. CannotTryError where the tools are not here."""

    def __init__(self, scratch: Path, more: Sequence[str] = ()) -> None:
        for tool in ("podman", "runc", "mmdebstrap", *more):
            if shutil.which(tool) is None:
                raise CannotTryError(f"{tool} is not here: apt install {_PACKAGES}")
        settings = scratch / "containers.conf"
        settings.write_text(_SETTINGS.format(files=machine()["open_files"]))
        self.environment: Mapping[str, str] = {"CONTAINERS_CONF": str(settings)}

    def knows_names(self) -> None:
        """CannotTryError where containers do not find each other by name."""
        backend = self.do(["podman", "info", "--format={{.Host.NetworkBackend}}"]).strip()
        program, package = _NAMES[backend]
        if not program.exists():
            raise CannotTryError(f"containers find no names here: apt install {package}")

    def debian(self, archive: Path, packages: str, image: str) -> None:
        """An image of packages alone, made where there is none yet; its archive too."""
        if not archive.exists():
            say(f"podman: {archive}, a Debian of packages; two minutes")
            archive.parent.mkdir(parents=True, exist_ok=True)
            draft = archive.with_suffix(".new.tar")
            self.do(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={packages}", "bookworm", str(draft)])
            draft.rename(archive)
        try:
            self.do(["podman", "image", "exists", image])
        except LabError:
            self.do(["podman", "import", "--quiet", str(archive), image])

    def build(self, image: str, file: Path, context: Path, *, ignore: Path | None = None, target: str = "") -> None:
        """An image from its file, by the network of this machine; layers that are there are taken."""
        command = ["podman", "build", "--quiet", "--layers", "--network=host", f"--tag={image}", f"--file={file}"]
        command += [f"--ignorefile={ignore}"] if ignore else []
        command += [f"--target={target}"] if target else []
        self.do([*command, str(context)], patience_s=3600)

    def run(self, image: str, options: Sequence[str], script: str) -> str:
        """What a shell's script says in a container of its own."""
        return self.do(["podman", "run", "--rm", *options, image, "bash", "-c", script])

    def do(self, command: Sequence[str], patience_s: float = 900, given: str = "") -> str:
        """What a command says, with these settings."""
        return said_by(command, self.environment, patience_s=patience_s, given=given)


def mounted(folders: Mapping[Path, str]) -> list[str]:
    """Options of `podman run` that show these folders or files in a container."""
    return [f"--volume={path.resolve()}:{place}:ro" for path, place in folders.items()]


def network() -> list[str]:
    """The machine's network, and what its pip is told: which registry, whose certificates."""
    names = sorted(name for name in os.environ if re.match(r"PIP_|SSL_|REQUESTS_CA|https?_proxy|no_proxy", name, re.I))
    places = mounted({path: str(path) for path in (Path("/etc/ssl/certs"), CERTIFICATES) if path.is_dir()})
    if Path("/etc/pip.conf").is_file():
        places += mounted({Path("/etc/pip.conf"): "/etc/pip.conf"})
    return ["--network=host", *(f"--env={name}" for name in names), *places]
