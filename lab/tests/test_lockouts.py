"""A round that breaks loses no other: what was found until then stays, and the bar is missed by it alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from quiclens_lab.errors import LabError
from quiclens_lab.lockouts import command
from quiclens_lab.lockouts.command import Round
from quiclens_lab.lockouts.locks import LOCKS, Lock
from quiclens_lab.lockouts.site import Certificates, Site


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Brokers that are none; for whose rounds each was."""
    for_whom: list[tuple[int, ...]] = []

    @contextmanager
    def started(_: object, __: Path, numbers: list[int]) -> Iterator[Any]:
        for_whom.append(tuple(numbers))
        yield None

    monkeypatch.setattr(command, "started_broker", started)
    monkeypatch.setattr(Certificates, "prepare", lambda _: None)
    return for_whom


def test_a_round_that_never_flows_is_missed_and_the_others_are_kept(
    brokers: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(lock: Lock, site: Site, found: Round) -> None:
        found.unready_s = 2.0
        if site.number == 1:
            raise LabError("nothing flows")
        found.flows_s = 31.0 if site.number == 2 else 3.0
        found.ended = True

    monkeypatch.setattr(command, "play", play)
    document = command.lockouts(rounds=2, jobs=2, keep=False)
    assert (document["rounds"], document["whole"]) == (2 * len(LOCKS), 2 * len(LOCKS) - 2)
    assert set(document["missed"]) == {
        f"{LOCKS[1].name}, round 1: nothing flows",
        f"{LOCKS[2].name}, round 2: 31.0 s until rows flow, 30 are allowed",
    }
    assert document["found"][1] == {"lock": LOCKS[1].name, "unready_s": 2.0, "flows_s": None, "ended": False}
    assert document["locks"][LOCKS[1].name] == {"rounds": 2, "whole": 1, "unready_s": 2.0, "flows_s": 3.0}
    assert document["passes"] is False


def test_what_is_done_to_a_broker_is_done_to_one_of_its_own(
    brokers: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "play", lambda lock, site, found: None)
    command.lockouts(rounds=1, jobs=1, keep=False)
    own = [(number,) for number, lock in enumerate(LOCKS) if lock.has_own_broker]
    shared = tuple(number for number, lock in enumerate(LOCKS) if not lock.has_own_broker)
    assert brokers == [shared, *own] and len(own) == 3
