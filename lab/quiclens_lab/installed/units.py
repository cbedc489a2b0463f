"""The units of deploy/systemd, installed by the commands that deploy/README.md prints, on a machine without Kafka.

Rows flow from a log to the embedded store of `quiclens-serve`. Who needs Kafka starts, says that it is not ready, and
is not started again and again. A collector that hangs is ended by systemd's watchdog, and nothing is lost by that.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quiclens_lab.damage.flipped_bits import VECTORS
from quiclens_lab.installed.booted import Booted, Unit
from quiclens_lab.installed.deb import LOG
from quiclens_lab.judgement import Judgement
from quiclens_lab.machine import LAB
from quiclens_lab.page_blocks import block, substituted

PAGE = LAB.parent / "deploy" / "README.md"
BLOCK = "install-units"
HOME = "/opt/quiclens"
EXPOSURE = 2.0
"""Of each unit, at most; 10 is the worst."""
INSTEAD = {
    # There is no repository to clone and no compiler: what `make setup` leaves comes from the release's wheels.
    "git clone ": f"install -D {HOME}/.venv/bin/quiclens-collector {HOME}/target/release/quiclens-collector",
}
"""What is run instead of commands of the page that begin so; all others are run as they stand."""
GIVEN = {
    "collector.toml": """state_dir = "/var/lib/quiclens"
traces = ["/var/log/quic"]
idle_timeout_s = 2
metrics_address = "127.0.0.1:9465"
[sink]
kind = "quiclens"
url = "http://127.0.0.1:8123"
""",
    "ingest.toml": 'brokers = "127.0.0.1:9"\n',
}
"""The files that the page takes from the folder in which its commands run. Nobody is at the broker's address."""
# As quiclens-serve.service says: where quiclens-ingest takes from Kafka, serve does not.
_SERVE_ALONE = f"""[Service]
ExecStartPre=
ExecStart=
ExecStart={HOME}/.venv/bin/quiclens serve --store chdb:/var/lib/quiclens-store --listen 127.0.0.1:8123
"""
_EDGE = """topic = "edge.access"
[format]
time_is = "start"
[format.columns]
time = { from = "ts", unit = "ms" }
duration_us = { from = "timing.total", unit = "s" }
"""
_ASK = """import sys, urllib.error, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=9).status)
except urllib.error.HTTPError as error:
    print(error.code)
except OSError:
    print(0)
"""
_HEALTH = {"serve": "127.0.0.1:8123", "ingest": "127.0.0.1:9464", "collector": "127.0.0.1:9465"}
UNREADY_S, FLOWS_S, WATCHDOG_S = 60.0, 30.0, 5
LIVES_S = 200
"""Longer than ten starts take of a unit that fails at once, after which systemd gives it up."""


@dataclass(slots=True)
class Looked:
    """What a unit was found to be."""

    exposure: float
    state: Unit | None = None
    says: int | None = None
    """Of its /healthz."""


@dataclass(frozen=True, slots=True)
class StoredEvents:
    """What `quiclens audit` says of the store's events."""

    events: int
    missing: int
    doubled: int


class Machine:
    """The machine on which the page's commands are run, and what is asked of it."""

    def __init__(self, booted: Booted) -> None:
        self.booted = booted

    def put(self, place: str, text: str, mode: int = 0o644) -> None:
        """Write a file, of root."""
        words = ["podman", "exec", "--interactive", self.booted.name, "install", "-D", f"--mode={mode:o}", "/dev/stdin"]
        self.booted.podman.do([*words, place], given=text)

    def health(self, who: str) -> int:
        """The status of its /healthz; 0 where nobody answers."""
        words = ["podman", "exec", self.booted.name, "python3", "-c", _ASK, f"http://{_HEALTH[who]}/healthz"]
        return int(self.booted.podman.do(words))

    def stored(self) -> StoredEvents:
        """Asked as the user of the services, through the process that holds the store."""
        asked = f"{HOME}/.venv/bin/quiclens audit --wait 0 --json --store chdb:/var/lib/quiclens-store"
        said = self.booted.do(f"cd / && runuser -u quiclens -- {asked} || [ $? = 1 ]")
        about = json.loads(said[said.index("{") :])["params"]
        return StoredEvents(about["events"], about["missing"], about["doubled"])

    def write_log(self, name: str, text: str, is_more: bool = False) -> None:
        """A log, or more of it, as a server whose group reads them writes it."""
        place = f"/var/log/quic/{name}"
        if is_more:
            words = ["podman", "exec", "--interactive", self.booted.name, "tee", "--append", place]
            self.booted.podman.do(words, given=text)
            return
        self.put(place, text, 0o640)
        self.booted.do(f"chgrp adm {place}")


def look(judgement: Judgement, booted: Booted) -> None:
    """Install, start all five units, and let one hang."""
    machine, found = Machine(booted), dict[str, Looked]()
    for name, text in GIVEN.items():
        machine.put(f"{HOME}/{name}", text)
    booted.do("install -d --group=adm --mode=750 /var/log/quic")
    for command in substituted(block(PAGE, BLOCK), INSTEAD):
        booted.do(f"cd {HOME} && {command}")
    for name in ("serve", "collector", "ingest", "lines@edge", "retention"):
        found[name] = Looked(booted.exposure(f"quiclens-{name}"))
        exposure = found[name].exposure
        judgement.want(exposure <= EXPOSURE, f"exposure of quiclens-{name} is {exposure}, {EXPOSURE} is allowed")
    with judgement.stage("serve and collector, as the page starts them"):
        _first_rows(judgement, machine)
        found["serve"].state, found["collector"].state = (booted.unit(f"quiclens-{n}") for n in ("serve", "collector"))
        judgement.found["serve_without_kafka_unready_s"] = booted.until(
            lambda: machine.health("ingest") == 503, "ingest beside serve does not say that Kafka is away", UNREADY_S
        )
    with judgement.stage("retention"):
        found["retention"].state = _retention(judgement, booted)
    with judgement.stage("the watchdog"):
        _watchdog(judgement, machine)
    with judgement.stage("ingest and lines, without Kafka"):
        _without_kafka(judgement, machine, found)
    for name in ("serve", "collector"):
        state = booted.unit(f"quiclens-{name}")
        judgement.want(state.runs, f"quiclens-{name} is {state} at the end")
    judgement.found["units"] = {name: asdict(each) for name, each in found.items()}


def _first_rows(judgement: Judgement, machine: Machine) -> None:
    booted = machine.booted
    machine.write_log("one.qlog", LOG.read_text())
    flows_s = booted.until(lambda: machine.stored().events > 0, "rows do not flow", FLOWS_S)
    judgement.found["first_rows_s"] = flows_s
    for name in ("serve", "collector"):
        state = booted.unit(f"quiclens-{name}")
        judgement.want(state.runs and state.restarts == 0, f"quiclens-{name} is {state}")
        judgement.want(machine.health(name) == 200, f"/healthz of {name} says {machine.health(name)}")


def _retention(judgement: Judgement, booted: Booted) -> Unit:
    """Its timer waits, and it has swept once, through the process that holds the store."""
    booted.do("systemctl enable --now quiclens-retention.timer && systemctl start quiclens-retention")
    timer, state = booted.unit("quiclens-retention.timer"), booted.unit("quiclens-retention")
    judgement.want((timer.active, timer.sub) == ("active", "waiting"), f"quiclens-retention.timer is {timer}")
    said = booted.journal("quiclens-retention")
    judgement.want(state.result == "success" and "dropped" in said, f"retention has not swept: {said[-300:]}")
    return state


def _without_kafka(judgement: Judgement, machine: Machine, found: dict[str, Looked]) -> None:
    """Ingest with a store that is a server, and lines of a topic: they start, say so, and stay."""
    booted = machine.booted
    machine.put("/etc/systemd/system/quiclens-serve.service.d/alone.conf", _SERVE_ALONE)
    machine.put("/etc/quiclens/ingest.env", "QUICLENS_STORE=http://127.0.0.1:8123/default\n", 0o600)
    machine.put("/etc/quiclens/edge.toml", _EDGE)
    booted.do("systemctl daemon-reload && systemctl restart quiclens-serve")
    for name in ("ingest", "lines@edge"):
        with judgement.stage(f"the start of quiclens-{name}"):
            booted.do(f"systemctl enable --now quiclens-{name}", 120)
    with judgement.stage("the health of quiclens-ingest"):
        unready_s = booted.until(lambda: machine.health("ingest") == 503, "ingest does not say it", UNREADY_S)
        judgement.found["ingest_without_kafka_unready_s"] = unready_s
    booted.do(f"sleep {LIVES_S}")
    found["ingest"].says = machine.health("ingest")
    for name in ("ingest", "lines@edge"):
        state = found[name].state = booted.unit(f"quiclens-{name}")
        words = booted.journal(f"quiclens-{name}").strip()[-300:]
        is_so = state.runs and state.restarts == 0
        judgement.want(is_so, f"quiclens-{name} without Kafka for {LIVES_S} s is {state}: {words}")


def _watchdog(judgement: Judgement, machine: Machine) -> None:
    """A collector that is stopped in the middle of a log is started again, and has every record once."""
    booted = machine.booted
    before = machine.stored().events
    # Not by splitlines, for which the separator of records begins a line too.
    lines = (VECTORS / "quiche_0_30_server" / "input.sqlog").read_text().removesuffix("\n").split("\n")
    half = len(lines) // 2
    machine.put(
        "/etc/systemd/system/quiclens-collector.service.d/watchdog.conf", f"[Service]\nWatchdogSec={WATCHDOG_S}\n"
    )
    booted.do("systemctl daemon-reload && systemctl restart quiclens-collector")
    machine.write_log("two.sqlog", "".join(f"{line}\n" for line in lines[:half]))
    booted.until(lambda: machine.stored().events > before, "rows of half a log do not flow", FLOWS_S)
    booted.do("kill -STOP $(systemctl show quiclens-collector --property=MainPID --value)")
    machine.write_log("two.sqlog", "".join(f"{line}\n" for line in lines[half:]), is_more=True)
    again_s = booted.until(
        lambda: booted.unit("quiclens-collector").restarts == 1, "systemd does not start it again", 10 * WATCHDOG_S
    )
    judgement.want("Watchdog timeout" in booted.journal("quiclens-collector"), "it was not the watchdog who ended it")
    wanted = before + len(lines) - 1  # the first is the header
    flows_s = booted.until(lambda: machine.stored().events >= wanted, f"not all of {wanted} events come", FLOWS_S)
    stored = machine.stored()
    judgement.want(stored == StoredEvents(wanted, 0, 0), f"of {wanted} events the store has {stored}")
    figures: dict[str, Any] = {"watchdog_s": WATCHDOG_S, "again_s": again_s, "flows_s": flows_s}
    judgement.found["watchdog"] = {**figures, "events": wanted - before, **asdict(stored)}


def prepare(tree: Path, home: Path) -> None:
    """What a clone of the repository has that the page's commands take, beside what they find in the wheels."""
    into = home / "deploy" / "systemd"
    into.mkdir(parents=True)
    for unit in (tree / "deploy" / "systemd").iterdir():
        (into / unit.name).write_bytes(unit.read_bytes())
