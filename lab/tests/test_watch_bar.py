"""A cell that becomes worse is found by the product's statement; the whole measurement is `quiclens-lab watch`."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from quiclens_questions.watch import SHARES, level
from quiclens_schema import store as stores
from quiclens_schema.store import Store

from quiclens_lab.watch import planted_windows, summed, windows_of_nothing
from quiclens_lab.watch_drawn import SIGMAS, cells, changed, draw, planted_durations
from quiclens_lab.watch_kinds import ALL, BASE, KINDS, TAIL, Durations, most, needed
from quiclens_lab.watch_rows import hour

WINDOWS = len(SIGMAS)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with stores.open(f"chdb:{tmp_path / 'store'}") as opened:
        yield opened


@pytest.mark.long
def test_what_everybody_sees_is_found_at_once_and_where_nothing_changes_nothing_is(store: Store) -> None:
    planted = [question(store) for question in planted_windows(WINDOWS, seed=3)]
    nothing = [question(store) for question in islice(windows_of_nothing(WINDOWS, seed=3), 2)]
    figures = summed(planted, nothing)
    by_name = {each["kind"]: each for each in figures["kinds"]}
    assert figures["false_reports"] == figures["false_reports_beside_planted"] == 0
    for name in ("everything takes twice as long", "10 points more fail", "QUIC use falls by a third"):
        assert by_name[name]["found"] == 1
    assert figures["tested"] > 10_000 and by_name["1 point more fail"]["is_out_of_reach"]


def test_there_are_twenty_kinds_and_each_says_how_often_it_must_be_found() -> None:
    assert len({kind.name for kind in KINDS}) == 20
    assert {kind.least for kind in KINDS} == {ALL, TAIL}
    assert {kind.measure for kind in KINDS} == {"duration", *SHARES}


def test_no_kind_makes_requests_quicker_and_the_slowest_alone_change_only_the_tail() -> None:
    durations = Durations(60_000, 0.95)
    lengths = durations.median * np.exp(np.linspace(-3, 6, 200))
    for kind in KINDS:
        now = kind.slower(durations, lengths)
        assert (now >= durations.slower(lengths) - 1e-12).all() and (np.diff(now) <= 1e-12).all(), kind.name
    (of_hundredth,) = (kind for kind in KINDS if kind.name == "the slowest 1 % take thrice as long")
    quicker = lengths[lengths < durations.quantile(0.01)]
    assert of_hundredth.slower(durations, quicker) == pytest.approx(durations.slower(quicker))


@pytest.mark.long
def test_planted_cells_are_drawn_as_their_kind_says() -> None:
    service = cells(KINDS)
    first = len(service.keys) - len(KINDS) * len(SIGMAS)
    random = np.random.default_rng(1)
    for number, kind in enumerate(KINDS):
        place = first + number * len(SIGMAS)
        assert planted_durations(service, place).sigma == SIGMAS[0]
        drawn = [changed(random, kind, service, place, swing=1) for _ in range(400)]
        hits, of = (sum(each[0] for each in counts) for counts in zip(*((d.hits, d.of) for d in drawn), strict=True))
        if kind.measure != "duration":
            test = len(hits) - len(SHARES) + SHARES.index(kind.measure)
            assert hits[test] / of[test] == pytest.approx(kind.share, rel=0.1)
            continue
        edge = 1.02 ** (service.edges[place][0] + 1.0)
        share = kind.slower(planted_durations(service, place), np.array([edge]))
        assert hits[0] / of[0] == pytest.approx(share[0], rel=0.05)


def test_requests_that_are_alike_vary_more() -> None:
    random, count = np.random.default_rng(1), 4_000
    slower, shares = np.full((count, 1), 0.1), np.tile(np.array(list(BASE.values())), (count, 1))
    for cluster in 1.0, 3.0:
        drawn = draw(random, np.full(count, 900.0), np.full(count, cluster), slower, shares, 1)
        assert drawn.hits[:, 0].mean() == pytest.approx(90, rel=0.02)
        # Of a Poisson number of clusters, whose sizes are geometric: 2 * cluster - 1.
        assert drawn.hits[:, 0].var() / 90 == pytest.approx(2 * cluster - 1, rel=0.1)


def test_the_best_test_finds_more_of_more_requests() -> None:
    chance = level(300) / 60_000
    for kind in KINDS:
        durations = Durations(60_000, 0.95)
        enough = needed(kind, durations, chance)
        assert most(kind, durations, enough, chance) >= kind.least
        assert most(kind, durations, enough / 1.5, chance) < kind.least


def test_rows_that_are_rolled_up_are_judged_alike(store: Store) -> None:
    found = hour(store, 600_000, changed=(1, 1))  # the largest cell: so few rows make no other one's day
    assert found["passes"], found
    assert json.loads(json.dumps(found)) == found
    assert found["rollups"] > 10_000
