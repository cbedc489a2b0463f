"""One schedule against a system that runs: write, strike, read plainly, and wait until the store says the same."""

import random
import re
import shutil
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quiclens_schema.store import StoreError

from quiclens_lab.faults_compare import (
    Content,
    RowDifference,
    content,
    differences,
    is_end_unseen,
    is_loss_told,
    is_of,
    read_plainly,
    shown,
    without_cut,
)
from quiclens_lab.faults_fates import Fates
from quiclens_lab.faults_linking import Linkers
from quiclens_lab.faults_live import Live
from quiclens_lab.faults_schedule import Schedule
from quiclens_lab.faults_socket import RowSender
from quiclens_lab.faults_spool import (
    is_from_before,
    lost_in_spool,
    rows_taken,
    unexplained,
    without_events,
    without_lost,
)
from quiclens_lab.faults_striking import Striker
from quiclens_lab.faults_traffic import Traffic, make_traffic
from quiclens_lab.faults_writer import LogWriter, WrittenLog

LONGEST_S = 180.0
"""How long a busy machine may take until nothing moves any more."""
WRONG_S = 14.0
"""How long beyond `idle_timeout_s` it may be wrong although nothing moves: a collector that found no broker waits for
up to ten seconds until it tries again."""
QUIET_S = 1.0
"""Without a checkpoint for so long and without lag, a collector has nothing to say."""
OVER_S = 2.0
"""Beyond the collector's `idle_timeout_s`: its turns, and shipping."""


@dataclass(frozen=True)
class Found:
    """How long each phase took, what the plain reading has, and what the store does not say as it should."""

    phases_s: dict[str, float]
    rows: dict[str, int]
    wrong: dict[str, Any]


def run(schedule: Schedule, live: Live) -> Found:
    """Do it all; everything that was started still runs afterwards."""
    laps = [time.monotonic()]
    traffic = make_traffic(schedule.seed * 1_000 + schedule.number)
    own, shared = make_logs(schedule, traffic, live)
    documents = make_documents(schedule, traffic, live)
    logs = [*own, *shared.values()]
    fates = Fates(live, own, schedule.fates, traffic.heirs)
    writer = LogWriter([*logs, *documents], schedule.planned_s, fates.turn)
    sender = RowSender(live.socket, traffic.sent if live.listens else [], schedule.planned_s)
    striker = Striker(live, writer, shared, logs, documents, sender)
    with Linkers(live, schedule.seed * 1_000 + schedule.number) as linkers:
        writer.start()
        sender.start()
        striker.strike_all(schedule.strikes)
        writer.join()
        sender.join()
        for log in (*logs, *documents):
            log.close()
        fates.finish()
    laps.append(time.monotonic())
    with ThreadPoolExecutor(1, thread_name_prefix="reading") as beside:
        reading = beside.submit(_readings, live, list(shared.values()), striker.cluttered)
        is_quiet = _quiet(live, striker)
        readings, records = reading.result()
    laps.append(time.monotonic())
    lives = [path.read_bytes() for log in shared.values() for path in log.cut_lives]
    judge = StoreComparison(live, sender, readings, lives, striker, schedule.when_full == "drop_events")
    differing = (
        judge.settled(fates.deleted, fates.gone) if is_quiet else [RowDifference("still moving", ("everything",))]
    )
    laps.append(time.monotonic())
    wrong = shown(differing) if differing else {}
    wrong |= _uncounted(live, striker.flips) | _lost_by_reading(readings[0], records)
    wrong |= {"linkers": linkers.wrong} if linkers.wrong else {}
    names = ("strikes", "quiet", "judging")
    phases_s = {name: round(end - begin, 1) for name, begin, end in zip(names, laps, laps[1:], strict=False)}
    did = {"reused inodes": fates.reused, "struck documents": striker.documents_struck}
    did |= {f"links {end}": times for end, times in sorted(linkers.counts.items())}
    return Found(phases_s, {**readings[0].counts, "records": records, **judge.counts, **did}, wrong)


def make_logs(schedule: Schedule, traffic: Traffic, live: Live) -> tuple[list[WrittenLog], dict[str, WrittenLog]]:
    """The connections' own files, and those that many share, by the name that strikes use."""
    draw = random.Random(schedule.seed * 7_000_003 + schedule.number)
    kept, kept_access = live.folder / "kept" / "traces", live.folder / "kept" / "access"
    for each in (kept, kept_access):
        each.mkdir(parents=True)
    own = []
    for number, (connection_id, records) in enumerate(traffic.own.items()):
        begin = 0.6 * number / len(traffic.own)
        path = live.traces / f"{connection_id}.sqlog"
        own.append(WrittenLog(path, kept, records, draw, span=(begin, begin + 0.4), is_own=True))
    return own, {
        "shared": WrittenLog(live.traces / "shared.sqlog", kept, traffic.shared, draw, traffic.shared_header),
        "lines": WrittenLog(live.traces / "lines.log", kept, traffic.lines, draw),
        "access": WrittenLog(live.access / "access.jsonl", kept_access, traffic.access, draw),
    }


def make_documents(schedule: Schedule, traffic: Traffic, live: Live) -> list[WrittenLog]:
    """The connections whose file is one document, each written early, so that it is read while others grow."""
    draw = random.Random(schedule.seed * 9_000_011 + schedule.number)
    kept = live.folder / "kept" / "traces"
    return [
        WrittenLog(live.traces / f"{connection_id}.qlog", kept, records, draw, span=(0.1 * number, 0.1 * number + 0.1))
        for number, (connection_id, records) in enumerate(traffic.documents.items())
    ]


def _readings(live: Live, shared: Sequence[WrittenLog], cluttered: Sequence[Path]) -> tuple[list[Content], int]:
    """What plain readings say of all bytes that were written, and of those that still stand there where some do not.

    The half lines of the latter may stand beside the whole ones of the former. What is no log is told by each.
    """
    kept = live.folder / "kept"
    places = [("kept-store", kept / "traces", kept / "access")]
    if any(log.has_unsure_end for log in shared):
        places.append(("left-store", live.traces, live.access))
        # A trace whose file was deleted once it was stored, beside an access log that lost a line of it.
        places.append(("left-access-store", kept / "traces", live.access))
    readings = [
        read_plainly(live.folder / name, [*_files(traces), *cluttered], _files(access))
        for name, traces, access in places
    ]
    readings += [readings[0].with_rejects_of(left) for left in readings[1:]]
    records = sum(records_in(path.read_bytes()) for folder in ("traces", "access") for path in _files(kept / folder))
    return readings, records


def _files(folder: Path) -> list[Path]:
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and path.stat().st_size > 0
    ]


def records_in(text: bytes) -> int:
    """Lines of a file, a cut last one included, its header not. A separator alone is nothing yet, and an empty line,
    as the end of one that was cut off leaves it, is none."""
    lines = sum(line not in (b"", b"\x1e") for line in text.split(b"\n"))
    return lines - text.count(b'"qlog_version"')


def _quiet(live: Live, striker: Striker) -> bool:
    """Wait until nothing moves any more; False when it does for too long."""
    moved, until = time.monotonic(), time.monotonic() + LONGEST_S
    while time.monotonic() < until:
        if striker.supervise():
            moved = time.monotonic()
        time.sleep(0.2)
        if time.monotonic() - moved < live.idle_s + OVER_S or time.time() - live.checkpoints.stat().st_mtime < QUIET_S:
            continue
        if live.lag() == 0 and live.is_linked():
            return True
    return False


class StoreComparison:
    """Compares what the store says with the plain readings."""

    def __init__(
        self,
        live: Live,
        sender: RowSender,
        readings: Sequence[Content],
        cut_lives: Sequence[bytes],
        striker: Striker,
        drops_events: bool,
    ) -> None:
        self.counts: dict[str, int] = {}
        self._live = live
        self._sender = sender
        self._readings = readings
        self._cut_lives = cut_lives
        self._striker = striker
        self._drops_events = drops_events

    def settled(self, deleted: Collection[str], gone: Sequence[str]) -> list[RowDifference]:
        """Compare; again while it is wrong, for what moves unseen. A flip costs a cycle of checkpoints, in which each
        of the files may stand that are `gone`: of each it may be told that nobody can read it again."""
        kept, flips = self._live.folder / "kept", self._striker.flips
        access = [path.read_bytes() for path in (kept / "access").iterdir()]
        logs = [path.read_bytes() for name in gone for path in (kept / "traces").glob(f"{name}-*")]
        wrong = [RowDifference("missing", ("everything",))]
        until = time.monotonic() + self._live.idle_s + WRONG_S
        while wrong and time.monotonic() < until:
            try:
                with self._live.open() as store:
                    found = content(store)
            except StoreError:
                continue
            wrong = [each for each in self._wrong(found) if not is_end_unseen(each, deleted)]
            told = [each for each in wrong if is_loss_told(each)]
            of_access = [each for each in told if is_of(each, access)]
            of_gone = [each for each in told if each not in of_access and is_of(each, logs)]
            others = len(told) - len(of_access) - len(of_gone)
            unexcused = max(0, len(of_access) - self._striker.unseen_ends) + others
            if unexcused <= flips and len(of_gone) <= flips * len(gone):
                wrong = [each for each in wrong if each not in told]
        return wrong

    def _wrong(self, found: Content) -> list[RowDifference]:
        self.counts["cut"] = without_cut(found, self._readings, self._cut_lives)
        if not self._sender.batches:
            return differences(found, self._readings)
        lost = lost_in_spool(found)
        rows = rows_taken(self._sender, found, lost)
        shipped = rows_taken(self._sender, found, lost, with_shipped=True)
        reading = self._reading_of(rows)
        before = self._reading_of(shipped) if shipped != rows else reading
        self.counts |= {"sent": len(rows), "corrupt": len(lost.corrupt), "dropped": len(lost.dropped)}
        without_lost(found, lost)
        without_events(found, lost.corrupt | lost.dropped)
        without_events(reading, lost.dropped)
        wrong = differences(found, [each.joined(reading) for each in self._readings])
        wrong = [each for each in wrong if not is_from_before(each, found, before)]
        return wrong + unexplained(self._sender, lost, self._striker.spool_flips, self._drops_events)

    def _reading_of(self, rows: Sequence[bytes]) -> Content:
        sent = self._live.folder / "kept" / "sent.log"
        sent.write_bytes(b"".join(rows))
        shutil.rmtree(self._live.folder / "sent-store", ignore_errors=True)
        return read_plainly(self._live.folder / "sent-store", [sent], [])


def _uncounted(live: Live, flips: int) -> dict[str, Any]:
    """Flipped bytes of which the collector said nothing."""
    said = damage_told((live.folder / "log" / "collector.log").read_text(errors="replace"))
    return {"flips": {"struck": flips, "said": said}} if said < flips else {}


def damage_told(log: str) -> int:
    """How many flipped checkpoints a collector's log tells of; see `follow` in collectors/agent/src/run/mod.rs."""
    said = sum(int(number) for number in re.findall(r"damaged checkpoints; .* checkpoints=(\d+)", log))
    said += log.count("newest checkpoints are not whole") + log.count("checkpoints of another build")
    return said


def _lost_by_reading(reading: Content, records: int) -> dict[str, Any]:
    """Every record is an event, a line or a reject: what we compare with has not lost any itself."""
    counted = sum(reading.counts[name] for name in ("events", "request_lines", "rejects"))
    counted -= sum(
        row.get("reason") in ("not_a_file", "unreadable") for rows in reading.groups.values() for row in rows.values()
    )
    return {} if counted == records else {"reading": {"records": records, "counted": counted}}
