"""Schedules of faults as data: what strikes when, drawn from a seed, so that any one can be run again alone."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

STRIKES = 5
WITHIN_S = 6.0
"""Strikes begin within so many seconds, and may overlap."""
OWN_LOGS = 6
"""Connections that have a file of their own."""
FATES = ("left", "renamed", "compressed", "deleted", "reused")
"""What a server does with a connection's file when it is done."""

Drawn = dict[str, float | int | str | bool]


@dataclass(frozen=True)
class Strike:
    """One fault: when it begins after the traffic did, how long it lasts, and `more` of its kind's own parameters."""

    kind: str
    at_s: float
    lasts_s: float
    more: Mapping[str, float | int | str | bool]

    @property
    def target(self) -> str:
        """What is struck: the kind's last word."""
        return self.kind.partition(" ")[2]


@dataclass(frozen=True)
class Schedule:
    """What one run does. The same seed and number give the same schedule and the same traffic."""

    number: int
    seed: int
    fates: tuple[str, ...]
    strikes: tuple[Strike, ...]
    when_full: str
    """What the spool does when it is full: stop, or drop_events."""
    is_disk_small: bool
    """The spool is full by its disk, not by its own limit, where this machine lets us mount a small one."""

    @property
    def planned_s(self) -> float:
        """How long traffic is written: until the strikes are over, when nothing has to be waited for."""
        return max(each.at_s + each.lasts_s for each in self.strikes) + 1.0

    @property
    def idle_s(self) -> int:
        """What is silent for so long is over. A full spool makes its senders silent for a while."""
        return 12 if any(each.kind == "fill spool" for each in self.strikes) else 6

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def _away(low_s: float, high_s: float) -> Callable[[random.Random], tuple[float, Drawn]]:
    """Kinds whose only parameter is how long something is away."""
    return lambda draw: (round(draw.uniform(low_s, high_s), 2), {})


def _replay(draw: random.Random) -> tuple[float, Drawn]:
    return 0.3, {"back": round(draw.uniform(0.2, 1.0), 2), "ends": draw.choice(("killed", "told"))}


def _rebalance(draw: random.Random) -> tuple[float, Drawn]:
    return round(draw.uniform(0.0, 0.8), 2), {"dies": draw.choice(("joiner", "elder"))}


def _flip(draw: random.Random) -> tuple[float, Drawn]:
    return round(draw.uniform(0.1, 0.6), 2), {"at": round(draw.random(), 4), "bit": draw.randrange(8)}


def _flip_spool(draw: random.Random) -> tuple[float, Drawn]:
    return round(draw.uniform(1.0, 3.0), 2), {"at": round(draw.random(), 4), "bit": draw.randrange(8)}


def _truncate(draw: random.Random) -> tuple[float, Drawn]:
    return 0.0, {"writes_between": draw.random() < 0.5}


def _rotate(draw: random.Random) -> tuple[float, Drawn]:
    return 0.0, {"compress": draw.random() < 0.5}


def _clutter(draw: random.Random) -> tuple[float, Drawn]:
    return 0.0, {"has_reader": draw.random() < 0.5}


KINDS: dict[str, Callable[[random.Random], tuple[float, Drawn]]] = {
    "kill collector": _away(0.1, 1.0),
    "kill ingest": _away(0.1, 1.0),
    "kill serve": _away(0.1, 1.0),
    "kill broker": _away(0.1, 1.0),
    "hold collector": _away(0.2, 3.0),
    "hold ingest": _away(0.2, 3.0),
    "hold serve": _away(0.2, 2.0),
    "hold broker": _away(0.2, 3.0),
    "outage broker": _away(2.0, 5.0),
    "rebalance ingest": _rebalance,
    "replay ingest": _replay,
    "flip checkpoint": _flip,
    "rotate traces": _rotate,
    "fill spool": _away(2.0, 5.0),
    "rotate access": _rotate,
    "truncate lines": _truncate,
    "truncate access": _truncate,
    "kill writer": _away(0.0, 0.5),
    "flip spool": _flip_spool,
    "delete document": _away(0.0, 0.0),
    "move document": _away(0.0, 0.0),
    "clutter traces": _clutter,
}
"""Every kind with how its length in seconds and its parameters are drawn."""
SPOOL = tuple(kind for kind in KINDS if kind.endswith(" spool"))
"""Kinds that need a collector that listens."""
SLOW = ("kill broker", "outage broker", *SPOOL)
MOST_SLOW = 1
"""Kinds that start the broker again, and how many of them a schedule has."""


def draw_schedule(number: int, seed: int, kinds: Sequence[str]) -> Schedule:
    """Schedule `number` of a seed. Two of its kinds go round, so that many schedules have each of them often."""
    draw = random.Random(seed * 1_000_003 + number)
    chosen = [kinds[2 * number % len(kinds)], kinds[(2 * number + 1) % len(kinds)]]
    while len(chosen) < STRIKES:
        kind = draw.choice(kinds)
        if kind not in SLOW or sum(each in SLOW for each in chosen) < MOST_SLOW:
            chosen.append(kind)
    return schedule_of(number, seed, chosen, draw)


def schedule_of(number: int, seed: int, kinds: Sequence[str], draw: random.Random) -> Schedule:
    """One strike of each of these kinds; everything else is drawn."""
    strikes = []
    for kind in kinds:
        lasts_s, more = KINDS[kind](draw)
        strikes.append(Strike(kind, round(draw.uniform(0.3, WITHIN_S), 2), lasts_s, more))
    fates = tuple(draw.choice(FATES) for _ in range(OWN_LOGS))
    strikes.sort(key=lambda each: each.at_s)
    return Schedule(number, seed, fates, tuple(strikes), draw.choice(("stop", "drop_events")), draw.random() < 0.5)
