"""A slice of `quiclens-lab damage`: one simulated log of each scenario, damaged in every way and judged."""

import subprocess
from typing import Any

import pytest

from quiclens_lab.command_line import parser
from quiclens_lab.damage.command import run
from quiclens_lab.damage.damages import DAMAGES
from quiclens_lab.damage.options import FLIPPED_BITS
from quiclens_lab.machine import LAB, collector_binary

pytestmark = pytest.mark.skipif(not collector_binary().is_file(), reason="the collector is not built")

OF_MANY = "parts with bounds"
"""A slice has too few for this bar."""
SLACK = 0.05
"""By so much a slice may miss a bar that many logs have to keep: it has some thirty requests."""
QUIC_GO = LAB.parent / "target" / "quicgo-lab"


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    words = [word for damage in DAMAGES for word in ("--damage", damage.name)]
    if QUIC_GO.is_file():
        logs = str(tmp_path_factory.mktemp("quic-go"))
        command = [str(QUIC_GO), "-test.run", "^TestGenerate$", "-out", logs, "-seeds", "1-1"]
        subprocess.run(command, check=True, capture_output=True)
        words += ["--logs", logs]
    return run(parser().parse_args(["damage", "--seeds", "1", *words]))


def test_every_damage_befalls_some_log(document: dict[str, Any]) -> None:
    found = document["tables"]["aioquic"]
    # aioquic logs no timer.
    assert set(found) == {damage.name for damage in DAMAGES} - {"no-timers"}
    assert FLIPPED_BITS not in document
    assert found["none"]["requests"] >= 15
    assert {name for name, of in found.items() if of["requests"] == 0} == set()


def test_a_log_that_is_read_and_written_again_has_the_same_answers(document: dict[str, Any]) -> None:
    none = document["tables"]["aioquic"]["none"]
    assert (none["found"], none["top_right"], none["duration_right"], none["moved_most"]) == (1, 1, 1, 0)


def test_damage_does_damage(document: dict[str, Any]) -> None:
    found = document["tables"]["aioquic"]
    assert found["missing-20%"]["moved"] > found["missing-0.1%"]["moved"]
    assert found["no-frames"]["top_right"] < 0.5
    assert found["no-ack-only-sent"]["moved_most"] < 0.05, "what an end sends to acknowledge is no part of a request"


def test_what_is_graded_is_worth_what_the_bars_promise(document: dict[str, Any]) -> None:
    if document["tables"]["aioquic"]["none"]["grades"] is None:
        pytest.skip("this collector grades no answer")
    missed = {bar["says"] for bar in document["bars"] if bar["says"] != OF_MANY and is_missed_by_far(bar)}
    assert missed == set()


def is_missed_by_far(bar: dict[str, Any]) -> bool:
    sign, bound = bar["bound"].split()
    if bar["figure"] is None:
        return True
    return bool(bar["figure"] < float(bound) - SLACK if sign == ">=" else bar["figure"] > float(bound) + SLACK)
