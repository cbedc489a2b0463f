"""Damages whole logs and judges what the collector then answers against its answers for the logs as they were."""

import random
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from quiclens_lab.batches import mapped
from quiclens_lab.damage.answers import Answer, LogAnswers, Request, answers_of
from quiclens_lab.damage.damages import DAMAGES, Nothing
from quiclens_lab.damage.logs import read_log
from quiclens_lab.damage.sources import WholeLog
from quiclens_lab.damage.tally import NO_GRADE, Tally
from quiclens_lab.kept import RunLines
from quiclens_lab.truth.collector import identity

SLOW_US = 200_000
"""Requests slower than this are judged."""
BATCH_LOGS = 10
MOST_WRONG = 5
"""Wrong answers of a batch that are kept, of each damage; more are only counted."""
WHOLE = Nothing().name
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Wrong:
    """A request whose top part is another one than for the whole log."""

    stack: str
    log: str
    damage: str
    request: Request
    grade: str
    whole: dict[str, int]
    found: dict[str, int]


@dataclass(slots=True)
class LogBatch:
    """What some logs came to: the counts of each stack and damage, and what is wrong."""

    name: str
    """A hash of the logs, their names and what is in them."""
    tallies: dict[str, dict[str, Tally]]
    wrong: list[Wrong]


@dataclass(frozen=True, slots=True)
class DamageJudge:
    """How logs are damaged and judged."""

    collector: Path
    damages: tuple[str, ...]
    seed: int
    copies_into: Path | None = None
    """Where damaged copies stay, for people to look at."""

    @property
    def identity(self) -> str:
        """Batches of one identity have one meaning, on whichever day they were judged."""
        said = "\0".join([identity(self.collector), str(self.seed), *self.damages])
        return sha256(said.encode()).hexdigest()[:16]


def judge_logs(
    logs: Sequence[WholeLog], judge: DamageJudge, processes: int, kept: RunLines[LogBatch], progress: Progress
) -> list[LogBatch]:
    """Every log, batch by batch; what an earlier run has kept is taken from there."""
    batches = [logs[at : at + BATCH_LOGS] for at in range(0, len(logs), BATCH_LOGS)]
    done = {each.name: each for each in kept.read()}
    names = [name_of(batch) for batch in batches]
    found = [done[name] for name in names if name in done]
    waiting = [batch for batch, name in zip(batches, names, strict=True) if name not in done]
    progress(len(found), len(batches))
    for each in mapped(partial(judge_batch, judge=judge), waiting, processes):
        kept.add(each)
        found.append(each)
        progress(len(found), len(batches))
    return found


def name_of(batch: Sequence[WholeLog]) -> str:
    """What a batch is called by where it is kept: the same logs give the same, wherever they lie."""
    said = sha256()
    for log in batch:
        said.update(f"{log.stack}\0{log.name}\0".encode() + sha256(log.path.read_bytes()).digest())
    return said.hexdigest()[:16]


def judge_batch(logs: Sequence[WholeLog], judge: DamageJudge) -> LogBatch:
    """Damage these logs in every way, have the copies read at once, and count."""
    batch = LogBatch(name_of(logs), {}, [])
    whole = answers_of(judge.collector, [log.path for log in logs])
    with tempfile.TemporaryDirectory(prefix="quiclens-damage-") as scratch:
        copies: list[tuple[WholeLog, str, Path]] = []
        for number, log in enumerate(logs):
            if _slow(whole.get(log.path)):
                copies += _damaged(log, judge, Path(scratch) / str(number))
        found = answers_of(judge.collector, [copy for _, _, copy in copies])
        for log, damage, copy in copies:
            _count(batch, log, damage, whole[log.path], found.get(copy, LogAnswers()))
        if judge.copies_into is not None:
            for log, damage, copy in copies:
                kept = judge.copies_into / log.stack / f"{log.name.replace('/', '-')}.{damage}{copy.suffix}"
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(copy, kept)
    return batch


def _slow(whole: LogAnswers | None) -> dict[Request, Answer]:
    """The complete requests that are judged."""
    requests = whole.requests if whole else {}
    return {
        request: answer
        for request, answer in requests.items()
        if answer.is_complete and answer.duration_us is not None and answer.duration_us > SLOW_US
    }


def _damaged(log: WholeLog, judge: DamageJudge, folder: Path) -> Iterator[tuple[WholeLog, str, Path]]:
    """The copies of a log: the same seed damages the same log in the same way, whatever other damages are asked for."""
    read = read_log(log.path)
    folder.mkdir()
    for damage in DAMAGES:
        if damage.name in judge.damages and (
            damaged := damage.to(read, random.Random(f"{judge.seed} {log.stack} {log.name} {damage.name}"))
        ):
            copy = folder / f"{damage.name}{log.path.suffix if log.path.suffix != '.gz' else '.qlog'}"
            copy.write_bytes(damaged.content())
            yield log, damage.name, copy


def _count(batch: LogBatch, log: WholeLog, damage: str, whole: LogAnswers, found: LogAnswers) -> None:
    tally = batch.tallies.setdefault(log.stack, {}).setdefault(damage, Tally())
    slow = _slow(whole)
    wrong = sorted(tally.judge(slow, found), key=lambda request: _grade(found.requests.get(request)) != "whole")
    for request in wrong[: max(0, MOST_WRONG - sum(each.damage == damage for each in batch.wrong))]:
        answer = found.requests.get(request)
        batch.wrong.append(
            Wrong(
                log.stack,
                log.name,
                damage,
                request,
                _grade(answer),
                _parts(slow[request]),
                _parts(answer) if answer else {},
            )
        )
    if damage == WHOLE:
        tally.all_graded.update(answer.grade or NO_GRADE for answer in found.requests.values())


def _grade(answer: Answer | None) -> str:
    return "not found" if answer is None else answer.grade or NO_GRADE


def _parts(answer: Answer) -> dict[str, Any]:
    return {"duration": answer.duration_us} | {name: part for name, part in answer.parts.items() if part}
