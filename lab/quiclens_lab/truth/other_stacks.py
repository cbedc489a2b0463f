"""Runs of other stacks: a folder of logs with `truth.jsonl`, one line for each log."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quiclens_schema.catalogue import CAUSES

from quiclens_lab.errors import LabError
from quiclens_lab.path import PathFacts
from quiclens_lab.truth.collector import judge
from quiclens_lab.truth.runs import Progress
from quiclens_lab.truth.samples import Judged, Sample

RECORDS = "truth.jsonl"
BATCH_FILES = 500
VARIANTS = ("with", "without")


def judged_folder(folder: Path, collector: Path, progress: Progress) -> list[Judged]:
    """Judge every log that the folder's `truth.jsonl` names, in its order."""
    records = read_records(folder)
    done: list[Judged] = []
    for at in range(0, len(records), BATCH_FILES):
        batch = records[at : at + BATCH_FILES]
        rows = judge(collector, [log for _, log in batch])
        done += [Judged(sample, tuple(rows.get(log, ()))) for sample, log in batch]
        progress(len(done), len(records))
    return done


def read_records(folder: Path) -> Sequence[tuple[Sample, Path]]:
    """The folder's samples with their logs; a line that says nothing usable is an error."""
    file = folder / RECORDS
    if not file.is_file():
        raise LabError(f"{folder} has no {RECORDS}")
    return [_record(folder, number, line) for number, line in enumerate(file.read_text().splitlines(), 1) if line]


def _record(folder: Path, number: int, line: str) -> tuple[Sample, Path]:
    try:
        record: dict[str, Any] = json.loads(line)
        sample = Sample(
            group="scenario",
            stack=str(record["stack"]),
            scenario=str(record["scenario"]),
            cause=str(record["cause"]),
            vantage=str(record["vantage"]),
            seed=int(record["seed"]),
            variant=str(record["variant"]),
            stream_id=int(record["stream_id"]),
            controller=str(record.get("controller", "")),
            script=str(record.get("script", "")),
            condition=str(record.get("condition", "")),
            path=_path(record.get("path")),
        )
        log = folder / record["log"]
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(f"{folder / RECORDS}, line {number}: {type(error).__name__} {error}") from error
    if sample.cause not in CAUSES or sample.variant not in VARIANTS or not log.is_file():
        raise LabError(f"{folder / RECORDS}, line {number}: unknown cause or variant, or no such log")
    return sample, log


def _path(facts: dict[str, Any] | None) -> PathFacts | None:
    return None if facts is None else PathFacts(int(facts["lost"]), int(facts["busy_us"]), int(facts["rtt_us"]))
