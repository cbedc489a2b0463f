"""Flipped bits in the case folders: a slice of what `quiclens-lab damage` does with real logs."""

import pytest

from quiclens_lab.damage.flipped_bits import VECTORS, Copy, flipped_bits
from quiclens_lab.machine import collector_binary

pytestmark = pytest.mark.skipif(not collector_binary().is_file(), reason="the collector is not built")


def test_flipped_bits_cost_at_most_a_record_each() -> None:
    result = flipped_bits(VECTORS, copies=100, seed=3, collector=collector_binary())
    assert result["passes"], result["faults"] or result["lost_for_each_bit"]
    assert result["copies"] == 100
    assert result["documents"] >= 15
    assert result["lost"] > 0, "no flipped bit has hit a record: the test shows nothing"


def test_each_bar_is_missed_by_what_it_is_for() -> None:
    good = Copy("x", seed=1, bits=2, records=10, lost=2, changed=2, added=0, complete=False, hangs=False)
    assert good.faults() == []
    for bad in ({"complete": True}, {"hangs": True}, {"added": 1}, {"changed": 3}):
        fields = {name: getattr(good, name) for name in good.__slots__} | bad
        assert len(Copy(**fields).faults()) == 1, bad
