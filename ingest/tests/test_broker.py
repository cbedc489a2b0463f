"""A broker of its own, as `make up` starts it."""

import uuid
from pathlib import Path

import pytest
from quiclens_ingest import broker
from quiclens_ingest.broker import BrokerMissing

pytestmark = pytest.mark.kafka


def test_it_starts_whatever_its_cluster_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(bytes=b"\xf8" + bytes(15)))  # "-AAAA…"
    try:
        running = broker.start(tmp_path)
    except BrokerMissing as missing:
        pytest.skip(f"no broker: {missing}")
    assert broker.status(tmp_path) == running
    assert "cluster.id=-AAAA" in (tmp_path / "log" / "meta.properties").read_text()
    assert broker.stop(tmp_path)
