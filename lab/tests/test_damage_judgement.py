"""How damaged logs are judged: on answers made by hand, and a run with a collector that is a few lines of Python."""

import argparse
import json
import stat
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from quiclens_lab.command_line import main, parser
from quiclens_lab.damage import command as damage_command
from quiclens_lab.damage import table
from quiclens_lab.damage.answers import DURATION, Answer, LogAnswers, answers_in
from quiclens_lab.damage.bars import bars_of
from quiclens_lab.damage.command import added_up, left_out, run
from quiclens_lab.damage.sources import WholeLog, drawn, logs_below
from quiclens_lab.damage.tally import Tally, added, mean_of, quantile_of
from quiclens_lab.damage.whole_logs import LogBatch, name_of
from quiclens_lab.errors import LabError

WHOLE_US = 400_000


def answer(
    duration_us: int | None = WHOLE_US,
    grade: str | None = None,
    low: Mapping[str, int] | None = None,
    high: Mapping[str, int] | None = None,
    **parts: int,
) -> Answer:
    all_parts = {"server_think": 0, "network": 0, "unattributed": 0} | parts
    return Answer(duration_us, True, all_parts, grade, 0, low or {}, high or {})


THINK = answer(server_think=300_000, network=100_000)


def judged(found: Answer | None, damage: dict[str, int] | None = None) -> Tally:
    tally = Tally()
    tally.judge({4: THINK}, LogAnswers({4: found} if found else {}, damage))
    return tally


def test_the_top_part_is_the_largest_and_of_nothing_there_is_none() -> None:
    assert THINK.top == "server_think"
    assert answer(server_think=5, network=5).top == "server_think"
    assert answer().top is None


def test_what_moved_is_a_share_of_the_duration() -> None:
    assert THINK.moved_from(THINK) == 0
    assert answer(200_000, server_think=150_000, network=50_000).moved_from(THINK) == 0, "shares, not times"
    assert answer(server_think=100_000, network=300_000).moved_from(THINK) == 0.5
    assert answer().moved_from(THINK) == 1


def test_a_request_that_is_not_found_has_no_right_answer() -> None:
    figures = table.figures(judged(None))
    assert (figures["requests"], figures["found"], figures["top_right"], figures["duration_right"]) == (1, 0, 0, 0)


@pytest.mark.parametrize(
    ("duration_us", "is_right"), [(WHOLE_US, True), (380_000, True), (379_999, False), (420_001, False), (None, False)]
)
def test_a_duration_is_right_within_five_per_cent(duration_us: int | None, is_right: bool) -> None:
    figures = table.figures(judged(answer(duration_us, server_think=1)))
    assert figures["duration_right"] == is_right
    assert figures["top_right"] == 1


def test_answers_are_counted_by_grade() -> None:
    tally = added(
        [
            judged(answer(grade="whole", server_think=1)),
            judged(answer(grade="whole", network=1)),
            judged(answer(grade="repaired", server_think=1)),
            judged(answer(grade="damaged", network=1)),
            judged(None),
        ]
    )
    figures = table.figures(tally)
    assert figures["grades"] == {"whole": 0.4, "repaired": 0.2, "damaged": 0.2}
    assert figures["trusted"] == 0.6
    assert figures["trusted_top_right"] == round(2 / 3, 5)
    assert figures["whole_top_wrong"] == 0.2
    assert figures["by_grade"]["whole"] == {"requests": 2, "top_right": 0.5, "duration_right": 1.0}
    (_, _, line) = table.grade_lines({"missing-1%": figures})
    cells = " ".join(line.split()).replace(" %", "%").split()
    assert cells == ["missing-1%", "2", "50.0%", "100.0%", "1", "100.0%", "100.0%", "1", "0.0%", "100.0%"]


def test_without_grades_no_figure_of_a_grade_is_made_up() -> None:
    figures = table.figures(judged(answer(server_think=1)))
    assert (figures["grades"], figures["trusted"], figures["whole_top_wrong"], figures["noticed"]) == (None,) * 4
    assert figures["trusted_top_right"] is None
    assert figures["contained"] is None
    assert table.grade_lines({"none": figures}) == []


def test_bounds_hold_where_the_whole_logs_part_lies_between_them() -> None:
    low = {"server_think": 250_000, "network": 0, DURATION: 400_001}
    high = {"server_think": 350_000, "network": 99_999, DURATION: 500_000}
    tally = judged(answer(None, "damaged", low, high, server_think=290_000, unattributed=5_000))
    assert (tally.bounded, tally.contained) == (3, 1)
    assert tally.widths == Counter({250: 3})
    assert (tally.exact, tally.exact_wrong) == (1, 1), "unattributed is said to be 5 ms, and there is none"
    assert quantile_of(tally.widths, 0.5) == 0.25


def test_a_part_that_is_exact_may_be_off_by_a_hundredth_of_the_duration() -> None:
    near = answer(grade="whole", server_think=296_000, network=104_000)
    assert (judged(near).exact, judged(near).exact_wrong) == (4, 0)
    far = answer(grade="whole", server_think=295_999, network=104_001)
    assert judged(far).exact_wrong == 2


def test_a_missing_upper_bound_holds_and_is_as_wide_as_the_request() -> None:
    tally = judged(answer(grade="damaged", low={"network": 1}, server_think=300_000))
    assert (tally.bounded, tally.contained, tally.widths) == (1, 1, Counter({1000: 1}))


def test_quantiles_and_means_of_histograms() -> None:
    bins = Counter({0: 2, 10: 1, 1000: 1})
    assert [quantile_of(bins, share) for share in (0.5, 0.75, 0.76, 1)] == [0, 0.01, 1, 1]
    assert mean_of(bins) == 0.2525
    assert quantile_of(Counter(), 0.5) is None
    assert mean_of(Counter()) is None


def test_what_is_noticed_is_counted_by_log() -> None:
    tally = added([judged(THINK, {"clock_step": 2, "gap": 0}), judged(THINK, {})])
    assert table.figures(tally)["noticed"] == {"any": 0.5, "clock": 0.5, "clock_step": 0.5}
    assert table.figures(judged(THINK))["noticed"] is None


def lines(*rows: tuple[str, dict[str, Any]]) -> list[str]:
    return [json.dumps({"table": name, "row": row}, separators=(",", ":")) for name, row in rows]


def stream(stream_id: int, duration_us: int | None, **others: Any) -> tuple[str, dict[str, Any]]:
    end_us = None if duration_us is None else duration_us
    return "streams", {
        "stream_id": stream_id, "duration_us": duration_us, "end_us": end_us, "complete": True, **others
    }  # fmt: skip


def test_a_dump_is_read_with_and_without_grades() -> None:
    found = answers_in(
        lines(
            ("connections", {"source_file": "a"}),
            stream(0, 5, network_us=5),
            ("connections", {"source_file": "b", "damage": {"clock_step": 1}}),
            stream(
                4, None, grade="repaired", imputed_us=7, bounds_low={"network": 1}, bounds_high={"network": 9},
                network_us=3, host_stalled_us=2, overlapping={"host_stalled": 2, "no_part": 1},
            ),
            ("episodes", {}),
        )
    )  # fmt: skip
    old, new = found[Path("a")], found[Path("b")]
    assert (old.damage, old.requests[0].grade, old.requests[0].duration_us) == (None, None, 5)
    assert new.damage == {"clock_step": 1}
    request = new.requests[4]
    assert (request.grade, request.imputed_us, request.low, request.high) == (
        "repaired", 7, {"network": 1}, {"network": 9}
    )  # fmt: skip
    assert (request.duration_us, request.is_complete) == (None, False)
    assert (request.parts["network"], request.parts["host_stalled"], "no_part" in request.parts) == (3, 2, False)


def kept_bars(**tallies: Tally) -> dict[str, bool]:
    by_damage = {name.replace("_", "-"): tally for name, tally in tallies.items()}
    figures = {name: table.figures(tally) for name, tally in by_damage.items()}
    return {bar.says: bar.is_kept for bar in bars_of(by_damage, figures)}


def test_steps_of_the_clock_have_to_be_noticed() -> None:
    noticed, unnoticed = judged(THINK, {"clock_step": 1}), judged(THINK, {"gap": 1})
    by_time = judged(THINK, {"time_went_back": 1})
    both = "clock steps with data in flight: noticed"
    backward = "clock steps backward: noticed, or time that goes back"
    kept = kept_bars(clock_forward=added([noticed] * 98), clock_backward=added([noticed] * 99 + [unnoticed]))
    assert (kept[both], kept[backward]) == (True, False)
    kept = kept_bars(clock_forward=added([noticed] * 98 + [unnoticed] * 5), clock_backward=added([noticed] * 98))
    assert (kept[both], kept[backward]) == (False, True)
    kept = kept_bars(clock_forward=added([noticed] * 97), clock_backward=added([noticed] * 97 + [by_time] * 6))
    assert (kept[both], kept[backward]) == (False, True)
    assert not kept_bars(clock_forward=judged(THINK))[both], "no figure keeps no bar"


def test_whole_logs_are_graded_whole() -> None:
    tally = judged(answer(grade="whole", server_think=1))
    tally.all_graded.update({"whole": 199, "repaired": 1})
    says = "whole logs: requests graded other than whole"
    assert kept_bars(none=tally)[says]
    tally.all_graded.update({"damaged": 1})
    assert not kept_bars(none=tally)[says]


def test_bounds_are_judged_where_there_are_enough() -> None:
    def bounded(count: int, contained: int) -> dict[str, bool]:
        tally = judged(answer(grade="damaged", server_think=1))
        tally.bounded, tally.contained = count, contained
        return kept_bars(bursts=tally)

    enough, hold = "parts with bounds", "parts with bounds: the bounds contain the whole log's part"
    assert (bounded(9_999, 9_500)[enough], bounded(10_000, 9_500)[enough]) == (False, True)
    assert (bounded(10_000, 9_499)[hold], bounded(10_000, 9_500)[hold]) == (False, True)
    frozen = judged(answer(grade="damaged", server_think=1))
    frozen.bounded = 10_000
    assert not kept_bars(frozen_300ms=frozen)[enough], "the answer for the whole log is not true any more"


def test_batches_add_up_by_stack_and_in_all() -> None:
    batches = [
        LogBatch("1", {"noq": {"none": judged(THINK)}}, []),
        LogBatch("2", {"aioquic": {"none": judged(THINK), "bursts": judged(None)}}, []),
    ]
    found = added_up(batches, ["none", "bursts"])
    assert {stack: {name: tally.requests for name, tally in of.items()} for stack, of in found.items()} == {
        "aioquic": {"none": 1, "bursts": 1}, "all": {"none": 2, "bursts": 1}, "noq": {"none": 1}
    }  # fmt: skip


def test_so_many_logs_are_drawn_evenly() -> None:
    logs = [WholeLog("noq", str(at), Path(str(at))) for at in range(100)]
    few = [int(log.name) for log in drawn(logs, 10, 1)]
    assert [each // 10 for each in few] == list(range(10))
    assert few == [int(log.name) for log in drawn(logs, 10, 1)]
    assert few != [int(log.name) for log in drawn(logs, 10, 2)]
    assert drawn(logs, 100, 1) == logs


def write_log(path: Path, think_ms: int) -> None:
    """Lines that the collector below understands: when the request began and ended."""
    path.parent.mkdir(parents=True, exist_ok=True)
    events = [{"time": at, "name": "quic:tick", "data": {}} for at in range(0, think_ms + 1, 10)]
    head = {"file_schema": "urn:ietf:params:qlog:file:sequential", "trace": {}}
    path.write_text("".join(f"\x1e{json.dumps(each)}\n" for each in [head, *events]))


COLLECTOR = f"""#!{sys.executable}
import json, sys
print("a line for people", file=sys.stderr)
for path in sys.argv[2:-2]:
    lines = open(path, errors="replace").read().split("\\x1e")[2:]
    times = [json.loads(line)["time"] for line in lines if line.endswith("\\n")]
    took = round(1000 * (max(times) - min(times)))
    rows = [("connections", {{"source_file": path, "damage": {{"gap": int(len(times) < 31)}}}})]
    rows += [("streams", {{"stream_id": 4, "complete": True, "duration_us": took, "end_us": took,
        "grade": "whole", "server_think_us": took}})]
    for table, row in rows:
        print(json.dumps({{"table": table, "row": row}}, separators=(",", ":")))
"""


@pytest.fixture
def collector(tmp_path: Path) -> Path:
    path = tmp_path / "collector"
    path.write_text(COLLECTOR)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def options(*words: str) -> argparse.Namespace:
    return parser().parse_args(["damage", "--logs-only", "--jobs", "1", *words])


def test_a_run_damages_slow_requests_logs_and_judges_them(tmp_path: Path, collector: Path) -> None:
    for number, think_ms in enumerate((300, 300, 100)):
        write_log(tmp_path / "hand-made" / f"{number}.sqlog", think_ms)
    words = ["--logs", str(tmp_path / "hand-made"), "--collector", str(collector), "--copies-into", str(tmp_path / "c")]
    document = run(options(*words, "--damage", "none", "--damage", "hole-50ms", "--damage", "clock-forward"))
    assert set(document["tables"]) == {"all", "hand-made"}
    none, hole = (document["tables"]["hand-made"][name] for name in ("none", "hole-50ms"))
    assert (none["logs"], none["requests"], none["duration_right"]) == (2, 2, 1), "one of three is fast"
    assert "clock-forward" not in document["tables"]["all"], "nothing is in flight in these logs"
    assert hole["top_right"] == 1
    assert hole["noticed"] == {"any": 1, "gap": 1}
    assert len(list((tmp_path / "c" / "hand-made").iterdir())) == 4
    assert not document["passes"], "there are no bounds"
    assert {bar["says"]: bar["kept"] for bar in document["bars"]} == {
        "whole logs: requests graded other than whole": True,
        "parts with bounds": False,
        "parts with bounds: the bounds contain the whole log's part": False,
    }


def test_a_run_that_was_ended_goes_on(
    tmp_path: Path, collector: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(25):
        write_log(tmp_path / "hand-made" / f"{number}.sqlog", 300 + number)
    monkeypatch.setattr(damage_command, "MADE", tmp_path / "made")
    monkeypatch.setattr("quiclens_lab.machine.LAB", tmp_path / "kept")
    words = ["damage", "--logs-only", "--jobs", "1", "--logs", str(tmp_path / "hand-made"), "--keep"]
    words += ["--collector", str(collector), "--damage", "missing-5%", "--worst", "1"]
    assert main(words) == 1
    first = json.loads(capsys.readouterr().out)
    (kept,) = (tmp_path / "made").glob("*.jsonl")
    batches = kept.read_text().splitlines(keepends=True)
    assert len(batches) == 3
    kept.write_text(batches[0] + batches[1][:50] + "\n" + batches[2])
    assert main(words) == 1
    second = json.loads(capsys.readouterr().out)
    assert (second["tables"], second["worst"]) == (first["tables"], first["worst"])
    assert len(kept.read_text().splitlines()) == 4, "only the batch that was cut is judged again"


def test_a_batch_is_known_by_what_is_in_its_logs(tmp_path: Path) -> None:
    log = WholeLog("noq", "a", tmp_path / "a.sqlog")
    write_log(log.path, 300)
    before = name_of([log])
    write_log(log.path, 310)
    assert name_of([log]) != before


def test_a_folder_without_logs_and_a_stack_that_is_not_there_are_told(tmp_path: Path, collector: Path) -> None:
    with pytest.raises(LabError, match="no logs below"):
        logs_below(tmp_path / "nothing")
    write_log(tmp_path / "hand-made" / "a.sqlog", 300)
    with pytest.raises(LabError, match="no logs"):
        run(options("--logs", str(tmp_path / "hand-made"), "--collector", str(collector), "--stack", "noq"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", []),
        ("--copies 5", ["5 copies with flipped bits, of 1,000"]),
        ("--folder elsewhere", ["flipped bits of real logs"]),
        ("--logs-only", ["flipped bits", "aioquic's logs"]),
        ("--seeds 2 --limit 3", ["2 seeds of aioquic's scenarios, of 10", "all but 3 logs of each folder"]),
        ("--stack noq", ["logs of stacks other than noq"]),
    ],
)
def test_what_a_smaller_run_leaves_out_is_told(
    words: str, says: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(damage_command, "TRACES", tmp_path)
    assert left_out(parser().parse_args(["damage", "--logs", "logs", *words.split()])) == says


def test_damages_and_logs_that_are_not_asked_for_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(damage_command, "TRACES", tmp_path)
    damages, flips, logs = left_out(parser().parse_args(["damage", "--damage", "missing-1%"]))
    assert damages.startswith("damages: ") and "missing-5%" in damages and "missing-1%" not in damages
    assert (flips, logs) == ("flipped bits", "logs of other stacks (--logs)")
