"""The live system under faults: its settings, its ports, and what can be asked of it from outside."""

import json
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlencode

from quiclens_ingest import broker as brokers
from quiclens_ingest import kafka
from quiclens_ingest.kafka import BrokerError, KafkaException, TopicPartition
from quiclens_ingest.linking import is_caught_up
from quiclens_ingest.settings import DEFAULT_GROUP
from quiclens_schema import store as stores
from quiclens_schema import topics
from quiclens_schema.store import Store, StoreError

from quiclens_lab import system
from quiclens_lab.errors import LabError
from quiclens_lab.machine import collector_binary

# Below the ports that the kernel gives to clients: one of those could take the place of a server that is away.
PORTS = range(15_000, 32_000)
PATIENCE_S = 20.0
# Times are scaled: what waits for minutes in production waits for seconds here.
COLLECTOR_NAME = "faults"
COLLECTOR = f"""name = "{COLLECTOR_NAME}"
state_dir = "@DIR@/collector"
traces = ["@DIR@/traffic/traces"]
scan_interval_ms = 100
batch_interval_ms = 150
idle_timeout_s = @IDLE_S@
cpu_cap = 0
redact = false
metrics_address = "@METRICS@"
[[access_log]]
path = "@DIR@/traffic/access"
[sink]
kind = "kafka"
brokers = "@BROKERS@"
[sink.options]
"reconnect.backoff.max.ms" = "1000"
"""
SPOOL = """[[listen]]
kind = "unix_stream"
path = "@DIR@/socket"
[spool]
max_bytes = 1048576
min_free_bytes = 0
when_full = "@WHEN_FULL@"
"""
SMALL_DISK_BYTES = 768 << 10
JOURNALED_BYTES = 128 << 20
INGEST = """brokers = "@BROKERS@"
metrics_address = "@METRICS@"
block_age_ms = 200
link_seconds = 1
count_seconds = 2
[kafka]
"session.timeout.ms" = "3000"
"heartbeat.interval.ms" = "500"
"reconnect.backoff.max.ms" = "1000"
"""


@dataclass(frozen=True)
class Live:
    """One running system in a folder of its own."""

    folder: Path
    brokers: str
    address: str
    metrics: str
    listens: bool
    idle_s: int

    @property
    def url(self) -> str:
        """The store, as whoever is not of this machine's folder names it."""
        return f"{self.address}/default"

    @property
    def traces(self) -> Path:
        return self.folder / "traffic" / "traces"

    @property
    def access(self) -> Path:
        return self.folder / "traffic" / "access"

    @property
    def socket(self) -> Path:
        return self.folder / "socket"

    @property
    def spool(self) -> Path:
        return self.folder / "collector" / "spool"

    @property
    def checkpoints(self) -> Path:
        return self.folder / "collector" / "checkpoints"

    def open_files(self) -> list[os.stat_result]:
        """What the collector has descriptors of now; nothing while it is down."""
        found = []
        try:
            descriptors = list(Path(f"/proc/{system.pid_of(self.folder, 'collector')}/fd").iterdir())
        except OSError:
            return []
        for each in descriptors:
            with suppress(OSError):
                found.append(each.stat())
        return found

    def holds(self, file: os.stat_result) -> bool:
        """The collector has a descriptor of this file."""
        return any(os.path.samestat(each, file) for each in self.open_files())

    def open(self) -> Store:
        """The store as `serve` answers for it; StoreError while it is away."""
        return stores.open(self.url)

    def lag(self) -> int | None:
        """Messages that are not stored yet; None when the broker does not say."""
        try:
            return sum(kafka.lag(self.brokers, DEFAULT_GROUP, [each.name for each in topics.load().values()]).values())
        except (BrokerError, KafkaException):
            return None

    def is_linked(self) -> bool:
        """Requests are made of all that is stored. The busier the machine, the longer linking leaves it to others."""
        try:
            with self.open() as store:
                return is_caught_up(store)
        except StoreError:
            return False

    def replay(self, share: float) -> None:
        """Put the group, which has no member now, back by this share of what it has stored."""
        names = [topic.name for topic in topics.of_tables().values()]
        reader = kafka.consumer(self.brokers, DEFAULT_GROUP, 1)
        try:
            until(lambda: _go_back(reader, names, share), PATIENCE_S, "the group's offsets cannot be put back")
        finally:
            reader.close()

    def measure(self, name: str, address: str = "") -> float:
        """The sum of a metric of ingest over its labels; 0 when it does not answer."""
        try:
            with urllib.request.urlopen(f"http://{address or self.metrics}/metrics", timeout=2) as answer:
                text = answer.read().decode()
        except (OSError, HTTPException):
            return 0.0
        return sum(float(value) for value in re.findall(rf"^quiclens_ingest_{name}(?:{{.*}})? (\S+)$", text, re.M))

    def events_of(self, connection_id: str) -> int:
        """Events of a connection that are stored and that its row tells of; 0 while the store is away."""
        sql = (
            "SELECT least((SELECT count() FROM events_now WHERE connection_id = {id:String}), "
            "(SELECT sum(events_seen) FROM connections_now WHERE connection_id = {id:String}))"
        )
        asked = {"query": sql, "param_id": connection_id}
        try:
            with urllib.request.urlopen(f"{self.address}/?{urlencode(asked)}", timeout=2) as answer:
                return int(answer.read())
        except (OSError, HTTPException):
            return 0


def can_listen() -> bool:
    """The collector has sockets and a spool."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as config:
        text = COLLECTOR + SPOOL.replace("@WHEN_FULL@", "stop")
        config.write(text.replace("@METRICS@", "127.0.0.1:9465").replace("@IDLE_S@", "1"))
        config.flush()
        words = [str(collector_binary()), "check", config.name]
        return subprocess.run(words, capture_output=True, check=False).returncode == 0


def start(folder: Path, idle_s: int, when_full: str, is_disk_small: bool) -> Live:
    """Start all of it, without a server that writes; what is silent for `idle_s` is over."""
    serve, metrics, watched = (f"127.0.0.1:{free_port()}" for _ in range(3))
    (folder / "traffic").mkdir(parents=True)
    mount_journaled(folder / "traffic")
    for name in ("traffic/access", "deploy", "broker", "collector/spool"):
        (folder / name).mkdir(parents=True)
    if is_disk_small:
        mount_small(folder / "collector" / "spool")
    listening = SPOOL.replace("@WHEN_FULL@", when_full) if can_listen() else ""
    (folder / "deploy" / "collector.toml").write_text((COLLECTOR + listening).replace("@IDLE_S@", str(idle_s)))
    (folder / "deploy" / "ingest.toml").write_text(INGEST)
    ports = {"port": free_port(), "controller_port": free_port()}
    (folder / "broker" / "ports.json").write_text(json.dumps(ports))
    with ThreadPoolExecutor(1) as beside:  # the broker takes longest
        broker = beside.submit(brokers.start, folder / "broker")
        until(lambda: (folder / "broker" / "broker.json").exists() or broker.done(), PATIENCE_S, "no broker comes up")
        system.up(folder, serve, with_traffic=False, deploy=folder / "deploy", measured=(metrics, watched))
        return Live(folder, broker.result().brokers, f"http://{serve}", metrics, bool(listening), idle_s)


def mount_small(folder: Path) -> bool:
    """A disk that is soon full; False where this machine does not let us mount one."""
    words = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_BYTES}", "none", str(folder)]
    return shutil.which("mount") is not None and subprocess.run(words, capture_output=True, check=False).returncode == 0


def mount_journaled(folder: Path) -> bool:
    """A file system that gives the inode of a deleted file to the next one, in an image beside the folder; False where
    this machine does not let us. One without a journal keeps it for a while, and a tmpfs never gives it again."""
    image = folder.with_suffix(".img")
    make, mount = shutil.which("mkfs.ext4", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"), shutil.which("mount")
    if make is None or mount is None:
        return False
    with image.open("wb") as file:
        file.truncate(JOURNALED_BYTES)
    commands = ([make, "-q", "-F", str(image)], [mount, "-o", "loop", str(image), str(folder)])
    is_done = all(subprocess.run(words, capture_output=True, check=False).returncode == 0 for words in commands)
    if is_done:
        (folder / "lost+found").rmdir()
    return is_done


def unmount(folder: Path) -> None:
    """Take a mounted disk away again, when everything has ended.

    Whatever else of the machine looks at it just then keeps it until it has done so.
    """
    if folder.is_mount():
        subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=True)


def free_port() -> int:
    """A port on which nobody listens now and no client will by chance."""
    while True:
        port = random.SystemRandom().choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def until(is_so: Callable[[], bool], seconds: float, otherwise: str) -> None:
    """Wait; LabError when it does not become so in time."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise LabError(otherwise)
        time.sleep(0.1)


def _go_back(reader: kafka.Consumer, names: list[str], share: float) -> bool:
    try:
        known = reader.list_topics(timeout=5).topics
        places = [TopicPartition(name, part) for name in names for part in known[name].partitions]
        stored = [place for place in reader.committed(places, timeout=5) if place.offset > 0]
        earlier = [TopicPartition(each.topic, each.partition, int(each.offset * (1 - share))) for each in stored]
        if earlier:
            reader.commit(offsets=earlier, asynchronous=False)
    except KafkaException:  # a member that was killed is still counted for a while
        return False
    return True
