"""Each part of the bar, in a stage of its own."""

import tempfile
import time
from pathlib import Path
from typing import Any

from quiclens_lab.errors import CannotTryError
from quiclens_lab.installed import artefacts, units
from quiclens_lab.installed.booted import IMAGE, PACKAGES, booted
from quiclens_lab.installed.deb import LOG, connections_of, shipped
from quiclens_lab.judgement import Judgement
from quiclens_lab.machine import LAB
from quiclens_lab.podman import Podman, mounted, network
from quiclens_lab.progress import say

SECONDS = 90.0
"""From `pip install` to the first explained request."""
GLIBC = (2, 17)
WHEELS = f"""set -e
for tool in cc gcc cargo node java; do if command -v $tool; then echo "$tool is here"; exit 1; fi; done
cd /root && python3 -m venv {units.HOME}/.venv && {units.HOME}/.venv/bin/pip install --quiet /dist/*.whl
{units.HOME}/.venv/bin/quiclens demo >demo.txt && cat demo.txt
"""


def installed(dist: Path, base: Path, keep: bool) -> dict[str, Any]:
    """Install what stands in `dist`; `passes` is false where a bar is missed. CannotTryError without a release."""
    if len(list(dist.glob("*.deb"))) != 1 or not list(dist.glob("*.whl")):
        raise CannotTryError(f"{dist} has no wheels or not one deb; `make release` fills it")
    judgement = Judgement("installed")
    with tempfile.TemporaryDirectory(prefix="quiclens-installed-") as scratch:
        podman = Podman(Path(scratch), ["objdump", "bsdtar"])
        _artefacts(judgement, dist, Path(scratch))
        with judgement.stage("a Debian of packages alone"):
            podman.debian(base, PACKAGES, IMAGE)
        home = Path(scratch) / "home"
        home.mkdir()
        with judgement.stage("the wheels"):
            _wheels(judgement, podman, dist, home)
        with judgement.stage("the deb"):
            _deb(judgement, podman, dist, Path(scratch))
        with judgement.stage("the units"):
            say("installed: the units, as deploy/README.md installs them")
            units.prepare(LAB.parent, home)
            with booted(podman, {}, [f"--volume={home}:{units.HOME}"]) as machine:
                units.look(judgement, machine)
    return judgement.document(keep)


def _artefacts(judgement: Judgement, dist: Path, scratch: Path) -> None:
    """The files of a release, before any is installed."""
    wrong = {"sums": artefacts.wrong_sums, "the SBOM": artefacts.wrong_sbom}
    for name, look in wrong.items():
        with judgement.stage(name):
            for each in look(dist):
                judgement.miss(each)
    with judgement.stage("the rpm"):
        for each in artefacts.unlike(dist, scratch):
            judgement.miss(each)
    with judgement.stage("glibc"):
        needed = artefacts.glibc(dist, scratch)
        judgement.found["glibc"] = ".".join(map(str, needed))
        judgement.want(needed <= GLIBC, f"the collector needs glibc {needed}, {GLIBC} is allowed")
    judgement.found["files"] = sorted(path.name for path in dist.iterdir())


def _wheels(judgement: Judgement, podman: Podman, dist: Path, home: Path) -> None:
    say("installed: the wheels, on a Debian without a compiler")
    began = time.monotonic()
    options = [*mounted({dist: "/dist"}), *network(), f"--volume={home}:{units.HOME}"]
    demo = podman.run(IMAGE, options, WHEELS)
    seconds = round(time.monotonic() - began, 1)
    judgement.found["install_and_demo_s"] = seconds
    judgement.want("sum" in demo, "the demo explained no request")
    judgement.want(seconds <= SECONDS, f"pip install and demo took {seconds} s, {SECONDS} are allowed")


def _deb(judgement: Judgement, podman: Podman, dist: Path, scratch: Path) -> None:
    say("installed: the deb, under systemd")
    exposure, ids, telling = shipped(podman, dist, scratch / "given")
    wanted = connections_of(LOG)
    judgement.found |= {"exposure": exposure, "connections": ids}
    judgement.want(ids == wanted, f"the service shipped the connections {ids}, the log has {wanted}")
    for where in telling:
        judgement.miss(f"{where} tells a secret")
    most = units.EXPOSURE
    judgement.want(exposure <= most, f"exposure of the deb's unit is {exposure}, {most} is allowed")
