"""Differences by resampling connections: figures are those of the rows, and with nothing changed few are sure."""

import numpy as np
import pytest

from quiclens_questions.statistics.resampled import FEWEST, LEVEL, ClusteredSums, changes

CONNECTIONS, EACH = 60, 5
LEVELS = (0.5, 0.95)


def drawn(
    random: np.random.Generator, factor: float, base: list[float], connections: int = CONNECTIONS
) -> ClusteredSums:
    """Requests of a connection are alike; the first of two parts takes what `factor` adds."""
    rows = []
    for cluster in range(connections):
        for _ in range(EACH):
            usual = float(np.exp(11 + base[cluster] + random.normal(0, 0.1)))
            rows.append((cluster, usual * factor, (usual * (factor - 0.7), usual * 0.7)))
    return ClusteredSums.of(rows, connections, 2)


@pytest.mark.parametrize("is_paired", [True, False])
def test_with_nothing_changed_few_comparisons_have_a_sure_figure(is_paired: bool) -> None:
    random, runs = np.random.default_rng(1), 100
    false = 0
    for _ in range(runs):
        one = list(random.normal(0, 0.6, CONNECTIONS))
        other = one if is_paired else list(random.normal(0, 0.6, CONNECTIONS))
        false += any(
            each.is_sure for each in changes(drawn(random, 1, one), drawn(random, 1, other), is_paired, LEVELS)
        )
    # One more than three of a hundred is less likely than one in fifty where one is the mean.
    assert false <= 3, (false, LEVEL)


def test_a_small_change_of_pairs_is_sure_and_its_part_grew() -> None:
    random = np.random.default_rng(2)
    base = list(random.normal(0, 0.6, CONNECTIONS))
    mean, first, second, *_ = changes(drawn(random, 1, base), drawn(random, 1.1, base), True, LEVELS)
    assert mean.is_sure and first.is_sure and not second.is_sure
    assert mean.us == pytest.approx(0.1 * mean.old_us, rel=0.2)
    assert mean.low_us is not None and mean.high_us is not None and mean.low_us < mean.us < mean.high_us


def test_figures_are_those_of_the_rows() -> None:
    random = np.random.default_rng(3)
    group = drawn(random, 1, list(random.normal(0, 0.6, CONNECTIONS)))
    mean, first, second, median, tail = changes(group, group, True, LEVELS)
    assert mean.old_us == pytest.approx(float(group.duration_us.mean()))
    assert (first.old_us, second.new_us) == pytest.approx(tuple(group.columns.mean(axis=0)))
    assert (median.old_us, tail.old_us) == tuple(np.quantile(group.duration_us, LEVELS, method="inverted_cdf"))
    assert all(each.us == 0 and each.chance == 1 and not each.is_sure for each in (mean, first, second, median, tail))


def test_of_few_connections_nothing_is_judged_and_of_a_tail_only_with_enough() -> None:
    random = np.random.default_rng(4)
    few = drawn(random, 1, [0.0] * FEWEST, FEWEST - 1)
    assert all(each.chance is None and not each.is_sure for each in changes(few, few, True, LEVELS))
    some = drawn(random, 1, [0.0] * 10, 10)
    *_, median, tail = changes(some, some, True, LEVELS)
    assert median.chance is not None and tail.chance is None
