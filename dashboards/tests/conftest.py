"""One served store for all tests."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # pytest's importlib mode leaves a test folder's own modules out

from demo_store import Demo, served

COLLECTOR = Path(os.environ.get("QUICLENS_COLLECTOR", Path(__file__).parents[2] / "target/release/quiclens-collector"))


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    if not COLLECTOR.exists():
        pytest.skip("no quiclens-collector: cargo build --release")
    with served(tmp_path_factory.mktemp("dashboards")) as made:
        yield made
