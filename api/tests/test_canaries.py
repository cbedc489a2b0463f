"""From a server's disk to an answer, through collector, Kafka, ingest and serve: with redaction on no client address is
left in a table, an answer of API, pages and commands, a metric or a log. Without it, the same test finds them."""

import os
import re
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from api_ran import Run
from canaries import CANARIES, access, found, lines, qlog
from quiclens_ingest import broker as brokers
from quiclens_ingest import kafka
from quiclens_ingest.broker import BrokerMissing
from quiclens_lab.ports import free_port
from quiclens_schema import topics
from serve_process import Served, start, until
from told_by import asked, rows

COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", "target/release/quiclens-collector"))
AT_US = 1_700_000_000_000_000
TIME = "2023-11-14T22:13:20Z"
PATIENCE_S = 120

pytestmark = pytest.mark.skipif(not COLLECTOR.is_file(), reason="the collector is not built")


@pytest.fixture
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker whose topics are empty."""
    data = tmp_path_factory.mktemp("kafka")
    try:
        running = brokers.start(data)
    except BrokerMissing as missing:
        pytest.skip(f"no broker: {missing}")
    yield running.brokers
    brokers.stop(data)


@dataclass(frozen=True, slots=True)
class System:
    """Collector, serve with ingest, and what they wrote to standard error."""

    folder: Path
    served: Served

    def logs(self) -> dict[str, str]:
        told = {"collector": (self.folder / "collector.log").read_text(), "serve and ingest": self.served.logged()}
        assert "not followed" in told["collector"] and " is rejected: " in told["serve and ingest"], (
            "silence is no proof"
        )
        return told

    def metrics(self) -> dict[str, str]:
        said = (self.folder / "collector.log").read_text()
        (metrics,) = re.findall(r"metrics are served address=(\S+)", said)
        addresses = {
            "collector": metrics,
            "ingest": (self.folder / "ingest.toml").read_text().split('metrics_address = "')[1].split('"')[0],
            "serve": self.served.url.removeprefix("http://"),
        }
        texts = {}
        for name, address in addresses.items():
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
                texts[name] = answer.read().decode()
            assert f"quiclens_{name}_" in texts[name]
        return texts

    def count(self, table: str) -> int:
        final = "" if table == "requests" else "FINAL"  # linking replaces whole hours
        return int(self.served.one(f"SELECT count() FROM {table} {final}"))


@contextmanager
def system(folder: Path, broker: str, is_redacting: bool) -> Iterator[System]:
    logs, lines_of = folder / "logs", folder / "access"
    logs.mkdir()
    lines_of.mkdir()
    os.mkfifo(logs / "not-followed")  # is told, with its name as it is: the operator's, on the operator's machine
    (folder / "ingest.toml").write_text(
        f'brokers = "{broker}"\nmetrics_address = "127.0.0.1:{free_port()}"\nblock_age_ms = 50\n'
    )
    words = ["--ingest-config", str(folder / "ingest.toml"), "--keep-events", "0", "--keep-summaries", "0"]
    served = start(folder / "store", *words)
    config = folder / "run.toml"
    config.write_text(
        f'state_dir = "{folder / "state"}"\ntraces = ["{logs}"]\nname = "edge"\ncpu_cap = 0\nidle_timeout_s = 2\n'
        f"scan_interval_ms = 20\nbatch_interval_ms = 50\nredact = {str(is_redacting).lower()}\n"
        f'metrics_address = "127.0.0.1:0"\n[[access_log]]\npath = "{lines_of}"\n'
        f'[sink]\nkind = "kafka"\nbrokers = "{broker}"\n[log]\nlevel = "debug"\n'
    )
    try:
        producer = kafka.producer(broker)  # what is no row, so that ingest has something to say
        producer.produce(topics.of_tables()["events"].name, b"no Arrow stream")
        assert producer.flush(30) == 0
        with (folder / "collector.log").open("wb") as log:
            collector = subprocess.Popen([COLLECTOR, "run", config], stderr=log)
            try:
                yield System(folder, served)
                assert collector.poll() is None, (folder / "collector.log").read_text()
            finally:
                collector.terminate()
                collector.wait(60)
    finally:
        assert served.stop() == 0


def arrive(running: System, forms: Sequence[int]) -> None:
    """Put logs into the folders, one form of an address after the other (`test_redaction.py` says why), until all of
    them are stored."""
    assert until(lambda: running.count("rejects") > 0, PATIENCE_S), running.logs()
    for done, number in enumerate(forms):
        canary = CANARIES[number]
        name = canary.spoken
        before = running.count("rejects")
        (running.folder / "logs" / f"{name}.qlog").write_bytes(qlog(canary, f"c0ffee{number:02}", AT_US))
        (running.folder / "access" / f"{name}.jsonl").write_bytes(access(canary, f"c0ffee{number:02}", TIME))
        assert until(lambda done=done: running.count("request_lines") > done, PATIENCE_S), running.logs()
        assert until(lambda done=done: running.count("connections") > 2 * done, PATIENCE_S), running.logs()
        (running.folder / "logs" / f"{name}.log").write_bytes(lines(canary, f"decade{number:02}", AT_US))
        assert until(lambda done=done: running.count("connections") == 2 * done + 2, PATIENCE_S), running.logs()
        # The cut end of each file is a reject once the file is over.
        assert until(lambda before=before: running.count("rejects") >= before + 3, PATIENCE_S), running.logs()
    assert until(lambda: running.count("requests") >= len(forms), PATIENCE_S)


@pytest.mark.parametrize(
    ("is_redacting", "forms"),
    [
        # One form each time; all of them in `test_redaction.py`, in what the collector writes.
        pytest.param(True, [1], id="redacting"),
        pytest.param(True, range(len(CANARIES)), id="redacting all forms", marks=pytest.mark.long),
        pytest.param(False, [0], id="keeping", marks=pytest.mark.long),
    ],
)
def test_no_address_is_told_by_anybody_from_the_log_to_the_answer(
    run: Run, tmp_path: Path, broker: str, is_redacting: bool, forms: Sequence[int]
) -> None:
    with system(tmp_path, broker, is_redacting) as running:
        arrive(running, forms)
        tables = rows(running.served)
        filled = {table for table, text in tables.items() if text}
        assert filled >= {"events", "connections", "streams", "request_lines", "requests", "rejects"}
        answers = {"pages and API": asked(running.served), **commands(run, running.served)}
        told = {**tables, **answers, **running.logs()}
        telling = {where: found(text) for where, text in told.items() if found(text)}
        by_metrics = {who: found(text) for who, text in running.metrics().items() if found(text)}
    assert by_metrics == {}, "no metric has an address, whether it is redacted or not"
    if is_redacting:
        assert telling == {}
    else:
        assert {"events", "connections", "request_lines", "requests", "rejects", "pages and API"} <= telling.keys()
        assert all(any(name.startswith(each) for name in telling) for each in ("explain", "slow"))


def commands(run: Run, served: Served) -> dict[str, str]:
    """What commands say, for people and for programs; of one request for the former, of the next for the latter."""
    ids = served.one("SELECT DISTINCT request_id FROM requests ORDER BY request_id").split("\n")
    words = [
        ["slow"],
        ["failed"],
        ["status"],
        ["audit"],
        ["triage"],
        *(["report", each] for each in ("tail", "rtt", "loss")),
    ]
    both = [[*each, *form] for each in words for form in ([], ["--json"])]
    both += [["explain", each, *(["--json"] if place % 2 else [])] for place, each in enumerate(ids)]
    told: dict[str, str] = {}
    for each in both:
        ran = run(*each, "--store", served.store_url)
        assert ran.code in (0, 1), ran.err
        told[" ".join(each)] = ran.out + ran.err
    return told
