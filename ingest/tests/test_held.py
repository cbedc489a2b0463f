"""Whose memory is whose: a topic whose table takes nothing stops no other one."""

from quiclens_ingest.held import HeldBytes

TOPICS = ("events", "streams", "connections", "episodes")  # of 800: 400 for all, 100 for each


def test_one_that_waits_is_paused_and_the_others_have_their_shares() -> None:
    held = HeldBytes(TOPICS, 800)
    held.add("events", 500)
    held.add("streams", 100)
    assert held.press() == (set(), set())
    held.add("events", 1)
    assert held.press() == ({"events"}, set())
    assert held.press() == (set(), set())
    held.add("streams", 1)
    assert held.press() == ({"streams"}, set())
    held.add("streams", -41)
    assert held.press() == (set(), {"streams"})
    assert (held.paused, held.total) == ({"events"}, 561)


def test_it_goes_on_when_enough_of_what_all_share_is_free() -> None:
    held = HeldBytes(TOPICS, 800)
    held.add("events", 600)
    held.press()
    held.add("events", -259)
    assert held.press() == (set(), set())
    held.add("events", -1)
    assert held.press() == (set(), {"events"})
    assert not held.paused


def test_all_together_hold_what_may_be_held() -> None:
    held = HeldBytes(TOPICS, 800)
    for _ in range(1000):
        for topic in TOPICS:
            if topic not in held.paused:
                held.add(topic, 1)
        held.press()
    assert held.paused == set(TOPICS)
    assert 800 <= held.total <= 800 + len(TOPICS)
