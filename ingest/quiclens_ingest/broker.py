"""One real Kafka broker on this machine, for tests and for `make up`.

    python -m quiclens_ingest.broker start --data DIR [--port N]
    python -m quiclens_ingest.broker status --data DIR
    python -m quiclens_ingest.broker stop --data DIR

KRaft, one process, loopback only. Its jars come from Maven Central once; `deploy/kafka/pom.xml` names them.
"""

import argparse
import base64
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quiclens_schema import topics

from quiclens_ingest.kafka import BrokerError, create_topics, set_passwords, wait_until_ready


class BrokerMissing(BrokerError):  # noqa: N818 (a state, not a mistake)
    """This machine has no Java or no Maven, so it can have no broker."""


_READY_SECONDS = 60
_STOP_SECONDS = 30
_JAVA_VERSION_MIN = 17
_JVM = ("-Xms128m", "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_LOGGING = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
_started: dict[int, subprocess.Popen[bytes]] = {}  # by this process, so that it can be waited for
_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:{controller_port}
log.dirs={logs}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
message.max.bytes=16777216
log.cleaner.dedupe.buffer.size=16777216
"""
_OPEN = """listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
"""
# As deploy/kafka/server.properties: clients by TLS and a password; the broker itself by an address of its own.
_WALLED = """listeners=CLIENTS://127.0.0.1:{port},INSIDE://127.0.0.1:{inside_port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=CLIENTS://127.0.0.1:{port},INSIDE://127.0.0.1:{inside_port}
listener.security.protocol.map=CLIENTS:SASL_SSL,INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=INSIDE
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.clients.scram-sha-512.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.clients.ssl.keystore.type=PEM
listener.name.clients.ssl.keystore.location={certificate}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:admin;User:ANONYMOUS
allow.everyone.if.no.acl.found=false
"""


@dataclass(frozen=True, slots=True)
class Walls:
    """Clients come by TLS and SCRAM-SHA-512, and may do what ACLs allow; `admin` may do everything.

    `certificate` is a PEM file: the key in PKCS #8, its chain after it. `passwords`, of users, are set at each start.
    """

    certificate: Path
    passwords: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RunningBroker:
    """A broker that runs: its process, and the address for clients."""

    pid: int
    brokers: str
    inside: str = ""
    """Of one with walls, the address where everybody on this machine may do everything."""


def start(data: Path, port: int = 0, jars: Path | None = None, walls: Walls | None = None) -> RunningBroker:
    """Start the broker and make the topics; if it runs already, only say where. BrokerError if it does not come up.

    With `walls`, nobody is allowed anything yet but `admin`.
    """
    data = data.resolve()
    running = status(data)
    if running is not None:
        return running
    java = _java()
    jars = fetch_jars(jars)
    data.mkdir(parents=True, exist_ok=True)
    remembered = _read(data / "ports.json")
    port = port or _free(int(remembered.get("port", 0)))
    controller_port = _free(int(remembered.get("controller_port", 0)))
    ports = {"port": port, "controller_port": controller_port}
    if walls is not None:
        ports["inside_port"] = _free(int(remembered.get("inside_port", 0)))
    (data / "ports.json").write_text(json.dumps(ports), encoding="utf-8")
    properties = data / "server.properties"
    logs = data / "log"
    text = _PROPERTIES + (_WALLED if walls else _OPEN)
    certificate = walls.certificate.resolve() if walls else ""
    properties.write_text(text.format(**ports, logs=logs, certificate=certificate), encoding="utf-8")
    words = [java, *_JVM, _LOGGING, "-cp", f"{jars}/*"]
    if not (logs / "meta.properties").exists():
        # With "=", for one of 64 begins with "-" and would be taken for an option.
        identity = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        _run([*words, "kafka.tools.StorageTool", "format", f"--cluster-id={identity}", "-c", str(properties)], "format")
    with (data / "broker.log").open("ab") as log:
        process = subprocess.Popen(
            [*words, "kafka.Kafka", str(properties)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # an interrupt at the terminal is not for it
        )
    brokers = f"127.0.0.1:{port}"
    _started[process.pid] = process
    inside = f"127.0.0.1:{ports['inside_port']}" if walls else ""
    running = RunningBroker(process.pid, brokers, inside)
    (data / "broker.json").write_text(json.dumps(asdict(running)), encoding="utf-8")
    until = time.monotonic() + _READY_SECONDS
    while True:
        try:
            wait_until_ready(inside or brokers, 1)
            break
        except BrokerError as error:
            if process.poll() is not None or time.monotonic() > until:
                stop(data)
                raise BrokerError(f"the broker did not come up, see {data / 'broker.log'}") from error
    if walls is not None:
        set_passwords(inside, walls.passwords)
    create_topics(inside or brokers, topics.load().values())
    return running


def status(data: Path) -> RunningBroker | None:
    """The broker that runs on this folder, or None."""
    found = _read(data / "broker.json")
    pid = int(found.get("pid", 0))
    if not pid or not _is_ours(pid, data):
        return None
    return RunningBroker(pid, str(found["brokers"]), str(found.get("inside", "")))


def stop(data: Path) -> bool:
    """End the broker of this folder and wait; whether there was one. No other process is ever signalled."""
    data = data.resolve()
    found = status(data)
    if found is None:
        (data / "broker.json").unlink(missing_ok=True)
        return False
    until = time.monotonic() + _STOP_SECONDS
    ending = signal.SIGTERM
    while _is_ours(found.pid, data):
        os.kill(found.pid, ending)
        if time.monotonic() > until:
            ending = signal.SIGKILL
        time.sleep(0.2)
    if (process := _started.pop(found.pid, None)) is not None:
        process.wait()
    (data / "broker.json").unlink(missing_ok=True)
    return True


def fetch_jars(folder: Path | None = None) -> Path:
    """The folder of the broker's jars, fetched once with Maven; BrokerError when that fails.

    The jars are those of `jars.lock`, byte for byte; others are not started.
    """
    pom = _pom()
    folder = folder or pom.parents[2] / "target" / "kafka-4.1.0"
    if folder.is_dir():
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise BrokerMissing("Maven is not on this machine; it fetches Kafka's jars")
    draft = folder.with_name(f"{folder.name}.{os.getpid()}")
    words = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    _run([*words, f"-DoutputDirectory={draft}"], "fetch of the jars")
    if wrong := unlocked(draft, pom.with_name("jars.lock")):
        shutil.rmtree(draft)
        raise BrokerError(f"Maven brought other jars than jars.lock names: {', '.join(wrong)}")
    try:
        draft.rename(folder)
    except OSError:  # another was quicker
        shutil.rmtree(draft)
    return folder


def unlocked(folder: Path, lock: Path) -> list[str]:
    """Names of jars that the lock file has not, or has with other bytes, or that are missing."""
    locked = dict[str, str]()
    for line in lock.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            digest, coordinates, _ = line.split("\t")
            _, artifact, version = coordinates.split(":")
            locked[f"{artifact}-{version}.jar"] = digest
    here = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    return sorted(name for name in {*locked, *here} if locked.get(name) != here.get(name))


def _pom() -> Path:
    for folder in Path(__file__).resolve().parents:
        if (folder / "deploy" / "kafka" / "pom.xml").is_file():
            return folder / "deploy" / "kafka" / "pom.xml"
    raise BrokerError("deploy/kafka/pom.xml is not in this tree")


def _java() -> str:
    java = shutil.which("java")
    if java is None:
        raise BrokerMissing(f"Java is not on this machine; the broker needs {_JAVA_VERSION_MIN} or newer")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = said.partition('"')[2].partition(".")[0].partition('"')[0]
    if not version.isdigit() or int(version) < _JAVA_VERSION_MIN:
        raise BrokerMissing(f"the broker needs Java {_JAVA_VERSION_MIN} or newer, this is {version or 'unknown'}")
    return java


def _run(words: Sequence[str], what: str) -> None:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stderr + done.stdout).strip().splitlines()
        raise BrokerError(f"the broker's {what} failed: {lines[0] if lines else 'without a word'}")


def _free(wanted: int) -> int:
    """The wanted port if nobody listens on it, else any that is free."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return int(probe.getsockname()[1])
            except OSError:
                continue
    raise BrokerError("no port is free on 127.0.0.1")


def _is_ours(pid: int, data: Path) -> bool:
    """Whether this process is a broker on this very folder: its command line names the folder's properties."""
    proc = Path(f"/proc/{pid}")
    if proc.parent.is_dir() and Path("/proc/self").exists():
        try:
            words = (proc / "cmdline").read_bytes().decode(errors="replace")  # empty when it ended and was not reaped
        except OSError:
            return False
    else:
        listed = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
        words = listed.stdout
    return "kafka.Kafka" in words and str(data.resolve() / "server.properties") in words


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def passwords_of(path: Path) -> dict[str, str]:
    """Users and their passwords, NAME=PASSWORD a line. BrokerError says which line is none, without what it holds."""
    found: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        name, equals, password = line.partition("=")
        if not (name and equals and password):
            raise BrokerError(f"{path}, line {number}: not NAME=PASSWORD")
        found[name] = password
    if "admin" not in found:
        raise BrokerError(f"{path}: no user admin, who gives the others their rights")
    return found


def main() -> int:
    """Exit 0 done, 1 not running, 3 cannot run."""
    parser = argparse.ArgumentParser(prog="python -m quiclens_ingest.broker", description="One Kafka broker here.")
    parser.add_argument("verb", choices=("start", "stop", "status"))
    parser.add_argument("--data", type=Path, required=True, help="folder of its data, its log and its pid")
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; any free one if not said")
    parser.add_argument("--jars", type=Path, help="folder of Kafka's jars; target/kafka-4.1.0 if not said")
    parser.add_argument(
        "--certificate",
        type=Path,
        help="PEM file, the key in PKCS #8 and its chain: clients come by TLS and SCRAM-SHA-512, and need ACLs",
    )
    parser.add_argument("--passwords", type=Path, help="users, NAME=PASSWORD a line; admin may do everything")
    given = parser.parse_args()
    if (given.certificate is None) != (given.passwords is None):
        parser.error("--certificate and --passwords go together")
    try:
        if given.verb == "stop":
            return 0 if stop(given.data) else 1
        walls = Walls(given.certificate, passwords_of(given.passwords)) if given.certificate else None
        found = start(given.data, given.port, given.jars, walls) if given.verb == "start" else status(given.data)
    except (BrokerError, OSError) as error:
        print(f"broker: {error}", file=sys.stderr)
        return 3
    print(json.dumps(asdict(found) if found else None))
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
