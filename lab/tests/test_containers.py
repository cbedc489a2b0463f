"""What `make containers` looks for is found where it stands; its override is of services that are there."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from quiclens_lab.containers import command, composed
from quiclens_lab.errors import LabError

ROOT = Path(__file__).resolve().parents[2]


def test_a_secret_is_found_wherever_a_line_of_it_stands() -> None:
    secrets = {
        "store": b"hunter2",
        "web.key": b"-----BEGIN PRIVATE KEY-----\nMIIEvQ\nAbCd==\n-----END PRIVATE KEY-----",
    }
    texts = {
        "a log": "begun\npassword=hunter2 given\n",
        "metrics": "# AbCd==\n",
        "check": "-----BEGIN PRIVATE KEY-----\n",
    }
    assert command._among(texts, secrets) == [("a log", "store"), ("metrics", "web.key")]


def test_metrics_of_every_process_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"http://127.0.0.1:9464/metrics": "quiclens_ingest_x 1", "http://collector:9465/metrics": "hunter2"}

    class Answering:
        def inside(self, service: str, *words: str) -> str:
            return told[words[-1]]

    running: Any = Answering()
    monkeypatch.setattr(command, "_asked", lambda _, path: (200, f"quiclens_serve_x 1 of {path}"))
    with pytest.raises(LabError, match="/metrics of the collector has no quiclens_collector_"):
        command._metrics(running)
    told["http://collector:9465/metrics"] += "\nquiclens_collector_x 1"
    texts = command._metrics(running)
    assert set(texts) == {"/metrics of ingest", "/metrics of the collector", "/metrics of web"}
    assert command._among(texts, {"store": b"hunter2"}) == [("/metrics of the collector", "store")]
    config = tomllib.loads((ROOT / "deploy" / "containers" / "collector.toml").read_text())
    port = config["metrics_address"].rpartition(":")[2]
    assert command._METRICS["the collector"][0] == f"http://collector:{port}/metrics" and config["metrics_public"]


def test_the_override_is_of_services_that_are_there() -> None:
    # Compose's marks say what replaces a value, and does not add to it.
    loader: Any = type("Loader", (yaml.SafeLoader,), {})
    loader.add_multi_constructor("!", lambda _, mark, node: None)
    override = yaml.load(composed.OVERRIDE.read_text(), loader)
    services = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]
    assert set(override["services"]) <= set(services)
    assert set(command._SERVICES) <= set(services)
