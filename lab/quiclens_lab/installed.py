"""`quiclens-lab installed`: is what `make release` made enough for a machine that has nothing?

A Debian of packages alone, made by mmdebstrap and run by podman, has Python and systemd, and no compiler. There the
wheels are installed and the demo explains its first request, within a time; the deb's service, under a real systemd,
ships the rows of a log that is put into its folder; its unit is looked at by systemd-analyze. Outside, the program's
symbols say which glibc it needs. A secret is planted in the service's address, file and environment: journal, status
and check may not tell it. stdout is one JSON document; exit 1 where one of these is missed.

It needs root, podman, runc and mmdebstrap; `--base` is where the image's archive is kept between runs.
"""

import json
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.ipc

from quiclens_lab.damage.flipped_bits import VECTORS
from quiclens_lab.errors import CannotTryError, LabError
from quiclens_lab.machine import collector_binary, judged
from quiclens_lab.outside import said_by
from quiclens_lab.podman import Podman, mounted, network
from quiclens_lab.progress import say
from quiclens_lab.release import program_in

SECONDS = 90.0
"""From `pip install` to the first explained request."""
EXPOSURE = 2.0
"""Of the collector's unit, at most; 10 is the worst."""
GLIBC = (2, 17)
_PACKAGES = "ca-certificates,systemd,systemd-sysv,dbus,python3,python3-venv"
_IMAGE = "localhost/quiclens-bare:bookworm"
_WHEELS = """set -e
for tool in cc gcc cargo node java; do if command -v $tool; then echo "$tool is here"; exit 1; fi; done
cd /root && python3 -m venv v && v/bin/pip install --quiet /dist/*.whl && v/bin/quiclens demo >demo.txt && cat demo.txt
"""
_SECRET = "planted-to-be-told-by-nobody"
_SERVICE = f"""set -e
dpkg --install /dist/*.deb >/dev/null
mkdir -p /var/log/quic && chgrp adm /var/log/quic && chmod 750 /var/log/quic
# A secret in each place that may hold one: an address, a file, the environment. Its sink is away, which is said.
cd /etc/quiclens && cp collector.toml /root/
install --owner quiclens --mode 600 /dev/null client_secret && echo {_SECRET} >client_secret
install --mode 600 /dev/null collector.env && echo QUICLENS_STORE_PASSWORD={_SECRET} >collector.env
sed -i 's/^kind = .*/kind = "clickhouse"/; s#^brokers = .*#url = "http://writer:{_SECRET}@127.0.0.1:9/q"#' \\
    collector.toml
printf '[enrich]\\nsecret_file = "/etc/quiclens/client_secret"\\n' >>collector.toml
systemctl start quiclens-collector
for second in $(seq 60); do journalctl --unit quiclens-collector | grep --quiet sink_away && break; sleep 1; done
quiclens-collector check collector.toml >/given/check.txt
systemctl status --no-pager --full quiclens-collector >/given/status.txt
systemctl show quiclens-collector >/given/show.txt
systemctl stop quiclens-collector
cp /root/collector.toml .
sed -i 's/^kind = .*/kind = "files"/; s#^brokers = .*#folder = "/var/lib/quiclens/out"#; 1i idle_timeout_s = 2' \\
    /etc/quiclens/collector.toml
systemctl start quiclens-collector
install --group adm --mode 640 /log /var/log/quic/one.qlog
for second in $(seq 300); do ls /var/lib/quiclens/out/connections/*.arrow >/dev/null 2>&1 && break; sleep 1; done
systemctl is-active quiclens-collector >/dev/null
systemd-analyze security --no-pager quiclens-collector | tail -n 1
journalctl --no-pager --all >/given/journal.txt
cp /var/lib/quiclens/out/connections/*.arrow /given/
dpkg --remove quiclens-collector >/dev/null && ! systemctl is-active quiclens-collector >/dev/null
"""


def installed(dist: Path, base: Path, keep: bool) -> dict[str, Any]:
    """Install what stands in `dist`; `passes` is false where a bar is missed. CannotTryError without a release."""
    if len(list(dist.glob("*.deb"))) != 1 or not list(dist.glob("*.whl")):
        raise CannotTryError(f"{dist} has no wheels or not one deb; `make release` fills it")
    with tempfile.TemporaryDirectory(prefix="quiclens-installed-") as scratch:
        podman = Podman(Path(scratch), ["objdump"])
        podman.debian(base, _PACKAGES, _IMAGE)
        glibc = _glibc(dist, Path(scratch))
        say("installed: the wheels, on a Debian without a compiler")
        began = time.monotonic()
        demo = podman.run(_IMAGE, [*mounted({dist: "/dist"}), *network()], _WHEELS)
        seconds = round(time.monotonic() - began, 1)
        say("installed: the deb, under systemd")
        exposure, ids, telling = _service(podman, dist, Path(scratch))
    wanted = _connections_of(_log())
    missed = []
    if "sum" not in demo:
        missed.append("the demo explained no request")
    if seconds > SECONDS:
        missed.append(f"pip install and demo took {seconds} s, {SECONDS} are allowed")
    if ids != wanted:
        missed.append(f"the service shipped the connections {ids}, the log has {wanted}")
    missed += [f"{where} tells a secret" for where in telling]
    if exposure > EXPOSURE:
        missed.append(f"the unit's exposure is {exposure}, {EXPOSURE} is allowed")
    if glibc > GLIBC:
        missed.append(f"the collector needs glibc {glibc}, {GLIBC} is allowed")
    for each in missed:
        say(f"installed: {each}")
    document = {
        "install_and_demo_s": seconds,
        "exposure": exposure,
        "glibc": ".".join(map(str, glibc)),
        "connections": ids,
        "missed": missed,
    }
    return judged("installed", document, not missed, keep)


def _service(podman: Podman, dist: Path, scratch: Path) -> tuple[float, list[str], list[str]]:
    """The unit's exposure, the connections of the rows that it shipped, and where a secret was told."""
    given = scratch / "given"
    given.mkdir()
    given.chmod(0o777)
    name = f"quiclens-installed-{os.getpid()}"
    options = ["--detach", f"--name={name}", "--systemd=always", f"--volume={given}:/given"]
    podman.do(["podman", "run", *options, *mounted({dist: "/dist", _log(): "/log"}), _IMAGE, "/sbin/init"])
    try:
        podman.do(["podman", "exec", name, "bash", "-c", "until systemctl is-system-running; do sleep 1; done"], 120)
        said = podman.do(["podman", "exec", name, "bash", "-c", _SERVICE])
    finally:
        podman.do(["podman", "rm", "--force", name])
    found = re.search(r"exposure level for \S+: ([\d.]+)", said)
    if found is None:
        raise LabError(f"systemd-analyze said {said.strip()[-300:]!r}")
    ids = set()
    for batch in given.glob("*.arrow"):
        with pyarrow.ipc.open_stream(batch.read_bytes()) as rows:
            ids |= set(rows.read_all().column("connection_id").to_pylist())
    return float(found[1]), sorted(ids), telling(given)


def telling(given: Path) -> list[str]:
    """Which of the texts that the service left has the planted secret. LabError where the journal does not have what
    the service said of its sink: nothing is no proof."""
    texts = {path.stem: path.read_text(errors="replace") for path in sorted(given.glob("*.txt"))}
    if set(texts) != {"check", "journal", "show", "status"} or "sink_away" not in texts["journal"]:
        raise LabError(f"the service said nothing where it was listened for: {sorted(texts)}")
    return [name for name, text in texts.items() if _SECRET in text]


def _log() -> Path:
    return VECTORS / "aioquic_clean_server" / "input.qlog"


def _connections_of(log: Path) -> list[str]:
    command = [str(collector_binary()), "dump", str(log), "--room", "summaries"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return sorted({each["row"]["connection_id"] for each in rows if each["table"] == "connections"})


def _glibc(dist: Path, scratch: Path) -> tuple[int, ...]:
    """The newest version of glibc that a symbol of the collector's wheel asks for."""
    (wheel,) = dist.glob("quiclens_collector-*.whl")
    binary = scratch / "program"
    binary.write_bytes(program_in(wheel))
    symbols = said_by(["objdump", "-T", str(binary)])
    found = {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", symbols)}
    if not found:
        raise LabError(f"{wheel.name}: the program names no version of glibc")
    return max(found)
