"""A collector that has nothing to say says so: a heartbeat through the real broker, and what it must not show in."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from quiclens_ingest.link import link
from quiclens_schema.store import Store
from taking import Pipe, running, until

COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", "target/release/quiclens-collector"))
VECTOR = Path(__file__).resolve().parents[2] / "schema" / "vectors" / "newest_names" / "input.sqlog"

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.skipif(not COLLECTOR.is_file(), reason="the collector is not built"),
]


def configured(folder: Path, brokers: str) -> Path:
    (folder / "logs").mkdir()
    target = folder / "run.toml"
    target.write_text(
        f'state_dir = "{folder / "state"}"\ntraces = ["{folder / "logs"}"]\nname = "web-17"\n'
        f"heartbeat_interval_s = 1\nbatch_interval_ms = 50\nidle_timeout_s = 60\n"
        f'[sink]\nkind = "kafka"\nbrokers = "{brokers}"\n'
    )
    return target


@contextmanager
def collecting(config: Path) -> Iterator[None]:
    """A collector that is told to end, whatever became of the test: without that, a test that failed waited for it."""
    with subprocess.Popen([COLLECTOR, "run", config]) as collector:
        try:
            yield
        finally:
            collector.terminate()


def test_heartbeats_of_an_idle_collector_arrive_and_no_answer_shows_them(
    store: Store, pipe: Pipe, tmp_path: Path
) -> None:
    config = configured(tmp_path, pipe.brokers)
    with running(store, pipe) as process, collecting(config):
        until(lambda: process.count("freshness_seconds_count", table="episodes") >= 3)
    assert 0 < process.count("freshness_last_seconds", collector="web-17") < 5
    assert abs(time.time() - process.count("heartbeat_made_at_seconds", collector="web-17")) < 10
    ((made_us,),) = store.query("SELECT DISTINCT max(start_us) FROM episodes WHERE kind = 'heartbeat' LIMIT 9").rows
    assert abs(time.time() - made_us / 1e6) < 10
    assert store.query("SELECT count() FROM episodes FINAL").one() == (1,), "a newer one replaces an older one"
    link(store)
    for view in ("episodes_now", "connections_now", "streams_now", "events_now", "requests"):
        assert store.query(f"SELECT count() FROM {view}").one() == (0,), view


def test_a_heartbeat_goes_with_the_data_of_its_moment(store: Store, pipe: Pipe, tmp_path: Path) -> None:
    config = configured(tmp_path, pipe.brokers)
    lines = VECTOR.read_bytes()
    trace = tmp_path / "logs" / "growing.sqlog"
    with running(store, pipe) as process, collecting(config), trace.open("ab", buffering=0) as file:
        file.write(lines)
        last = lines.splitlines(keepends=True)[-1]

        def has_arrived() -> bool:
            file.write(last)
            return all(process.count("freshness_seconds_count", table=table) > 0 for table in ("events", "connections"))

        until(has_arrived)


def test_the_collector_s_metrics_and_health_are_answered(pipe: Pipe, tmp_path: Path) -> None:
    config = configured(tmp_path, pipe.brokers)
    address = "127.0.0.1:29465"
    text = config.read_text().replace("idle_timeout_s = 60", "idle_timeout_s = 2")
    config.write_text(f'metrics_address = "{address}"\n{text}')
    (tmp_path / "logs" / "one.sqlog").write_bytes(VECTOR.read_bytes() + b"\x1enot json\n")

    def metrics() -> dict[str, float]:
        with urlopen(f"http://{address}/metrics", timeout=5) as answer:
            lines = [line.rpartition(" ") for line in answer.read().decode().splitlines() if line[0] != "#"]
        return {name: float(number) for name, _, number in lines}

    def has_arrived() -> bool:
        try:
            return metrics().get('quiclens_collector_rows_total{table="connections"}', 0) > 0
        except OSError:
            return False

    with collecting(config):
        until(has_arrived)
        found = metrics()
        health: dict[str, Any] = json.load(urlopen(f"http://{address}/healthz", timeout=5))
        second = subprocess.run([COLLECTOR, "run", config], capture_output=True, text=True, check=False)
    assert health["ok"] is True
    assert second.returncode == 3
    assert found["quiclens_collector_files"] <= 1, "a file that is over is let go"
    assert found["quiclens_collector_read_bytes_total"] == (tmp_path / "logs" / "one.sqlog").stat().st_size
    assert found["quiclens_collector_behind_bytes"] == 0
    assert found['quiclens_collector_rejects_total{reason="not_json"}'] == 1
    assert found["quiclens_collector_events_total"] == found['quiclens_collector_rows_total{table="events"}'] > 0
    assert found["quiclens_collector_records_total"] == found["quiclens_collector_events_total"] + 2, "header, reject"
    assert found["quiclens_collector_checkpoint_bytes"] > 0
    assert 0 < found["process_resident_memory_bytes"] < 500e6
