"""`quiclens-lab lockouts`: who is locked out says so, and goes on when it is let in again.

Collector, `quiclens ingest` and `quiclens serve` run as an installation has them: a real broker behind TLS, SCRAM and
ACLs, the store behind TLS and a token, every secret a file. In each round one of them is locked out: a right that is
granted late, a password that is wrong, a certificate of an authority that nobody knows. `/healthz` of who is locked out
must be 503 within a minute; after the lock is mended, and nothing started again, a log that was written meanwhile must
be stored within 30 s. stdout is one JSON document; exit 1 where one of these is missed.
"""

import hashlib
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quiclens_ingest import broker as brokers
from quiclens_ingest import kafka
from quiclens_ingest.acls import least
from quiclens_ingest.broker import Walls
from quiclens_schema import store as stores
from quiclens_schema import topics

from quiclens_lab.damage.flipped_bits import VECTORS
from quiclens_lab.errors import LabError
from quiclens_lab.machine import collector_binary, judged
from quiclens_lab.outside import said_by
from quiclens_lab.progress import say

UNREADY_S, FLOWS_S = 60.0, 30.0
_PATIENCE_S = 300.0
_ROW = "SELECT count() FROM connections WHERE connection_id = {id:String}"


def lockouts(rounds: int, jobs: int, keep: bool) -> dict[str, Any]:
    """Every lock so many times, `jobs` at once; `passes` is false where one bar is missed."""
    plan = [(lock, number) for number in range(rounds) for lock in LOCKS]
    with (
        tempfile.TemporaryDirectory(prefix="quiclens-lockouts-") as scratch,
        _broker(Path(scratch), len(plan)) as broker,
        ThreadPoolExecutor(jobs) as pool,
    ):
        sites = [_Site(Path(scratch) / str(at), broker, at) for at in range(len(plan))]
        found = list(pool.map(lambda at: _one(plan[at][0], sites[at]), range(len(plan))))
    missed = [each for each in found if not each["passes"]]
    for each in missed:
        say(f"lockouts: {each}")
    document = {
        "rounds": len(found),
        "whole": len(found) - len(missed),
        "unready_s": max(each["unready_s"] for each in found),
        "flows_s": max(each["flows_s"] for each in found),
        "found": found,
    }
    return judged("lockouts", document, not missed, keep)


@dataclass(frozen=True, slots=True)
class _Broker:
    running: brokers.Running
    certificates: "_Certificates"


@dataclass(frozen=True, slots=True)
class _Certificates:
    """Authorities and what they sign, as openssl makes them."""

    folder: Path

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
def _broker(folder: Path, users: int) -> Iterator[_Broker]:
    certificates = _Certificates(folder)
    for name in ("known", "unknown"):  # now, since rounds run at once
        certificates.authority(name)
    certificates.signed("known", folder / "broker")
    chain = folder / "broker-chain.pem"
    pkcs8 = said_by(["openssl", "pkcs8", "-topk8", "-nocrypt", "-in", str(folder / "broker.key")])
    chain.write_text(pkcs8 + (folder / "broker.pem").read_text() + (folder / "known.pem").read_text())
    names = [f"{program}-{number}" for program in ("collector", "ingest") for number in range(users)]
    walls = Walls(chain, {"admin": "admin", **{name: _password(name) for name in names}})
    say("lockouts: the broker")
    running = brokers.start(folder / "kafka", walls=walls)
    try:
        yield _Broker(running, certificates)
    finally:
        brokers.stop(folder / "kafka")


def _password(user: str) -> str:
    """Of a user of Kafka."""
    return f"password-of-{user}"


@dataclass
class _Site:
    """A collector, ingest and a store of their own, on a broker that others use too."""

    folder: Path
    broker: _Broker
    number: int
    processes: list["subprocess.Popen[str]"] = field(default_factory=list)
    health: dict[str, str] = field(default_factory=dict)
    store_url: str = ""

    @property
    def group(self) -> str:
        return f"group-{self.number}"

    def password(self, program: str) -> str:
        return _password(f"{program}-{self.number}")

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
            "quiclens_api.main",
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

    def serve_again(self) -> None:
        """End the store and start it at the same address: who is connected must come again."""
        before = self.processes.pop(0)
        before.terminate()
        before.wait(_PATIENCE_S)
        self._serve(self.store_url.rpartition(":")[2].partition("/")[0])
        self.processes.insert(0, self.processes.pop())

    def _serve(self, port: str) -> None:
        words = [sys.executable, "-m", "quiclens_api.main", "serve", "--store", f"chdb:{self.file('data')}", "--json"]
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
            found = re.search(r"metrics are served.*?(127\.0\.0\.1:\d+)", self.said(name))
            if found is None:
                return True
            self.health[name] = found[1]
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
        """Whether it is stored, asked as this user, whom the store always lets in."""
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


@dataclass(frozen=True, slots=True)
class _Lock:
    """One way to be locked out: before the start or while all runs, of whom, and how it ends."""

    name: str
    whom: str
    before: Callable[[_Site], None]
    during: Callable[[_Site], None]
    mend: Callable[[_Site], None]


def _nothing(_: _Site) -> None:
    """Nothing is done at that moment."""


def _both(site: _Site) -> None:
    site.allow("collector")
    site.allow("ingest")


def _another_token(site: _Site) -> None:
    site.token("the-second-token-of-the-store")
    site.reload()


def _unknown_authority(site: _Site) -> None:
    site.certify("unknown")
    site.serve_again()  # a connection that is open stays as it is


def _renewed(site: _Site) -> None:
    site.certify("known")
    site.reload()


def _wrong(program: str) -> Callable[[_Site], None]:
    def wrong(site: _Site) -> None:
        site.write(f"{program}.password", "not the password")
        _both(site)

    return wrong


def _right(program: str) -> Callable[[_Site], None]:
    return lambda site: site.write(f"{program}.password", site.password(program))


LOCKS = (
    _Lock("right of the collector", "collector", lambda s: s.allow("ingest"), _nothing, lambda s: s.allow("collector")),
    _Lock("right of ingest", "ingest", lambda s: s.allow("collector"), _nothing, lambda s: s.allow("ingest")),
    _Lock("password of the collector", "collector", _wrong("collector"), _nothing, _right("collector")),
    _Lock("password of ingest", "ingest", _wrong("ingest"), _nothing, _right("ingest")),
    _Lock(
        "password of the store",
        "ingest",
        _both,
        _another_token,
        lambda s: s.write("store.password", "the-second-token-of-the-store"),
    ),
    _Lock("certificate of the store", "ingest", _both, _unknown_authority, _renewed),
)


def _one(lock: _Lock, site: _Site) -> dict[str, Any]:
    """One round: how long until who is locked out says so, and until rows flow."""
    site.folder.mkdir()
    numbers = itertools.count()
    with ExitStack() as ending:
        ending.callback(site.stop)
        lock.before(site)
        site.start()
        if lock.during is not _nothing:
            first = site.log(next(numbers))
            _wait(lambda: site.has(first), "rows do not flow")
        lock.during(site)
        began = time.monotonic()
        written = site.log(next(numbers))
        unready_s = _wait(lambda: not site.is_ready(lock.whom), f"{lock.whom} does not say it") - began
        if site.has(written):
            raise LabError(f"{lock.name}: it was not locked out")
        lock.mend(site)
        began = time.monotonic()
        flows_s = _wait(lambda: site.has(written), f"nothing flows: {site.said(lock.whom)[-500:]}") - began
        _wait(lambda: site.is_ready(lock.whom), f"{lock.whom} stays unready")
    say(f"lockouts: {lock.name}: {unready_s:.0f} s until it says so, {flows_s:.0f} s until rows flow")
    passes = unready_s <= UNREADY_S and flows_s <= FLOWS_S
    return {"lock": lock.name, "unready_s": round(unready_s, 1), "flows_s": round(flows_s, 1), "passes": passes}


def _wait(is_so: Callable[[], bool], otherwise: str) -> float:
    """The moment when it becomes so; LabError when it does not."""
    until = time.monotonic() + _PATIENCE_S
    while not is_so():
        if time.monotonic() > until:
            raise LabError(otherwise)
        time.sleep(0.5)
    return time.monotonic()
