import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiclens_lab.path import IP_UDP_HEADER_BYTES, LOSS_BIN_US, SCRIPTS, Burst, Link, LinkSpec, Window, is_lost

FAST = LinkSpec(rate_bps=8_000_000, delay_us=10_000, queue_bytes=10_000)
TIMES = st.integers(min_value=0, max_value=10**9)


def test_a_packet_takes_its_own_length_at_the_rate_plus_the_delay() -> None:
    assert Link(FAST, 1, "down").arrival_us(500, 1_000 - IP_UDP_HEADER_BYTES) == 500 + 1_000 + 10_000


def test_packets_sent_together_leave_one_after_the_other() -> None:
    link = Link(FAST, 1, "down")
    assert [link.arrival_us(0, 1_000 - IP_UDP_HEADER_BYTES) for _ in range(3)] == [11_000, 12_000, 13_000]


def test_a_full_queue_drops_what_comes_last() -> None:
    link = Link(FAST, 1, "down")
    arrivals = [link.arrival_us(0, 1_000 - IP_UDP_HEADER_BYTES) for _ in range(12)]
    assert None not in arrivals[:10]
    assert arrivals[10:] == [None, None]


def test_a_queue_that_drained_takes_packets_again() -> None:
    link = Link(replace(FAST, queue_bytes=1_000), 1, "down")
    assert link.arrival_us(0, 900) is not None
    assert link.arrival_us(1, 900) is None
    assert link.arrival_us(2_000, 900) is not None


def test_nothing_gets_through_a_blackout() -> None:
    spec = replace(FAST, blackouts=(Window(5_000, 6_000),))
    assert [is_lost(spec, 1, "down", at) for at in (4_999, 5_000, 5_999, 6_000)] == [False, True, True, False]


def test_the_loss_rate_is_kept_over_many_bins() -> None:
    spec = replace(FAST, loss_rate=0.02)
    lost = sum(is_lost(spec, 9, "down", number * LOSS_BIN_US) for number in range(50_000))
    assert 0.018 < lost / 50_000 < 0.022


def test_bursts_lose_neighbouring_bins() -> None:
    spec = replace(FAST, burst=Burst(0.02, bin_us=40_000, loss_rate=0.6))
    lost = [is_lost(spec, 9, "down", number * LOSS_BIN_US) for number in range(50_000)]
    pairs = sum(first and second for first, second in itertools.pairwise(lost))
    assert pairs / sum(lost) > 0.4


@given(seed=st.integers(0, 2**62), at_us=TIMES)
def test_taking_another_cause_away_does_not_change_which_bins_are_lossy(seed: int, at_us: int) -> None:
    alone = replace(FAST, loss_rate=0.3)
    other = LinkSpec(rate_bps=1, delay_us=7, queue_bytes=9, burst=Burst(0.5), blackouts=(Window(0, 10**8),))
    both = replace(other, loss_rate=0.3)
    assert is_lost(both, seed, "down", at_us) == (
        is_lost(alone, seed, "down", at_us) or is_lost(other, seed, "down", at_us)
    )


@given(seed=st.integers(0, 2**62), at_us=TIMES)
def test_a_bin_is_lost_no_matter_how_many_packets_went_before(seed: int, at_us: int) -> None:
    spec = replace(FAST, loss_rate=0.3)
    busy = Link(spec, seed, "down")
    for number in range(5):
        busy.arrival_us(number * 2_000, 500)
    base_us = at_us + 1_000_000
    assert busy.arrival_us(base_us, 500) == Link(spec, seed, "down").arrival_us(base_us, 500)


def test_the_two_directions_lose_different_bins() -> None:
    spec = replace(FAST, loss_rate=0.5)
    up, down = ([is_lost(spec, 4, way, number * LOSS_BIN_US) for number in range(200)] for way in ("up", "down"))
    assert up != down


def scripted(name: str, queue_bytes: int = 30_000) -> Link:
    """A path whose target is asked for at 0."""
    link = Link(replace(FAST, delay_us=0, queue_bytes=queue_bytes), 1, "down", SCRIPTS[name])
    link.begin(0)
    return link


@pytest.mark.parametrize(
    ("name", "at_ms", "size", "took_us"),
    [
        ("drop-and-back", 99, 2_000, 9_000),  # 1 ms whole, then 1 ms' worth at an eighth
        ("drop-and-back", 499, 1_125, 2_000),
        ("drop-and-back", 500, 1_000, 1_000),
        ("low-and-up", 296, 2_000, 5_000),
        ("low-and-up", 300, 1_000, 1_000),
        ("black-hole", 149, 1_000, 1_000),
        ("black-hole", 150, 1_000, None),
        ("black-hole", 449, 1_000, None),
        ("black-hole", 450, 1_000, 1_000),
        ("cross-traffic", 100, 1_000, 1_000),
        ("late-hole", 299, 1_000, 1_000),
        ("late-hole", 300, 1_000, None),
        ("late-hole", 500, 1_000, 1_000),
        ("high-and-low", 199, 2_000, 6_000),
        ("high-and-low", 1_000, 1_000, 1_000),
    ],
)
def test_a_script_changes_the_path_at_its_moment(name: str, at_ms: int, size: int, took_us: int | None) -> None:
    arrival_us = scripted(name).arrival_us(at_ms * 1_000, size - IP_UDP_HEADER_BYTES)
    assert arrival_us == (None if took_us is None else at_ms * 1_000 + took_us)


def test_a_script_begins_when_the_target_is_asked_for() -> None:
    link = Link(FAST, 1, "down", SCRIPTS["black-hole"])
    assert link.arrival_us(200_000, 100) is not None
    link.begin(1_000_000)
    assert link.arrival_us(1_100_000, 100) is not None
    assert link.arrival_us(1_200_000, 100) is None


@pytest.mark.parametrize(("name", "room"), [("constant", 30), ("shallow", 15), ("deep", 2_000), ("narrow-jitter", 30)])
def test_a_script_has_a_queue_of_its_own(name: str, room: int) -> None:
    link = scripted(name)
    arrivals = [link.arrival_us(0, 1_000 - IP_UDP_HEADER_BYTES) for _ in range(room + 10)]
    assert (arrivals.index(None), link.lost) == (room, 10)


def test_jitter_lets_nothing_overtake() -> None:
    link = scripted("jitter")
    arrivals = [link.arrival_us(at_us, 97) or 0 for at_us in range(0, 100_000, 1_000)]
    late_us = [arrival - at_us for arrival, at_us in zip(arrivals, range(0, 100_000, 1_000), strict=True)]
    assert arrivals == sorted(arrivals) and 4_000 < max(late_us) < 8_200


def test_others_send_in_their_turn_alone() -> None:
    link = scripted("cross-traffic")
    waits = [(link.arrival_us(at_ms * 1_000, 97) or 0) - at_ms * 1_000 for at_ms in (59, 100, 121)]
    assert waits[0] > waits[1] < waits[2]


def test_the_path_knows_how_long_its_bottleneck_was_busy() -> None:
    link = scripted("constant")
    for at_us in (0, 0, 1_500, 50_000):
        link.arrival_us(at_us, 1_000 - IP_UDP_HEADER_BYTES)
    assert (link.busy_us, link.lost) == (3_000, 0)
