"""A broker of its own, as `make up` starts it."""

import hashlib
import uuid
from pathlib import Path

import pytest
from quiclens_ingest import broker
from quiclens_ingest.broker import BrokerMissing, unlocked


def test_jars_are_those_of_the_lock_file_byte_for_byte(tmp_path: Path) -> None:
    jars = tmp_path / "jars"
    jars.mkdir()
    (jars / "same-1.jar").write_bytes(b"same")
    (jars / "changed-1.jar").write_bytes(b"changed")
    (jars / "more-1.jar").write_bytes(b"more")
    digest = hashlib.sha256(b"same").hexdigest()
    lines = "".join(f"{digest}\torg.x:{name}:1\tMIT\n" for name in ("same", "changed", "missing"))
    (tmp_path / "jars.lock").write_text(f"# a heading\n{lines}")
    assert unlocked(jars, tmp_path / "jars.lock") == ["changed-1.jar", "missing-1.jar", "more-1.jar"]


@pytest.mark.kafka
def test_it_starts_whatever_its_cluster_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(bytes=b"\xf8" + bytes(15)))  # "-AAAA…"
    try:
        running = broker.start(tmp_path)
    except BrokerMissing as missing:
        pytest.skip(f"no broker: {missing}")
    assert broker.status(tmp_path) == running
    assert "cluster.id=-AAAA" in (tmp_path / "log" / "meta.properties").read_text()
    assert broker.stop(tmp_path)
