"""Faults: schedules are repeatable, logs keep what was written, the comparison finds what is wrong; a slice is run."""

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from quiclens_ingest import broker
from quiclens_ingest.broker import BrokerMissing

from quiclens_lab.faults import Outcome, added, faults, judge, known_outcomes, schedules_of
from quiclens_lab.faults_compare import Content, RowDifference, Rows, differences, is_end_unseen
from quiclens_lab.faults_live import until
from quiclens_lab.faults_run import damage_told, records_in
from quiclens_lab.faults_schedule import KINDS, OWN_LOGS, draw_schedule
from quiclens_lab.faults_spool import is_from_before
from quiclens_lab.faults_traffic import make_traffic
from quiclens_lab.faults_writer import WrittenLog, compress
from quiclens_lab.judgement import Judgement
from quiclens_lab.kept import RunLines
from quiclens_lab.machine import LAB, collector_binary

LINES = [f"{number} {'x' * (number % 90)}\n".encode() for number in range(400)]


def test_a_schedule_is_its_seed_and_number_and_a_hundred_have_every_kind_often() -> None:
    schedules = [draw_schedule(number, 1, list(KINDS)) for number in range(100)]
    assert schedules == [draw_schedule(number, 1, list(KINDS)) for number in range(100)]
    assert schedules[3] != draw_schedule(3, 2, list(KINDS))
    struck = Counter(strike.kind for schedule in schedules for strike in schedule.strikes)
    assert min(struck[kind] for kind in KINDS) >= 10
    assert max(schedule.planned_s for schedule in schedules) < 25


def test_traffic_is_its_seed_and_its_records_are_lines() -> None:
    traffic = make_traffic(5)
    assert traffic == make_traffic(5)
    assert len(traffic.own) == OWN_LOGS
    records = [
        *traffic.shared,
        *traffic.lines,
        *traffic.access,
        *(
            each
            for own in (traffic.own, traffic.documents, traffic.heirs)
            for records in own.values()
            for each in records
        ),
    ]
    assert len(records) > 3_000
    assert all(record.endswith(b"\n") and record.count(b"\n") == 1 for record in records)
    for connection_id, pieces in traffic.documents.items():
        (trace,) = json.loads(b"".join(pieces))["traces"]
        assert trace["common_fields"]["ODCID"] == connection_id and len(trace["events"]) == len(pieces) - 1


@pytest.fixture
def log(tmp_path: Path) -> Iterator[WrittenLog]:
    (tmp_path / "kept").mkdir()
    with closing(WrittenLog(tmp_path / "a.log", tmp_path / "kept", LINES, random.Random(1), b"head\n")) as opened:
        yield opened


def kept(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((folder / "kept").iterdir())]


def test_a_log_is_written_in_pieces_that_end_anywhere(tmp_path: Path, log: WrittenLog) -> None:
    ends = []
    for share in range(1, 101):
        log.grow(share / 100)
        ends.append(log.path.read_bytes()[-1:] == b"\n")
    assert log.is_written and not all(ends)
    assert log.path.read_bytes() == b"head\n" + b"".join(LINES) == kept(tmp_path)[0]


def test_rotated_logs_end_with_a_record_and_begin_with_the_header(tmp_path: Path, log: WrittenLog) -> None:
    log.grow(0.4)
    rotated = log.rotate("a.log.1")
    assert rotated is not None
    log.grow(1)
    first, second = rotated.read_bytes(), log.path.read_bytes()
    assert first.endswith(b"\n") and second.startswith(b"head\n")
    assert first + second == b"head\n" + b"".join(LINES[:160]) + b"head\n" + b"".join(LINES[160:])
    assert kept(tmp_path) == [first, second]
    compress(rotated)
    assert gzip.decompress((tmp_path / "a.log.1.gz").read_bytes()) == first and not rotated.exists()


def test_what_is_written_between_copy_and_truncation_is_kept_but_in_no_file(tmp_path: Path, log: WrittenLog) -> None:
    log.grow(0.5)
    log.truncate("a.log.1", writes_between=True)
    log.grow(1)
    copied, rest = (tmp_path / "a.log.1").read_bytes(), log.path.read_bytes()
    first, second = kept(tmp_path)
    assert log.has_unsure_end
    assert first.startswith(copied) and len(first) > len(copied) and second == rest
    assert first + second == b"head\n" + b"".join(LINES)


def test_of_a_log_that_is_gone_the_declared_id_may_end_where_it_was_last_seen() -> None:
    def changed(role: str, *columns: str) -> RowDifference:
        key = ("connection_aliases", "aa", "aa", "server", "t1", role)
        return RowDifference("changed", key, dict.fromkeys(columns, (1, 2)))

    times = ("version", "last_us", "last_at")
    assert is_end_unseen(changed("odcid", *times), {"aa"})
    assert not is_end_unseen(changed("odcid", *times), {"bb"})
    assert not is_end_unseen(changed("scid", *times), {"aa"})
    for column in ("alias", "first_us"):
        assert not is_end_unseen(changed("odcid", *times, column), {"aa"})


def test_what_is_counted_of_a_file_are_its_records() -> None:
    assert records_in(b"") == records_in(b"\n") == records_in(b"\x1e") == 0
    assert records_in(b"\nrow 1\nrow 2\n") == 2, "the end of a line that was cut off is none"
    assert records_in(b'\x1e{"qlog_version": "0.4"}\n\x1e{"name": "a"}\n\x1e{"na') == 2
    assert records_in(b'{"name": "a"}\n{"name": "b"}\n\x1e') == 2


def test_a_writer_that_dies_leaves_half_a_record(tmp_path: Path, log: WrittenLog) -> None:
    log.grow(0.5)
    log.die()
    half = log.path.read_bytes()
    assert not half.endswith(b"\n")
    log.grow(1)
    assert log.path.read_bytes().startswith(half) and kept(tmp_path) == [log.path.read_bytes()]


def content(**groups: dict[int, int]) -> Content:
    rows: dict[str, Rows] = {
        group: {("events", group, seq): {"seq": seq, "time_us": time_us} for seq, time_us in values.items()}
        for group, values in groups.items()
    }
    return Content(rows)


def test_the_comparison_tells_what_is_missing_extra_changed_and_doubled() -> None:
    wanted = content(a={0: 10, 1: 20}, b={0: 5})
    assert differences(content(a={0: 10, 1: 20}, b={0: 5}), [wanted]) == []
    assert {each.what for each in differences(content(a={0: 10}, b={0: 5}), [wanted])} == {"missing"}
    assert {each.what for each in differences(content(a={0: 10, 1: 20}), [wanted])} == {"missing"}
    assert {each.what for each in differences(content(a={0: 10, 1: 20}, b={0: 5}, c={0: 1}), [wanted])} == {"extra"}
    (changed,) = differences(content(a={0: 10, 1: 21}, b={0: 5}), [wanted])
    assert (changed.what, changed.columns) == ("changed", {"time_us": (20, 21)})
    twice = content(a={0: 10, 1: 20}, b={0: 5})
    twice.doubled.append(("events", "b", 0))
    assert [each.what for each in differences(twice, [wanted])] == ["doubled"]


def test_a_trace_may_be_as_one_reading_or_as_the_other_but_not_as_a_mixture() -> None:
    long, short = content(a={0: 10, 1: 20, 2: 30}, b={0: 5, 1: 6}), content(a={0: 10, 1: 20}, b={0: 5})
    assert differences(content(a={0: 10, 1: 20}, b={0: 5, 1: 6}), [long, short]) == []
    assert len(differences(content(a={0: 10, 2: 30}, b={0: 5}), [long, short])) == 1


def test_half_a_line_in_a_copy_may_stand_beside_the_whole_one_that_is_in_no_file() -> None:
    long, short = content(a={0: 10, 1: 20}), content(a={0: 10})
    half = {("rejects", "a", 100): {"offset": 100}}
    short.groups["a"] |= half
    found = content(a={0: 10, 1: 20})
    found.groups["a"] |= half
    assert [each.what for each in differences(found, [long, short])] == ["extra"]
    both = long.with_rejects_of(short)
    assert differences(found, [both]) == []
    assert [each.what for each in differences(content(a={0: 10}), [both])] != []


@pytest.mark.parametrize(
    ("table", "may_be"),
    [("episodes", True), ("streams", True), ("requests", True), ("events", True), ("rejects", False)],
)
def test_a_row_may_be_from_before_a_flip_only_as_it_was_then(table: str, may_be: bool) -> None:
    def one(**row: int) -> Content:
        return Content({"a": {(table, "a", 89): {"start_us": 10, "version": 1, **row}}})

    (extra,) = differences(one(), [Content()])
    assert is_from_before(extra, one(), one(version=2)) == may_be
    changed = replace(extra, what="changed")
    assert is_from_before(changed, one(), one(version=2)) == (may_be and table != "events")
    assert not is_from_before(extra, one(), one(start_us=11))
    assert not is_from_before(extra, one(), Content())


def judged(outcomes: list[Outcome]) -> tuple[list[str], list[str]]:
    judgement = Judgement("faults", added(outcomes))
    judge(judgement, outcomes)
    return judgement.missed, judgement.left_out


def test_the_bar_is_two_hundred_whole_schedules_in_which_each_kind_strikes() -> None:
    outcomes = [Outcome(draw_schedule(number, 1, list(KINDS)), 30.0) for number in range(200)]
    assert judged(outcomes) == ([], [])
    missed, left_out = judged(outcomes[:1])
    assert missed == [] and left_out[0] == "1 whole schedules of 200"
    assert left_out[1].startswith("never struck: ") and left_out[1].count(", ") == len(KINDS) - 5 - 1
    broken = [*outcomes[:-1], Outcome(outcomes[-1].schedule, 30.0, error="broke")]
    assert judged(broken) == (["schedule 199 of seed 1 is not whole"], ["199 whole schedules of 200"])
    without = [kind for kind in KINDS if kind != "flip spool"]
    assert judged([Outcome(draw_schedule(each, 1, without), 30.0) for each in range(200)]) == (
        [],
        ["never struck: flip spool"],
    )


def test_outcomes_of_two_machines_are_put_together(tmp_path: Path) -> None:
    here, elsewhere = (RunLines(tmp_path / name, "code.jsonl", Outcome) for name in ("here", "elsewhere"))
    outcomes = [Outcome(draw_schedule(each, 1, list(KINDS)), 30.0, rows={"events": 7}) for each in range(3)]
    for kept, number in ((here, 0), (here, 1), (elsewhere, 1)):
        kept.add(outcomes[number])
    here.add(replace(outcomes[2], error="broke"))
    expected = {(1, 0): outcomes[0], (1, 1): outcomes[1]}
    assert known_outcomes(here, elsewhere) == expected
    another = RunLines(tmp_path / "another machine", "code.jsonl", Outcome)
    assert known_outcomes(another, elsewhere) == expected
    assert len(list(elsewhere.read())) == 2


@pytest.fixture
def live_system() -> None:
    if not collector_binary().is_file():
        pytest.skip("no quiclens-collector: cargo build --release")
    try:
        broker.fetch_jars()
    except BrokerMissing as missing:
        pytest.skip(f"no broker: {missing}")


@pytest.mark.long
@pytest.mark.kafka
def test_schedules_lose_double_and_change_nothing(live_system: None, tmp_path: Path) -> None:
    """Two short ones; `make faults` strikes for longer."""
    schedules = schedules_of(2, 1, [0, 12])
    document = faults(schedules, jobs=2, is_kept=False, progress=lambda done, total: None, folder=tmp_path)
    assert document["passes"] and document["whole"] == 2, json.dumps(document["broken"], indent=1, default=str)
    assert document["rows"]["events"] > 0


@pytest.mark.long
@pytest.mark.kafka
def test_a_run_that_is_told_to_end_ends_all_that_it_started(live_system: None) -> None:
    words = [sys.executable, "-m", "quiclens_lab", "faults", "--schedules", "1", "--jobs", "1"]
    with tempfile.TemporaryDirectory() as scratch:  # a socket's path may be 107 bytes long
        environment = {**os.environ, "TMPDIR": scratch}
        with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL) as running:
            try:
                until(lambda: _collects(scratch) or running.poll() is not None, 300, "no collector began")
                assert running.poll() is None
            finally:
                running.send_signal(signal.SIGTERM)
            assert running.wait(300) != 0
        assert not _programs_with(scratch)
        assert not [path.name for path in Path(scratch).iterdir() if path.name.startswith("quiclens-faults-")]


def _collects(folder: str) -> bool:
    return any("quiclens-collector" in line for line in _programs_with(folder))


def _programs_with(folder: str) -> list[str]:
    """Command lines that name the folder."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in lines if folder in line]


def test_what_a_collector_says_of_damaged_checkpoints_is_counted() -> None:
    source = (LAB.parent / "collectors" / "agent" / "src" / "run" / "mod.rs").read_text(encoding="utf-8")
    phrases = ("damaged checkpoints; their files are read again", "the newest checkpoints are not whole")
    assert all(phrase in source for phrase in (*phrases, "checkpoints of another build"))
    at = "2026-11-26T06:31:20.380481Z  WARN"
    log = f"{at} {phrases[0]} checkpoints=3\n{at} {phrases[1]}; what they said is read again\n"
    assert damage_told(log) == 4
    assert damage_told(f"{at} checkpoints of another build; their files are read again files=7\n") == 1
