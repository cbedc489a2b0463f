"""Commands of the documents that need Kafka, on a broker that is started, asked and stopped by the page's own lines."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from document_cover import left_to
from document_items import ROOT, items
from quiclens_ingest.broker import BrokerMissing, fetch_jars
from quiclens_lab.ports import free_port
from serve_process import Served, start, until

BIN = Path(sys.executable).parent
COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", ROOT / "target/release/quiclens-collector"))
_SHOWN = sorted({item.text for item in left_to("kafka")})
_BROKER = {item.text.split()[3]: item.text for item in left_to("broker")}
_LINE = {
    "ts": 1795514400123, "timing": {"total": 0.037}, "quic": {"odcid": "8394c8f0", "stream": 0},
    "request": {"method": "GET", "path": "/a"},
}  # fmt: skip

pytestmark = pytest.mark.skipif(not COLLECTOR.is_file(), reason="no quiclens-collector: cargo build --release")


@dataclass(frozen=True)
class Desk:
    """A folder with a mapping, a store that is served, a broker, and the address of ingest's metrics."""

    folder: Path
    served: Served
    brokers: str
    metrics: str

    def words(self, command: str) -> list[str]:
        """A command for what is here: one broker stands for a cluster, and has one replica of each topic."""
        for stands, here in {
            r"(--brokers) \S+": rf"\1 {self.brokers}",
            r"--replicas \d": "--replicas 1",
            r"--store \S+": "",
            r"(--metrics) HOST:PORT": rf"\1 {self.metrics}",
        }.items():
            command = re.sub(stands, here, command)
        return [str(BIN / "quiclens"), *command.split()[1:]]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "QUICLENS_STORE": self.served.store_url, "QUICLENS_COLLECTOR": str(COLLECTOR.resolve())}

    def ran(self, command: str) -> dict[str, Any]:
        words = [*self.words(command), "--json"]
        done = subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stdout + done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        assert "error" not in document, document
        return document

    @contextmanager
    def going_on(self, command: str, *more: str) -> Iterator[None]:
        """A command that runs until it is told to stop."""
        said = self.folder / "said"
        with said.open("wb") as log:
            words = [*self.words(command), *more]
            process = subprocess.Popen(words, cwd=self.folder, env=self.environment, stdout=log, stderr=log)
        try:
            yield
            assert process.poll() is None, said.read_text()
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, said.read_text()


def broker(verb: str, folder: Path) -> dict[str, Any]:
    """What a line of the broker's page says, without what is optional in it."""
    line = re.sub(r" \[[^]]*\]", "", _BROKER[verb]).replace("DIR", str(folder / "kafka"))
    words = [sys.executable, *line.split()[1:]]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    document: dict[str, Any] = json.loads(done.stdout or "{}")
    return document


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    try:
        fetch_jars()
    except BrokerMissing as missing:
        pytest.skip(f"no broker: {missing}")
    folder = tmp_path_factory.mktemp("kafka")
    started = broker("start", folder)
    shown = (ROOT / "deploy" / "kafka" / "README.md").read_text(encoding="utf-8")
    (wanted,) = re.findall(r"broker start .*?(\{.*\})$", shown, re.MULTILINE)
    assert json.loads(wanted).keys() <= started.keys()
    assert broker("status", folder)["brokers"] == started["brokers"]
    (mapping,) = [item.text for item in items() if item.kind == "toml" and item.text.startswith("# edge.toml\n")]
    (folder / "edge.toml").write_text(mapping, encoding="utf-8")
    (folder / "ingest.toml").write_text(f'brokers = "{started["brokers"]}"\n', encoding="utf-8")
    served = start(folder / "store")
    try:
        yield Desk(folder, served, started["brokers"], f"127.0.0.1:{free_port()}")
    finally:
        assert served.stop() == 0
        broker("stop", folder)


def of(command: str) -> list[str]:
    return [each for each in _SHOWN if each.split()[1] == command]


def test_every_command_has_its_test() -> None:
    assert {each.split()[1] for each in _SHOWN} == {"migrate", "ingest", "status", "check", "lines"}
    assert set(_BROKER) == {"start", "status", "stop"}


@pytest.mark.parametrize("command", of("migrate"))
def test_topics_are_made(desk: Desk, command: str) -> None:
    desk.ran(command)
    there = AdminClient({"bootstrap.servers": desk.brokers}).list_topics(timeout=10).topics
    assert {"quic.connections.v1", "quic.rejects.v1"} <= there.keys()


@pytest.mark.parametrize("command", of("ingest"))
def test_ingest_is_ready_and_status_asks_it(desk: Desk, command: str) -> None:
    with desk.going_on(command, "--metrics", desk.metrics):
        assert until(lambda: is_well(desk.metrics), 120)
        for status in of("status"):
            told = desk.ran(status)["params"]
            assert told["lag"] is not None and (told["freshness"] is not None) == ("--metrics" in status)


def is_well(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}/healthz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.mark.long
def test_lines_of_a_topic_are_looked_at_and_taken(desk: Desk) -> None:
    (check,), (lines,) = of("check"), of("lines")
    admin = AdminClient({"bootstrap.servers": desk.brokers})
    (made,) = admin.create_topics([NewTopic("edge.access", 1, 1)]).values()
    made.result(30)
    producer = Producer({"bootstrap.servers": desk.brokers})
    producer.produce("edge.access", json.dumps(_LINE))
    producer.flush(30)
    looked = desk.ran(check)
    assert (looked["lines"], looked["by_id"]) == (1, 1)
    with desk.going_on(lines):
        assert until(lambda: desk.served.one("SELECT count() FROM request_lines") == "1", 120)
    row = desk.served.one("SELECT connection_id, stream_id, duration_us, method, path FROM request_lines FORMAT CSV")
    assert row == '"8394c8f0",0,37000,"GET","/a"'
