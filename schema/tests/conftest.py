from collections.abc import Iterator
from pathlib import Path

import pytest
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A migrated embedded store."""
    with stores.open(f"chdb:{tmp_path / 'store'}") as opened:
        migrate(opened)
        yield opened
