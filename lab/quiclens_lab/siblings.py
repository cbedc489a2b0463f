"""`quiclens-lab siblings`: is what traced requests like it waited for what a request without a trace waited for?

Incidents are planted as `quiclens-lab incidents` plants them, in four hours of which a share of the requests is
traced. Affected requests are asked as if they had no trace. Right is an answer whose cause is the planted one; where
no cause is in common, or too few are like it, nothing is claimed.
"""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from quiclens_questions.documents import Siblings
from quiclens_questions.siblings import siblings
from quiclens_questions.statements import ask
from quiclens_schema import store as stores
from quiclens_schema.migrate import migrate
from quiclens_schema.store import Store

from quiclens_lab.incidents import DAY, RATE, began_of, draw, forget, kinds
from quiclens_lab.judgement import Judgement
from quiclens_lab.kept import RunLines
from quiclens_lab.machine import LAB, code_of
from quiclens_lab.progress import say

MADE = LAB.parent / ".made" / "siblings"
INCIDENTS = 60
"""Of the bar, for each share that is traced."""
TRACED = (100, 10, 1)
"""Percent of the requests over QUIC."""
ASKED = 5
AFFECTED = 2_000
"""Requests of an incident: of one percent, twenty have a trace."""
RIGHT, TOO_FEW = 0.8, 0.2
LENGTH = timedelta(hours=4)
SAID = ("right", "wrong", "too_few", "mixed")
"""The planted cause, another, none for want of siblings, and none as they have no cause in common."""
_CODE = ("api/questions/quiclens_questions", "lab/quiclens_lab/incidents.py", "lab/quiclens_lab/siblings.py")


@dataclass(frozen=True)
class SiblingsTried:
    """What came of one incident: of its requests that were asked, how many answers were of each kind of `SAID`."""

    number: int
    kind: str
    traced: int
    said: Mapping[str, int]


def siblings_bar(runs: int, rate: float, seed: int, keep: bool, folder: Path | None = MADE) -> dict[str, Any]:
    """So many incidents for each share that is traced, of each kind in turn that has a cause."""
    judgement = Judgement("siblings", {"incidents": runs, "rate": rate, "seed": seed, "asked": ASKED})
    judgement.least("incidents", INCIDENTS, runs)
    judgement.least("requests a second", RATE, rate)
    kept = RunLines(folder, f"{code_of(LAB.parent, _CODE)}-{rate:g}-{seed}.jsonl", SiblingsTried)
    found = {(each.traced, each.number): each for each in kept.read()}
    with TemporaryDirectory(prefix="quiclens-siblings-") as place, stores.open(f"chdb:{place}/store") as store:
        migrate(store)
        for number in range(runs):
            for traced in TRACED:
                if (traced, number) not in found:
                    found[traced, number] = _try(store, number, traced, rate, seed)
                    kept.add(found[traced, number])
                    say(f"siblings: {len(found)} of {runs * len(TRACED)}: {found[traced, number]}")
    for traced in TRACED:
        counts = _added([each for (share, number), each in found.items() if share == traced and number < runs])
        judgement.found[f"traced_{traced}_percent"] = counts
        told, asked = counts["right"] + counts["wrong"], sum(counts.values())
        right = counts["right"] / told if told else 0.0
        judgement.want(right >= RIGHT, f"{traced} % traced: {right:.1%} of what was claimed is right")
        few = counts["too_few"] / asked if asked else 1.0
        judgement.want(few <= TOO_FEW, f"{traced} % traced: too few for {few:.1%} of the requests")
    return judgement.document(keep)


def _added(tried: list[SiblingsTried]) -> dict[str, int]:
    return {name: sum(each.said.get(name, 0) for each in tried) for name in SAID}


def _try(store: Store, number: int, traced: int, rate: float, seed: int) -> SiblingsTried:
    chance = random.Random(seed * 1_000_003 + number)
    every = [each for each in kinds(chance) if each.cause]
    incident = every[number % len(every)]
    since = DAY + timedelta(hours=8)
    began = began_of(incident, AFFECTED, rate, since + LENGTH)
    forget(store, DAY)
    draw(store, rate, seed + 1 + number, since, round(LENGTH.total_seconds()), incident, began, traced, True)
    said = Counter(_judged(siblings(store, row), incident.cause) for row in _affected(store, began))
    return SiblingsTried(number, incident.kind, traced, dict(said))


def _judged(answer: Siblings | None, cause: str) -> str:
    if answer is None or not answer["causes"]:
        return "too_few"
    if answer["top_cause"] is None:
        return "mixed"
    return "right" if answer["top_cause"] == cause else "wrong"


def _affected(store: Store, began: datetime) -> list[dict[str, Any]]:
    """Requests that the incident made slow, the cause their largest part, whether or not they have a trace."""
    sql = (
        "SELECT request_id FROM requests WHERE protocol = 'h3' AND started_at >= {began:DateTime('UTC')}"
        " AND arm = 'slowed' ORDER BY cityHash64(request_id) LIMIT {limit:UInt32}"
    )
    names = store.query(sql, {"began": f"{began:%Y-%m-%d %H:%M:%S}", "limit": ASKED}).rows
    return [ask(store, "request", {"name": name, "limit": 1}).dicts()[0] for (name,) in names]
