"""What do flipped bits cost a log that is one JSON document?

Copies of whole documents get a few flipped bits each and are read by the collector. A copy passes where the reading
ends in time, at most as many records are lost as bits were flipped (in the median over all copies), no more records
come back than there were, no more than flipped bits are changed, and nothing that lost a record is called `complete`.
"""

import gzip
import json
import random
import statistics
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quiclens_lab.errors import CannotTryError
from quiclens_lab.machine import LAB

TRACES = LAB.parent.parent / "shared" / "traces"
VECTORS = LAB.parent / "schema" / "vectors"
BITS = (1, 2, 5, 10, 20)
"""Flipped bits of a copy, in turn."""
LONGEST_SECONDS = 20
"""A reading that takes longer hangs."""
GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Document:
    """A log that is one document, and what the collector reads of the whole one."""

    name: str
    content: bytes
    records: Counter[str]
    complete: int


@dataclass(frozen=True, slots=True)
class Copy:
    """What was read of a damaged copy."""

    name: str
    seed: int
    bits: int
    records: int
    lost: int
    changed: int
    added: int
    complete: bool
    hangs: bool

    def faults(self) -> list[str]:
        """Which of the bars that hold for each copy it misses."""
        found = {
            "hangs": self.hangs,
            "complete, though records are lost": self.complete and self.lost > 0,
            "records that were never there": self.added > 0 or self.changed > self.bits,
        }
        return [fault for fault, is_so in found.items() if is_so]


def flipped_bits(
    folder: Path,
    copies: int,
    seed: int,
    collector: Path,
    progress: Callable[[int, int], None] = lambda done, whole: None,
) -> dict[str, Any]:
    """Damage that many copies of the documents below `folder`; `passes` says whether all bars hold."""
    documents = [document for path in sorted(folder.rglob("*")) if (document := _document(path, collector)) is not None]
    if not documents:
        raise CannotTryError(f"no documents below {folder}")
    jobs = [(documents[at % len(documents)], seed * 1_000_003 + at, BITS[at % len(BITS)]) for at in range(copies)]
    with ThreadPoolExecutor(2) as threads:
        read = []
        for copy in threads.map(lambda job: _damaged(collector, *job), jobs):
            read.append(copy)
            progress(len(read), len(jobs))
    lost_each = sorted(copy.lost / copy.bits for copy in read)
    faults = [{**asdict(copy), "faults": copy.faults()} for copy in read if copy.faults()]
    median = statistics.median(lost_each)
    return {
        "folder": folder.name,
        "seed": seed,
        "documents": len(documents),
        "copies": len(read),
        "bits": sum(copy.bits for copy in read),
        "records": sum(copy.records for copy in read),
        "lost": sum(copy.lost for copy in read),
        "lost_for_each_bit": {
            "median": median,
            "p90": lost_each[len(lost_each) * 9 // 10],
            "p99": lost_each[len(lost_each) * 99 // 100],
            "most": lost_each[-1],
        },
        "hang": sum(copy.hangs for copy in read),
        "faults": faults,
        "worst": [asdict(copy) for copy in sorted(read, key=lambda copy: -copy.lost / copy.bits)[:10]],
        "passes": median <= 1 and not faults,
    }


def _document(path: Path, collector: Path) -> Document | None:
    """The log, where it is one whole document with records."""
    if not path.is_file():
        return None
    content = path.read_bytes()
    content = gzip.decompress(content) if content.startswith(GZIP) else content
    with tempfile.TemporaryDirectory(prefix="quiclens-damage-") as scratch:
        rows = _read(collector, Path(scratch), content)
    if rows is None:
        return None
    connections, records = rows
    is_document = all(row["serialization"] == "contained" and row["complete"] for row in connections)
    return Document(str(path.name), content, records, len(connections)) if connections and is_document else None


def _damaged(collector: Path, document: Document, seed: int, bits: int) -> Copy:
    """A copy with flipped bits, read; the same seed flips the same."""
    drawn = random.Random(seed)
    content = bytearray(document.content)
    for at in drawn.sample(range(8 * len(content)), bits):
        content[at // 8] ^= 1 << at % 8
    with tempfile.TemporaryDirectory(prefix="quiclens-damage-") as scratch:
        rows = _read(collector, Path(scratch), bytes(content))
    all_records = document.records.total()
    if rows is None:
        return Copy(document.name, seed, bits, all_records, all_records, 0, 0, complete=False, hangs=True)
    connections, records = rows
    is_complete = len(connections) >= document.complete and all(row["complete"] for row in connections)
    return Copy(
        document.name,
        seed,
        bits,
        all_records,
        lost=max(0, all_records - records.total()),
        changed=(records - document.records).total(),
        added=max(0, records.total() - all_records),
        complete=is_complete,
        hangs=False,
    )


def _read(collector: Path, scratch: Path, content: bytes) -> tuple[list[dict[str, Any]], Counter[str]] | None:
    """Rows of connections, and the records given back; None where the collector does not end."""
    log = scratch / "log.qlog"
    log.write_bytes(content)
    try:
        connections = [line["row"] for line in _dump(collector, log, "summaries") if line["table"] == "connections"]
        records = Counter(map(_without_time, _dump(collector, log, "events")))
    except subprocess.TimeoutExpired:
        return None
    return connections, records


def _without_time(record: Any) -> str:
    """A record but for its time: where times are differences, one that is lost changes those behind it."""
    if isinstance(record, list):
        return json.dumps(record[1:], sort_keys=True)
    return json.dumps({key: value for key, value in record.items() if key != "time"}, sort_keys=True)


def _dump(collector: Path, log: Path, room: str) -> Iterator[Any]:
    command = [str(collector), "dump", str(log), "--room", room]
    done = subprocess.run(command, capture_output=True, timeout=LONGEST_SECONDS, check=True)
    return (json.loads(line) for line in done.stdout.splitlines())
