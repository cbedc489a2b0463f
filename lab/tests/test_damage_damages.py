"""Each damage on a log made by hand: what is gone, moved or changed, and what is left as it was."""

import gzip
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from quiclens_lab.damage.damages import (
    DAMAGES,
    Bursts,
    ClockStep,
    CutOff,
    Duplicates,
    EqualTimesShuffled,
    FirstPackets,
    Hole,
    Missing,
    Noise,
    OutOfOrder,
    Rounded,
)
from quiclens_lab.damage.flight import RoundTrip, round_trips
from quiclens_lab.damage.frozen import Frozen
from quiclens_lab.damage.logs import NS_PER_MS, LogRecords, Record, read_log
from quiclens_lab.errors import LabError

HEAD = b'\x1e{"file_schema":"urn:ietf:params:qlog:file:sequential","trace":{"vantage_point":{"type":"server"}}}\n'


def record(time_ms: float, name: str, **data: Any) -> Record:
    rest = json.dumps({"name": name, "data": data}, separators=(",", ":"))[1:]
    return Record(json.dumps(time_ms).encode(), name, rest.encode())


def sent(time_ms: float, number: int, *frames: str) -> Record:
    header = {"packet_type": "1RTT", "packet_number": number}
    return record(
        time_ms, "quic:packet_sent", header=header, frames=[{"frame_type": each} for each in frames or ("stream",)]
    )


def acknowledged(time_ms: float, *ranges: list[int], number: int = 0) -> Record:
    header = {"packet_type": "1RTT", "packet_number": number}
    frame = {"frame_type": "ack", "acked_ranges": list(ranges)}
    return record(time_ms, "quic:packet_received", header=header, frames=[frame])


def log(*records: Record) -> LogRecords:
    return LogRecords(HEAD, records)


def ticks(count: int, apart_ms: int = 1) -> LogRecords:
    return log(*(record(at * apart_ms, "quic:tick", number=at) for at in range(count)))


def draw(seed: int = 1) -> random.Random:
    return random.Random(seed)


def numbers(damaged: LogRecords | None) -> list[int]:
    assert damaged is not None
    return [each.data["number"] for each in damaged.records]


def times(records: Iterable[Record]) -> list[float]:
    return [each.time_ns / NS_PER_MS for each in records]


def test_a_log_of_lines_is_written_as_it_was_read(tmp_path: Path) -> None:
    lines = [b'{"time":0.510728,"name":"quic:a","data":{"x":"\\u00e9"}}', b'{"time":-1,"name":"b","data":{}}']
    content = HEAD + b"".join(b"\x1e" + line + b"\n" for line in lines)
    (tmp_path / "a.sqlog").write_bytes(content)
    (tmp_path / "b.sqlog.gz").write_bytes(gzip.compress(content))
    for name in ("a.sqlog", "b.sqlog.gz"):
        read = read_log(tmp_path / name)
        assert read.content() == content
        assert [(each.time_ns, each.name, each.data) for each in read.records] == [
            (510_728, "quic:a", {"x": "é"}),
            (-1_000_000, "b", {}),
        ]


def test_a_document_is_written_with_the_same_content(tmp_path: Path) -> None:
    events = [{"data": {"name": 1}, "name": "transport:a", "time": 1795168806021.7039}, {"name": "b", "time": 2}]
    document = {"qlog_version": "0.3", "traces": [{"common_fields": {"ODCID": "ab"}, "events": events, "vantage": {}}]}
    path = tmp_path / "a.qlog"
    for indent in (None, 0):
        path.write_text(json.dumps(document, indent=indent))
        read = read_log(path)
        assert json.loads(read.content()) == document
        assert [each.data for each in read.records] == [{"name": 1}, {}]


def test_lines_without_a_separator_are_lines(tmp_path: Path) -> None:
    content = b'{"trace":{}}\n{"time":1,"name":"a","data":{}}\n'
    (tmp_path / "a.ndjson").write_bytes(content)
    read = read_log(tmp_path / "a.ndjson")
    assert read.content() == content
    assert [each.name for each in read.records] == ["a"]


@pytest.mark.parametrize(
    "content",
    [
        '{"traces": [{"events": []}, {"events": []}]}',
        '{"traces": [{"common_fields": {"time_format": "delta"}, "events": []}]}',
        '{"traces": [{"events": [[1, "a", "b", {}]]}]}',
        "{",
    ],
)
def test_what_is_no_log_of_one_trace_with_times_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "a.qlog"
    path.write_text(content)
    with pytest.raises(LabError, match=r"a\.qlog"):
        read_log(path)


def test_a_time_that_stays_the_same_is_not_written_anew() -> None:
    one = record(1.5, "a")
    assert one.at(1_500_000) is one
    assert json.loads(one.at(-1_500_001).text) == {"time": -1.500001, "name": "a", "data": {}}


def test_a_share_of_the_records_is_missing() -> None:
    left = numbers(Missing("", 0.2).to(ticks(10_000), draw()))
    assert 7_850 < len(left) < 8_150
    assert left == sorted(left)


def test_bursts_drop_runs_and_at_most_half_of_a_short_log() -> None:
    for seed in range(20):
        gone = sorted(set(range(1_000)) - set(numbers(Bursts().to(ticks(1_000), draw(seed)))))
        assert 20 <= len(gone) <= 500
        assert gone == list(range(gone[0], gone[-1] + 1))
    assert len(numbers(Bursts().to(ticks(10), draw()))) == 5


def test_a_hole_is_as_long_as_it_says() -> None:
    left = numbers(Hole("", 50).to(ticks(1_000), draw()))
    gone = sorted(set(range(1_000)) - set(left))
    assert gone == list(range(gone[0], gone[0] + 50))


def by_name(name: str) -> Any:
    (found,) = [each for each in DAMAGES if each.name == name]
    return found


def test_levels_leave_their_kind_out_and_nothing_else() -> None:
    whole = log(
        record(0, "recovery:metrics_updated"),
        record(0, "quic:recovery_metrics_updated"),
        record(0, "recovery:packet_lost"),
        record(0, "http3:frame_created"),
        record(0, "recovery:loss_timer_updated"),
        record(0, "transport:datagrams_sent"),
        sent(0, 1, "ack", "padding"),
        sent(0, 2, "ack", "stream"),
        acknowledged(0, [1, 2]),
    )
    left_out = {
        "no-metrics": [0, 1],
        "no-packet_lost": [2],
        "no-http": [3],
        "no-timers": [4],
        "no-datagrams": [5],
        "no-ack-only-sent": [6],
        "no-packet_sent": [6, 7],
        "no-packet_received": [8],
    }
    for name, places in left_out.items():
        damaged = by_name(name).to(whole, draw())
        assert damaged.records == tuple(each for at, each in enumerate(whole.records) if at not in places), name
        assert by_name(name).to(damaged, draw()) is None, "a level that leaves nothing out is no damage"


def test_frames_are_left_out_of_packets_alone() -> None:
    http = record(0, "http3:frame_created", frames=[1])
    packet, other = by_name("no-frames").to(log(sent(0, 1), http), draw()).records
    assert packet.data == {"header": {"packet_type": "1RTT", "packet_number": 1}}
    assert packet.name == "quic:packet_sent"
    assert other is http


def test_only_the_first_packets_are_there() -> None:
    whole = log(*(each for at in range(3) for each in (sent(at, at), record(at, "quic:tick"))))
    damaged = FirstPackets(packets=2).to(whole, draw())
    assert damaged is not None
    assert damaged.records == whole.records[:4]
    assert FirstPackets(packets=3).to(whole, draw()) is None


def test_a_file_that_is_cut_off_ends_within_a_record() -> None:
    whole = ticks(30)
    content = CutOff().to(whole, draw()).content()
    *good, last = content.removeprefix(HEAD).splitlines()
    assert 10 <= len(good) < 30
    assert whole.content().startswith(content)
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(last.removeprefix(b"\x1e"))


def test_a_document_that_is_cut_off_is_not_closed() -> None:
    whole = LogRecords(b'{"events": [', ticks(30).records, b"]}", before=b"", behind=b"", between=b",")
    content = CutOff().to(whole, draw()).content()
    assert whole.content().startswith(content)
    assert len(content) < len(whole.content())


def test_records_are_late_by_at_most_so_much_and_keep_their_times() -> None:
    whole = ticks(1_000)
    damaged = OutOfOrder("", 10).to(whole, draw()).records
    assert damaged != whole.records
    assert sorted(damaged, key=lambda each: each.time_ns) == list(whole.records)
    latest = 0.0
    for time in times(damaged):
        latest = max(latest, time)
        assert latest - time <= 10
    assert latest - times(damaged)[-1] <= 10


def test_only_records_of_one_moment_are_shuffled() -> None:
    whole = log(*(record(at // 10, "quic:tick", number=at) for at in range(1_000)))
    damaged = EqualTimesShuffled().to(whole, draw())
    assert numbers(damaged) != list(range(1_000))
    assert [each // 10 for each in numbers(damaged)] == [each // 10 for each in range(1_000)]
    assert EqualTimesShuffled().to(ticks(100), draw()) is None


def test_times_are_rounded_to_the_nearest() -> None:
    whole = log(*(record(time, "a") for time in (0.4999, 0.5, 14.999, 15.0)))
    assert times(Rounded("", 1).to(whole, draw()).records) == [0, 1, 15, 15]
    assert times(Rounded("", 10).to(whole, draw()).records) == [0, 0, 10, 20]


def test_noise_is_as_large_as_it_says_and_never_before_the_first_record() -> None:
    damaged = Noise("", 1).to(ticks(1_000), draw())
    assert numbers(damaged) == list(range(1_000))
    off = [time - at for at, time in enumerate(times(damaged.records))]
    assert min(off) < -0.9
    assert max(off) > 0.9
    assert all(-1 <= each <= 1 for each in off)
    assert min(times(damaged.records)) >= 0


FLIGHT = log(
    sent(0, 1),
    sent(1, 2, "ack"),
    sent(2, 3),
    acknowledged(20, [1, 3]),
    sent(21, 4),
    record(30, "quic:tick"),
    acknowledged(40, [1, 3]),
    acknowledged(50, [1, 4]),
)


def test_an_acknowledgement_measures_the_round_trip_of_its_largest_new_packet() -> None:
    assert round_trips(FLIGHT.records) == [RoundTrip(2, 3), RoundTrip(4, 7)]


def test_ranges_that_end_after_their_last_packet_are_read_as_they_are_meant() -> None:
    assert round_trips([sent(0, 1), sent(1, 2), acknowledged(20, [1, 3])]) == [RoundTrip(1, 2)]


@pytest.mark.parametrize("sign", [1, -1])
def test_the_clock_steps_once_while_a_packet_is_on_its_way(sign: int) -> None:
    for seed in range(20):
        damaged = ClockStep("", sign).to(FLIGHT, draw(seed))
        assert damaged is not None
        off = [time - was for time, was in zip(times(damaged.records), times(FLIGHT.records), strict=True)]
        (step,) = {round(each, 6) for each in off if each}
        assert 50 <= sign * step <= 500
        first = next(at for at, each in enumerate(off) if each)
        assert all(off[first:])
        assert any(trip.sent < first <= trip.acknowledged for trip in round_trips(FLIGHT.records))
    assert ClockStep("", sign).to(ticks(10), draw()) is None


def test_a_process_that_stood_still_does_at_once_what_it_missed() -> None:
    whole = log(
        sent(0, 1),
        acknowledged(20, [1, 1]),
        record(20, "recovery:metrics_updated", latest_rtt=20.0),
        sent(40, 2),
        record(45, "quic:tick"),
        sent(50, 3),
        acknowledged(60, [1, 2]),
        record(60, "recovery:metrics_updated", latest_rtt=20.0),
        acknowledged(70, [1, 3]),
        record(70, "recovery:metrics_updated", latest_rtt=20.0),
    )
    seen = set()
    for seed in range(50):
        damaged = Frozen().to(whole, draw(seed))
        assert damaged is not None
        found = times(damaged.records)
        assert found == sorted(found)
        assert found[0] == 0
        assert found[-1] in (360, 370)
        stated = [each.data["latest_rtt"] for each in damaged.records if "latest_rtt" in each.data]
        assert stated == [found[trip.acknowledged] - found[trip.sent] for trip in round_trips(damaged.records)], (
            "what the log states and what its times say are one"
        )
        seen.add(tuple(found))
    assert (0, 20, 20, 40, 345, 345, 345, 345, 370, 370) in seen, "stood still from 45 on, a round trip was 20"


def test_samples_grow_wherever_they_stand() -> None:
    """Before their packet and repeated by snapshots, as quic-go writes them; not stated again where they are as long as
    the last, as noq writes them."""
    ours = record(40, "recovery:metrics_updated", latest_rtt=20.0, smoothed_rtt=21.0)
    before = [record(20, "recovery:metrics_updated", latest_rtt=20.0, smoothed_rtt=22.0), acknowledged(20, [1, 1])]
    quic_go = [sent(0, 1), *before, sent(20, 2), ours, acknowledged(40, [1, 2]), sent(40, 3), ours]
    smoothed_alone = record(40, "recovery:metrics_updated", smoothed_rtt=21.0)
    noq = [sent(0, 1), *reversed(before), sent(20, 2), acknowledged(40, [1, 2]), smoothed_alone]
    for records, wanted in ((quic_go, [20, 320, 320]), (noq, [20, 320])):
        of_all_seeds = [Frozen().to(log(*records), draw(seed)) for seed in range(50)]
        stated = [[each.data["latest_rtt"] for each in damaged.records if "latest_rtt" in each.data]
                  for damaged in of_all_seeds if damaged is not None]  # fmt: skip
        assert wanted in stated
        assert all(set(each) <= {20.0, 320.0} for each in stated)


def test_duplicates_stand_beside_each_other() -> None:
    damaged = numbers(Duplicates(share=0.5).to(ticks(1_000), draw()))
    assert sorted(set(damaged)) == list(range(1_000))
    assert damaged == sorted(damaged)
    assert 1_400 < len(damaged) < 1_600


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: str(damage.name))
def test_the_same_seed_does_the_same_and_the_log_stays_as_it_was(damage: Any) -> None:
    whole = FLIGHT.of([*FLIGHT.records, record(50, "recovery:packet_lost"), record(50, "http3:frame_created")])
    before = whole.content()
    first, second = (damage.to(whole, draw(7)) for _ in range(2))
    assert (first and first.content()) == (second and second.content())
    assert whole.content() == before


def test_every_damage_has_a_name_of_its_own() -> None:
    assert len({damage.name for damage in DAMAGES}) == len(DAMAGES)
