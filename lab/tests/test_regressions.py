"""A cell that becomes slower is found by the product's statement; the whole measurement is `quiclens-lab watch`."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from quiclens_schema import store as stores
from quiclens_schema.store import Store

from quiclens_lab import regressions
from quiclens_lab.regressions import judged
from quiclens_lab.regressions_drawn import KINDS, draw
from quiclens_lab.regressions_rows import hour

BY_NAME = {kind.name: kind for kind in KINDS}
WINDOWS = 6


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with stores.open(f"chdb:{tmp_path / 'store'}") as opened:
        opened.command(regressions._TABLE)
        yield opened


def test_the_same_seed_draws_the_same_window_of_thousands_of_cells() -> None:
    first, second = (list(draw(Random("a"), BY_NAME["twice"])) for _ in range(2))
    assert first == second
    assert len({cell.key for cell in first}) == len(first) > 10_000
    assert sum(cell.samples for cell in first) == pytest.approx(900_000, rel=0.01)


@pytest.mark.parametrize("name", ["twice", "alike"])
def test_a_cell_that_takes_twice_as_long_is_found_in_its_first_window(store: Store, name: str) -> None:
    figures = judged(store, BY_NAME[name], WINDOWS, seed=3)
    assert figures["false_discoveries"] <= 1
    assert name == "alike" or figures["found_share"] == 1
    assert figures["dispersion"] == pytest.approx(BY_NAME[name].alike, rel=0.05)


def test_where_nothing_changes_hardly_anything_is_found(store: Store) -> None:
    assert judged(store, BY_NAME["nothing"], WINDOWS, seed=4)["false_discoveries"] <= 1


def test_rows_that_are_rolled_up_are_judged_alike(store: Store) -> None:
    found = hour(store, 600_000, changed=(1, 1))  # the largest cell: so few rows make no other one's day
    assert found["passes"], found
    assert found["rollups"] > 10_000
