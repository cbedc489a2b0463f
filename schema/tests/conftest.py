from collections.abc import Iterator
from pathlib import Path

import pytest
from migrated import migrated
from quiclens_schema import store as stores
from quiclens_schema.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A migrated embedded store."""
    migrated(tmp_path / "store")
    with stores.open(f"chdb:{tmp_path / 'store'}") as opened:
        yield opened
