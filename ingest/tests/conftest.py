from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from migrated import migrated
from quiclens_ingest import broker as brokers
from quiclens_ingest.broker import BrokerMissing
from quiclens_ingest.load import load
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store
from taking import COLLECTOR, TRACES, Broker, Pipe, Rows, collected, content, seqs


@dataclass(frozen=True)
class Loaded:
    rows: list[Rows]
    content: dict[str, list[tuple[Any, ...]]]
    seqs: set[tuple[Any, ...]]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A migrated embedded store."""
    migrated(tmp_path / "store")
    with stores.open(f"chdb:{tmp_path / 'store'}") as opened:
        yield opened


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A real broker, started once; skipped where there is no Java or no Maven to have one."""
    data = tmp_path_factory.mktemp("kafka")
    try:
        running = brokers.start(data)
    except BrokerMissing as missing:
        pytest.skip(f"no broker: {missing}")
    yield Broker(data, running.brokers)
    brokers.stop(data)


@pytest.fixture
def pipe(broker: Broker) -> Pipe:
    """The topics, from where they end now."""
    return Pipe(broker.address)


@pytest.fixture(scope="session")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """The case folders' traces as batches, and what a store has that loaded them."""
    if not COLLECTOR.exists():
        pytest.skip("no quiclens-collector: cargo build --release")
    with stores.open(f"chdb:{tmp_path_factory.mktemp('loaded') / 'store'}") as opened:
        migrate(opened)
        load(opened, TRACES, collector=COLLECTOR)
        return Loaded(collected(), content(opened), seqs(opened))
