"""A collector, `quiclens ingest` and `quiclens serve` as an installation has them, on a broker with walls."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from confluent_kafka.admin import AdminClient
from quiclens_ingest import broker as brokers
from quiclens_ingest import kafka
from quiclens_ingest.acls import least
from quiclens_ingest.broker import Walls
from quiclens_schema import store as stores
from quiclens_schema import topics

from quiclens_lab.damage.flipped_bits import VECTORS
from quiclens_lab.errors import LabError
from quiclens_lab.machine import collector_binary
from quiclens_lab.outside import metrics_address, said_by
from quiclens_lab.progress import say

_PATIENCE_S = 300.0
_ROW = "SELECT count() FROM connections WHERE connection_id = {id:String}"


@dataclass(slots=True)
class Broker:
    """A broker with walls, which can be away."""

    folder: Path
    certificates: "Certificates"
    walls: Walls
    running: brokers.RunningBroker

    def stop(self) -> None:
        brokers.stop(self.folder)

    def start(self) -> None:
        """At the address where it was, with the topics that it had or lost."""
        self.running = brokers.start(self.folder, walls=self.walls)

    def certify(self, authority: str) -> None:
        """Start again with a certificate of this authority; its address and its topics stay."""
        self.stop()
        self.walls = replace(self.walls, certificate=self.certificates.chain(authority))
        self.start()

    def drop_topics(self) -> None:
        """All of the project's topics, as somebody else's script does it."""
        admin = AdminClient({"bootstrap.servers": self.running.inside})
        for done in admin.delete_topics([each.name for each in topics.load().values()]).values():
            done.result(30)

    def make_topics(self) -> None:
        kafka.create_topics(self.running.inside, topics.load().values())


@dataclass(frozen=True, slots=True)
class Certificates:
    """Authorities and what they sign, as openssl makes them."""

    folder: Path

    def prepare(self) -> None:
        """What all sites share, before rounds that run at once ask for it: both authorities, chains for brokers."""
        for name in ("known", "unknown"):
            broker = self.folder / f"broker-of-{name}"
            self.signed(name, broker)
            pkcs8 = said_by(["openssl", "pkcs8", "-topk8", "-nocrypt", "-in", str(broker.with_suffix(".key"))])
            chain = pkcs8 + broker.with_suffix(".pem").read_text() + self.authority(name).read_text()
            self.chain(name).write_text(chain)

    def chain(self, authority: str) -> Path:
        """A broker's key and its certificate of this authority, once they are prepared."""
        return self.folder / f"broker-chain-of-{authority}.pem"

    def authority(self, name: str) -> Path:
        certificate = self.folder / f"{name}.pem"
        if not certificate.exists():
            words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
            said_by(["openssl", *words, "-keyout", str(self.folder / f"{name}.key"), "-out", str(certificate)])
        return certificate

    def signed(self, authority: str, into: Path) -> None:
        """A certificate for this machine, `into`.pem and its key, `into`.key."""
        signer, extensions = self.authority(authority), into.with_suffix(".ext")
        extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        key, asked, made = into.with_suffix(".key"), into.with_suffix(".csr"), into.with_suffix(".pem")
        words = [
            "req",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=localhost",
            "-keyout",
            str(key),
            "-out",
            str(asked),
        ]
        said_by(["openssl", *words])
        words = ["x509", "-req", "-in", str(asked), "-CA", str(signer), "-CAkey", str(signer.with_suffix(".key"))]
        words += ["-set_serial", str(time.monotonic_ns()), "-days", "2", "-extfile", str(extensions), "-out", str(made)]
        said_by(["openssl", *words])


@contextmanager
def started_broker(certificates: Certificates, folder: Path, numbers: Sequence[int]) -> Iterator[Broker]:
    """A broker behind TLS, SCRAM and ACLs for the sites of these numbers; ended afterwards."""
    names = [f"{program}-{number}" for program in ("collector", "ingest") for number in numbers]
    walls = Walls(certificates.chain("known"), {"admin": "admin", **{name: password_of(name) for name in names}})
    say(f"lockouts: a broker, for {len(numbers)} rounds")
    broker = Broker(folder, certificates, walls, brokers.start(folder, walls=walls))
    try:
        yield broker
    finally:
        broker.stop()


def password_of(user: str) -> str:
    """Of a user of Kafka."""
    return f"password-of-{user}"


@dataclass
class Site:
    """A collector, ingest and a store of their own, on a broker that others may use too."""

    folder: Path
    broker: Broker
    number: int
    processes: list["subprocess.Popen[str]"] = field(default_factory=list)
    health: dict[str, str] = field(default_factory=dict)
    store_url: str = ""

    @property
    def group(self) -> str:
        return f"group-{self.number}"

    def password(self, program: str) -> str:
        return password_of(f"{program}-{self.number}")

    def file(self, name: str) -> Path:
        return self.folder / name

    def write(self, name: str, text: str) -> None:
        """Whole or not at all, as who mounts secrets does it."""
        draft = self.file(f"{name}.new")
        draft.write_text(f"{text}\n")
        draft.rename(self.file(name))

    def allow(self, program: str) -> None:
        users = {program: [f"{program}-{self.number}"]}
        kafka.allow(self.broker.running.inside, least(users, topics.load().values(), self.group))

    def token(self, token: str) -> None:
        """The one that the store lets in, from the next SIGHUP on."""
        self.write("tokens", f"ingest writer sha256:{hashlib.sha256(token.encode()).hexdigest()}")

    def certify(self, authority: str) -> None:
        self.broker.certificates.signed(authority, self.file("store"))

    def reload(self) -> None:
        """Have the store read its tokens and its certificate again."""
        self.processes[0].send_signal(signal.SIGHUP)

    def start(self) -> None:
        """Everything but rights, which `allow` gives; secrets are right unless they were written already."""
        certificates = self.broker.certificates
        self.certify("known")
        self.token("the-first-token-of-the-store")
        self.write("store.password", "the-first-token-of-the-store")
        self._serve("0")
        for program in ("collector", "ingest"):
            if not self.file(f"{program}.password").exists():
                self.write(f"{program}.password", self.password(program))
        kafka_of = {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(certificates.authority("known")),
            "sasl.mechanism": "SCRAM-SHA-512",
        }

        def options(program: str) -> str:
            pairs = {**kafka_of, "sasl.username": f"{program}-{self.number}"}
            return "".join(f'"{name}" = "{value}"\n' for name, value in pairs.items())

        place = f'brokers = "{self.broker.running.brokers}"\n'
        config = self.file("ingest.toml")
        config.write_text(
            f'{place}group = "{self.group}"\nmetrics_address = "127.0.0.1:0"\n[kafka]\n{options("ingest")}'
        )
        environment = {
            "QUICLENS_KAFKA_PASSWORD_FILE": str(self.file("ingest.password")),
            "QUICLENS_STORE_PASSWORD_FILE": str(self.file("store.password")),
            "SSL_CERT_FILE": str(certificates.authority("known")),
        }
        words = [
            sys.executable,
            "-m",
            "quiclens_command_line",
            "ingest",
            "--config",
            str(config),
            "--store",
            self.store_url,
        ]
        self._begin("ingest", words, environment)
        self.file("logs").mkdir()
        config = self.file("collector.toml")
        config.write_text(
            f'state_dir = "{self.file("state")}"\ntraces = ["{self.file("logs")}"]\nname = "{self.group}"\n'
            f'idle_timeout_s = 2\ncpu_cap = 0\nmetrics_address = "127.0.0.1:0"\n[sink]\nkind = "kafka"\n{place}'
            f'password_file = "{self.file("collector.password")}"\n[sink.options]\n{options("collector")}'
        )
        self._begin("collector", [str(collector_binary()), "run", str(config)], {})

    def end_store(self) -> None:
        """Nobody answers at the store's address from now on."""
        self.processes[0].terminate()
        self.processes[0].wait(_PATIENCE_S)

    def serve_again(self) -> None:
        """End the store, if it runs, and start it at the same address: who is connected must come again."""
        self.end_store()
        self.processes.pop(0)
        self._serve(self.store_url.rpartition(":")[2].partition("/")[0])
        self.processes.insert(0, self.processes.pop())

    def _serve(self, port: str) -> None:
        words = [sys.executable, "-m", "quiclens_command_line", "serve", "--json"]
        words += ["--store", f"chdb:{self.file('data')}"]
        words += ["--listen", f"127.0.0.1:{port}", "--public-host", "localhost", "--tokens", str(self.file("tokens"))]
        words += ["--tls-cert", str(self.file("store.pem")), "--tls-key", str(self.file("store.key"))]
        process = self._begin("serve", words, {}, stdout=subprocess.PIPE)
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise LabError(f"serve ended: {self.said('serve')[-500:]}")
        self.store_url = f"https://quiclens@localhost:{json.loads(line)['url'].rpartition(':')[2]}/default"

    def _begin(
        self, name: str, words: list[str], environment: Mapping[str, str], stdout: int = subprocess.DEVNULL
    ) -> "subprocess.Popen[str]":
        kept = {key: value for key, value in os.environ.items() if not key.startswith("QUICLENS_")}
        with self.file(f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                words, env={**kept, **environment}, stdin=subprocess.DEVNULL, stdout=stdout, stderr=log, text=True
            )
        self.processes.append(process)
        return process

    def said(self, name: str) -> str:
        return self.file(f"{name}.log").read_text(errors="replace")

    def is_ready(self, name: str) -> bool:
        """What `/healthz` says; ready too, as long as nobody answers there yet."""
        if name not in self.health:
            address = metrics_address(self.said(name))
            if address is None:
                return True
            self.health[name] = address
        try:
            with urllib.request.urlopen(f"http://{self.health[name]}/healthz", timeout=10) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError:
            return False

    def log(self, number: int) -> str:
        """Write a log of a connection that nobody else has; its id."""
        source = VECTORS / "aioquic_clean_server" / "input.qlog"
        text = source.read_text()
        (old,) = set(re.findall(r'"ODCID": "([0-9a-f]+)"', text))
        new = hashlib.sha256(f"{self.number}-{number}".encode()).hexdigest()[: len(old)]
        draft = self.file("draft")
        draft.write_text(text.replace(old, new))
        draft.rename(self.file("logs") / f"{number}.qlog")
        return new

    def has(self, connection_id: str) -> bool:
        """Whether it is stored, asked as this user, whom the store always lets in; one that is away has nothing."""
        if self.processes[0].poll() is not None:
            return False
        with stores.open(f"chdb:{self.file('data')}") as store:
            return bool(store.query(_ROW, {"id": connection_id}).one()[0])

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
