"""The freshness bench's own parts: what it writes, what it says of what it saw, and how it finds the most."""

import json
from pathlib import Path
from typing import Any

import pytest

from quiclens_lab.command_line import parser
from quiclens_lab.freshness import watching
from quiclens_lab.freshness.command import RATE, SECONDS, judge
from quiclens_lab.freshness.ladder import Step, climb, step
from quiclens_lab.freshness.templates import AccessLine, Request, Template, keep, kept
from quiclens_lab.freshness.watching import SeenRequest, WriterWatch
from quiclens_lab.freshness.writer import PREFIX, write
from quiclens_lab.judgement import Judgement

ID = "0123456789abcdef"


def template() -> Template:
    records = [b"\x1e" + json.dumps({"time": each * 10.0, "id": ID}).encode() + b"\n" for each in range(6)]
    ends = [sum(len(record) for record in records[: each + 1]) for each in range(6)]
    line = AccessLine(25.0, 5.0, {"time": "", "stream_id": 4, "duration_us": 20_000, "external_id": ""})
    times = [each * 10.0 for each in range(6)]
    return Template(ID.encode(), {"ODCID": ID}, "server", b"".join(records), ends, times, [Request(4, 3)], [line])


def test_connections_are_told_whole_under_ids_of_their_own_at_the_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep([template()], tmp_path / "kept")
    write(kept(tmp_path / "kept"), tmp_path, rate=120, seconds=1.15, number=7)
    files = sorted((tmp_path / "traces").iterdir())
    assert 15 <= len(files) <= 24, "six events each, 120 a second"
    whole = 0
    for path in files:
        header, *records = [json.loads(record) for record in path.read_bytes().split(b"\x1e")[1:]]
        assert header["trace"]["common_fields"]["ODCID"] == path.stem
        assert [record["time"] for record in records] == [each * 10.0 for each in range(len(records))]
        assert {record["id"] for record in records} == {path.stem}
        whole += len(records) == 6
    assert whole >= len(files) - 4, "those that began at the end are cut"
    lines = [json.loads(line) for line in (tmp_path / "access.jsonl").read_text().splitlines()]
    assert {line["connection_id"] for line in lines} <= {path.stem for path in files}
    assert len({line["external_id"] for line in lines}) == len(lines) >= whole
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    requests = [each["request"] for each in said if "request" in each]
    sampled = [path.stem for path in files if path.stem.startswith(PREFIX)]
    assert sampled and {connection for connection, _, _ in requests} <= set(sampled)
    assert all(rest == [4, 3] for _, *rest in requests)
    assert max(each["written"] for each in said if "written" in each) > 60


def test_a_request_is_seen_when_its_row_and_all_its_events_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = WriterWatch("http://nowhere")
    early, late = SeenRequest("feed01", 4, 10, 0.0), SeenRequest("feed01", 8, 20, 0.0)
    watch._waiting = [early, late]
    answers: list[list[list[Any]]] = [
        [["feed01", 4, 10]],
        [["feed01", 10]],  # its first ten records, not yet the eleventh
        [["feed01", 4, 10], ["feed01", 8, 19]],
        [["feed01", 15]],
    ]

    def asked(_: str, __: str) -> list[list[Any]]:
        if len(answers) == 1:
            watch._over.set()
        return answers.pop(0)

    monkeypatch.setattr(watching, "asked", asked)
    monkeypatch.setattr(watching, "PAUSE_S", 0.01)
    watch._watch()
    assert early.stream_at is not None and early.events_at is not None and early.stream_at < early.events_at
    assert late.stream_at is None and late.is_waiting
    assert watch._waiting == [late]


def test_a_step_is_kept_up_with_when_what_waits_does_not_grow() -> None:
    written = [(float(each), each * 1000) for each in range(41)]
    level = [(float(each) + 0.5, max(0, each * 1000 - 1500)) for each in range(41)]
    made = step(1000, written, level, 10, 30)
    assert (round(made.written), round(made.stored)) == (1000, 1000)
    assert made.is_kept_up and made.is_written
    slower = [(float(each), each * 900) for each in range(41)]
    made = step(1000, written, slower, 10, 30)
    assert made.grew_s == pytest.approx(2.0) and not made.is_kept_up


def test_the_ladder_ends_with_the_first_rate_that_is_too_much() -> None:
    def measure(asked: int, _: int) -> Step:
        stored = min(asked, 70_000)
        return Step(asked, asked, stored, (asked - stored) * 20 / asked)

    found = climb(measure)
    assert [each["asked"] for each in found["steps"]] == [25_000, 37_500, 56_250, 84_375, 68_892, 76_241, 72_474]
    assert (found["sustained_per_second"], found["at_most_per_second"]) == (70_000, 70_000)
    assert found["ended_by"] == "pipeline"


def test_a_writer_that_cannot_write_so_much_ends_the_ladder() -> None:
    found = climb(lambda asked, _: Step(asked, min(asked, 30_000), min(asked, 30_000), 0.0))
    assert found["ended_by"] == "writer"
    assert found["sustained_per_second"] == 30_000


GOOD: dict[str, Any] = {
    "steady": {"streams_s": {"p99": 2.0}, "events_s": {"p99": 2.5}},
    "ladder": {"at_most_per_second": 130_000, "cpu_s_per_million": 12.0},
    "plain_ladder": {},
    "watched_server": {},
}


def judged(found: dict[str, Any], rate: float = RATE, seconds: float = SECONDS) -> tuple[list[str], list[str]]:
    judgement = Judgement("freshness", found)
    judge(judgement, rate, seconds)
    return judgement.missed, judgement.left_out


def test_a_part_that_was_not_measured_is_left_out() -> None:
    assert judged(GOOD) == ([], [])
    only = {"steady": GOOD["steady"]}
    assert judged(only, 20_000, 10) == (
        [],
        [
            *("ladder", "plain", "latency"),
            *("a steady rate of 20,000 events a second, not 50,000", "10 s at the steady rate, not 60"),
        ],
    )
    options = parser().parse_args(["freshness"])
    assert (options.rate, options.seconds, options.only) == (RATE, SECONDS, None)


def test_each_figure_of_freshness_has_its_bar() -> None:
    late = {"steady": {"streams_s": {"p99": 3.1}, "events_s": {"p99": None}}}
    assert judged(GOOD | late)[0] == [
        "p99 of streams_s: 3.1, not at most 3.0",
        "p99 of events_s: None, not at most 3.0",
    ]
    slow = {"ladder": {"at_most_per_second": 128_999, "cpu_s_per_million": 13.1}}
    assert judged(GOOD | slow)[0] == [
        "128,999 events a second at most, not 129,000",
        "13.1 CPU s a million events, not at most 13.0",
    ]
