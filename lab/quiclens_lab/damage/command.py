"""`quiclens-lab damage`: what does damage to a log do to the answers, and does the collector admit it?

Whole logs, whose answers are known to be right (`quiclens-lab truth`), are damaged in each way and read again; each
answer about a slow request is compared with the one for the whole log. Of documents, bits are flipped too. The table
goes to stderr, the document to stdout; exit 1 where a bar is missed.
"""

import argparse
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quiclens_lab import progress
from quiclens_lab.damage import table
from quiclens_lab.damage.bars import bars_of
from quiclens_lab.damage.damages import DAMAGES
from quiclens_lab.damage.flipped_bits import TRACES, VECTORS, flipped_bits
from quiclens_lab.damage.options import COPIES, FLIPPED_BITS, SEEDS
from quiclens_lab.damage.sources import WholeLog, drawn, logs_below, make_aioquic
from quiclens_lab.damage.tally import Tally
from quiclens_lab.damage.whole_logs import DamageJudge, LogBatch, Wrong, judge_logs
from quiclens_lab.errors import CannotTryError
from quiclens_lab.judgement import Judgement
from quiclens_lab.kept import RunLines
from quiclens_lab.machine import LAB, code_of, collector_binary
from quiclens_lab.truth.collector import frozen, identity
from quiclens_lab.truth.other_stacks import RECORDS

MADE = LAB.parent / ".made" / "damage"


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Do what was asked for and return the document; `passes` says whether all bars hold."""
    started = time.monotonic()
    judgement = Judgement("damage", {"seed": options.seed})
    document = judgement.found
    with frozen(options.collector or collector_binary()) as collector:
        document["collector"] = {"path": str(options.collector or collector_binary()), "sha256": identity(collector)}
        names = tuple(each.name for each in DAMAGES if not options.damage or each.name in options.damage)
        if names:
            document |= _whole_logs(options, names, collector)
        if not options.logs_only and (not options.damage or FLIPPED_BITS in options.damage):
            folder = options.folder or (TRACES if TRACES.is_dir() else VECTORS)
            document["flipped_bits"] = flipped_bits(folder, options.copies, options.seed, collector, progress.show)
    document["seconds"] = round(time.monotonic() - started, 1)
    _say(document)
    for bar in document.get("bars", ()):
        judgement.want(bar["kept"], f"{bar['says']}: {bar['figure']}, not {bar['bound']}")
    judgement.want(document.get("flipped_bits", {"passes": True})["passes"], "flipped bits")
    for what in left_out(options):
        judgement.leave_out(True, what)
    return judgement.document(options.keep, "damage-runs")


def left_out(options: argparse.Namespace) -> list[str]:
    """What of the bar is not asked for."""
    names = [each.name for each in DAMAGES if options.damage and each.name not in options.damage]
    flips = not options.logs_only and (not options.damage or FLIPPED_BITS in options.damage)
    told = {
        f"damages: {', '.join(names)}": bool(names),
        "flipped bits": not flips,
        f"{options.copies:,} copies with flipped bits, of {COPIES:,}": flips and options.copies < COPIES,
        "flipped bits of real logs": flips and (options.folder is not None or not TRACES.is_dir()),
        "aioquic's logs": options.logs_only,
        f"{options.seeds} seeds of aioquic's scenarios, of {SEEDS}": not options.logs_only and options.seeds < SEEDS,
        "logs of other stacks (--logs)": not options.logs,
        f"logs of stacks other than {', '.join(options.stack)}": bool(options.stack),
        f"all but {options.limit} logs of each folder": options.limit > 0,
    }
    return [what for what, is_so in told.items() if is_so]


def _whole_logs(options: argparse.Namespace, names: tuple[str, ...], collector: Path) -> dict[str, Any]:
    judge = DamageJudge(collector, names, options.seed, options.copies_into)
    code = code_of(LAB, ("quiclens_lab/damage",))
    with tempfile.TemporaryDirectory(prefix="quiclens-damage-") as scratch:
        folders = list(options.logs)
        if not options.logs_only and options.seeds:
            folders.append(_aioquic(options, Path(scratch)))
        logs = [log for folder in folders for log in _chosen(folder, options)]
        if not logs:
            raise CannotTryError("no logs: name a folder with --logs, or a stack that is in one with --stack")
        kept = RunLines(MADE if options.keep else None, f"{code}-{judge.identity}.jsonl", LogBatch)
        batches = judge_logs(logs, judge, options.jobs, kept, progress.show)
    tallies = added_up(batches, names)
    tables = {
        stack: {name: table.figures(tally) for name, tally in of_stack.items()} for stack, of_stack in tallies.items()
    }
    bars = bars_of(tallies[table.ALL], tables[table.ALL])
    return {
        "logs": len(logs),
        "bars": [bar.as_json() for bar in bars],
        "tables": tables,
        "worst": _worst(batches, options.worst),
    }


def _aioquic(options: argparse.Namespace, scratch: Path) -> Path:
    """The folder of aioquic's logs, made where it is not there: those of a run that may be ended are kept for its
    next start."""
    folder = (MADE if options.keep else scratch) / f"aioquic-{code_of(LAB, ('quiclens_lab',))}-{options.seeds}"
    if not (folder / RECORDS).exists():
        make_aioquic(folder, options.seeds, options.jobs, progress.show)
    return folder


def _chosen(folder: Path, options: argparse.Namespace) -> list[WholeLog]:
    logs = [log for log in logs_below(folder) if not options.stack or log.stack in options.stack]
    return drawn(logs, options.limit, options.seed) if options.limit else logs


def added_up(batches: Iterable[LogBatch], names: Sequence[str]) -> dict[str, dict[str, Tally]]:
    """The counts of each stack, and of all, in the order of the damages."""
    found: dict[str, dict[str, Tally]] = {table.ALL: {}}
    for batch in batches:
        for stack, of_stack in batch.tallies.items():
            for damage, tally in of_stack.items():
                for name in (stack, table.ALL):
                    found.setdefault(name, {}).setdefault(damage, Tally()).add(tally)
    return {
        stack: {name: of_stack[name] for name in names if name in of_stack} for stack, of_stack in sorted(found.items())
    }


def _worst(batches: Iterable[LogBatch], most: int) -> dict[str, list[dict[str, Any]]]:
    """Wrong top causes of each damage; those of answers that claim to be whole come first."""
    order = ("whole", "repaired")
    by_damage: dict[str, list[Wrong]] = {}
    for batch in batches:
        for wrong in batch.wrong:
            by_damage.setdefault(wrong.damage, []).append(wrong)
    return {
        name: [
            asdict(wrong)
            for wrong in sorted(found, key=lambda each: order.index(each.grade) if each.grade in order else len(order))[
                :most
            ]
        ]
        for name, found in by_damage.items()
        if most
    }


def _say(document: dict[str, Any]) -> None:
    lines = []
    if "tables" in document:
        lines += table.lines(document["tables"])
        lines += table.grade_lines(document["tables"][table.ALL])
    if "bars" in document:
        rows = [("bar", "figure", "bound", "")]
        rows += [
            (bar["says"], "no grade" if bar["figure"] is None else f"{bar['figure']:.4g}", bar["bound"],
             "kept" if bar["kept"] else "MISSED")
            for bar in document["bars"]
        ]  # fmt: skip
        lines += ["", *table.aligned(rows)]
    if flips := document.get("flipped_bits"):
        lost = flips["lost_for_each_bit"]["median"]
        lines += ["", f"{flips['copies']} copies with {flips['bits']} flipped bits: {lost} records lost for each"]
        lines.append(f"{len(flips['faults'])} copies with a fault; {'kept' if flips['passes'] else 'MISSED'}")
    for line in lines:
        progress.say(line)
