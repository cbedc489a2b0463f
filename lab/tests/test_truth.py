"""The truth run: its arithmetic on made-up rows, and a small slice of it against the real collector."""

import argparse
import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from quiclens_schema.catalogue import CAUSES

from quiclens_lab.command_line import main, parser
from quiclens_lab.errors import LabError
from quiclens_lab.machine import collector_binary
from quiclens_lab.path import PathFacts
from quiclens_lab.scenarios import SCENARIOS
from quiclens_lab.truth import report, savings
from quiclens_lab.truth.bars import bars_of
from quiclens_lab.truth.collector import frozen, identity, rows_by_file
from quiclens_lab.truth.command import TABLES, run
from quiclens_lab.truth.consistency import consistency_table
from quiclens_lab.truth.injection import decisive_table, injection_table
from quiclens_lab.truth.job_lists import population_jobs, scenario_jobs, three_jobs
from quiclens_lab.truth.nothing import nothing_table
from quiclens_lab.truth.options import TABLE_NAMES, tables_named
from quiclens_lab.truth.order import order_table
from quiclens_lab.truth.other_stacks import read_records
from quiclens_lab.truth.percentiles import percentiles_table
from quiclens_lab.truth.quantiles import quantile
from quiclens_lab.truth.samples import Judged, Row, Sample
from quiclens_lab.truth.savings import counterfactual_table, write_errors
from quiclens_lab.truth.sets import sets_table

THINK = Sample("scenario", "aioquic", "think", "server_think", "server", 1, "with", 4)
EMPTY = consistency_table([])
SEEDS = 2
SCENARIO_NAMES = [each.name for each in SCENARIOS[1:]]


def row(duration_us: int, saves: Mapping[str, int] | None = None, **parts: int) -> Row:
    all_parts = {cause: parts.get(cause, 0) for cause in CAUSES}
    return Row("c", "server", 4, 10, 10 + duration_us, duration_us, True, 1_000, all_parts, dict(saves or {}))


def judged(sample: Sample, made: Row) -> Judged:
    return Judged(sample, (made,), made.duration_us)


def test_of_equal_parts_the_first_of_the_vocabulary_is_the_top_one() -> None:
    assert row(20, network=10, server_think=10).top == "server_think"
    assert row(0).top == "handshake"


def test_quantiles_lie_between_neighbours() -> None:
    assert quantile([], 0.5) is None
    assert quantile([3.0, 1.0], 0.5) == 2.0
    assert quantile([1.0, 2.0, 3.0], 1.0) == 3.0


def test_rows_are_sorted_by_the_file_that_the_dump_names_first() -> None:
    def stream(duration_us: int | None) -> str:
        fields = {"connection_id": "same", "vantage": "server", "stream_id": 4, "start_us": 1, "min_rtt_us": None}
        end = {"end_us": None if duration_us is None else 1 + duration_us, "duration_us": duration_us}
        return json.dumps({"table": "streams", "row": {**fields, **end, "complete": True}}, separators=(",", ":"))

    def connection(file: str) -> str:
        return json.dumps({"table": "connections", "row": {"source_file": file}}, separators=(",", ":"))

    rows = rows_by_file([connection("a"), stream(5), connection("b"), stream(7), '{"table":"episodes"}', stream(None)])
    assert [each.duration_us for each in rows[Path("a")]] == [5]
    assert [(each.duration_us, each.is_complete) for each in rows[Path("b")]] == [(7, True), (0, False)]


def test_a_run_without_a_row_counts_as_wrong() -> None:
    table = injection_table([judged(THINK, row(20, server_think=20)), Judged(replace(THINK, seed=2), ())])
    assert table["share_right"] == 0.5
    assert table["confusion"] == {"server_think": {"server_think": 1, "no row": 1}}


def test_time_of_innocent_causes_is_not_counted_in_clean_runs() -> None:
    clean = replace(THINK, scenario="clean", cause="network")
    table = nothing_table([judged(clean, row(100, network=70, server_think=20, pto=10))])
    assert (table["share_of_other_causes"], table["causes"]) == (0.1, {"pto": 0.1})


def test_a_stack_that_paces_spreads_what_it_sends_though_nothing_is_injected() -> None:
    clean = replace(THINK, stack="noq", scenario="clean", cause="network")
    table = nothing_table([judged(clean, row(100, network=70, cwnd_blocked=20, pto=10))])
    assert (table["share_of_other_causes"], table["causes"]) == (0.1, {"pto": 0.1})


@pytest.mark.parametrize(
    ("scenario", "path", "innocent"),
    [
        ("clean_10k", PathFacts(0, 9_000, 50_000), set()),
        ("clean_10k", PathFacts(1, 9_000, 50_000), {"pto", "loss_recovery"}),
        ("clean_2m", PathFacts(0, 49_999, 50_000), {"cwnd_blocked", "pacing"}),
        ("clean_2m", PathFacts(0, 50_000, 50_000), {"cwnd_blocked", "pacing", "bandwidth"}),
    ],
)
def test_what_the_path_did_says_what_was_no_cause(scenario: str, path: PathFacts, innocent: set[str]) -> None:
    clean = replace(THINK, scenario=scenario, cause="network", path=path, condition="late-timers")
    causes = ("pto", "loss_recovery", "cwnd_blocked", "pacing", "bandwidth", "stream_flow_control")
    made = row(100, network=40)
    table = nothing_table([judged(clean, replace(made, parts=made.parts | dict.fromkeys(causes, 10)))])
    assert set(table["causes"]) == set(causes) - innocent
    (found,) = table["rows"]
    assert (found["scenario"], found["condition"], found["runs"]) == (scenario, "late-timers", 1)
    assert found["share_of_other_causes"] == table["share_of_other_causes"] == (6 - len(innocent)) / 10
    (bar,) = (bar for bar in bars_of({"nothing": table, "consistency": EMPTY}) if "worst stack" in bar.says)
    assert not bar.is_kept


def test_a_client_that_waits_for_a_server_that_thinks_blames_nobody() -> None:
    at_client = replace(THINK, scenario="clean", cause="network", vantage="client")
    made = replace(row(100, remote_wait=30, receiving=10, network=60), vantage="client")
    assert nothing_table([judged(at_client, made)])["share_of_other_causes"] == 0


def test_answers_that_name_two_causes_are_counted_apart() -> None:
    top = row(20, server_think=15, pto=5)
    two = replace(top, named=("pto", "loss_recovery"))
    runs = [judged(replace(THINK, seed=seed), made) for seed, made in enumerate((top, top, two))]
    runs.append(judged(replace(THINK, seed=9, cause="loss_recovery"), two))
    table = sets_table(runs)
    assert (table["runs"], table["naming"], table["pairs"]) == (4, 2, {"loss_recovery or pto": 2})
    assert table["sizes"] == {
        "1": {"runs": 2, "share_with_the_injected": 1.0},
        "2": {"runs": 2, "share_with_the_injected": 0.5},
    }
    assert table["stacks"] == {"aioquic": {"runs": 4, "share_with_several": 0.5}}
    assert sets_table(runs[:2])["naming"] == 0


def test_runs_of_which_the_cause_makes_much_are_judged_by_controller_and_script() -> None:
    def pair(seed: int, script: str, us: int, without_us: int) -> list[Judged]:
        with_cause = replace(THINK, stack="noq", controller="bbr3", script=script, seed=seed)
        without = replace(with_cause, variant="without")
        return [judged(with_cause, row(1_000, server_think=us, pto=1_000 - us)), judged(without, row(without_us))]

    runs = [*pair(1, "deep", 900, 100), *pair(2, "jitter", 900, 100), *pair(1, "jitter", 300, 100)]
    table = decisive_table([*runs, *pair(3, "deep", 100, 900)])
    assert (table["runs"], table["share_right"]) == (3, 0.6667)
    assert table["pairs"] == {"noq bbr3": {"runs": 3, "share_right": 0.6667}}
    assert table["scripts"]["deep"] == {"runs": 1, "share_right": 1.0}
    assert table["wrong"] == {"noq bbr3 jitter think server: pto": 1}
    kept = {bar.says.rsplit(", ")[-1]: bar.is_kept for bar in bars_of({"decisive": table, "consistency": EMPTY})}
    assert (kept["deep"], kept["jitter"], kept["noq bbr3"]) == (True, False, False)


def test_runs_that_alone_meet_a_dark_path_are_left_out() -> None:
    def pair(seed: int, us: int, without_us: int) -> list[Judged]:
        with_cause = replace(THINK, stack="noq", controller="bbr3", script="black-hole", seed=seed)
        parts = {"server_think": us // 2, "pto": us - us // 2}
        return [
            judged(with_cause, row(us, None, **parts)),
            judged(replace(with_cause, variant="without"), row(without_us)),
        ]

    runs = [*pair(1, 700_000, 100_000), *pair(2, 1_000_000, 500_000), *pair(3, 140_000, 50_000)]
    table = decisive_table(runs)
    assert (table["runs"], table["alone_in_the_dark"]) == (2, 1)


def test_a_final_check_may_miss_a_bar_by_three_points() -> None:
    tables = {"injection": {"share_right": 0.93}, "consistency": EMPTY}
    assert [bars_of(tables, slack)[0].is_kept for slack in (0.0, 0.03)] == [False, True]


def test_intervals_of_savings_have_to_hold_the_true_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(savings, "interval_us", lambda cause, saves_us, duration_us: [saves_us - 100, saves_us + 100])

    def pair(seed: int, predicted_us: int) -> list[Judged]:
        with_cause = replace(THINK, seed=seed)
        without = judged(replace(with_cause, variant="without"), row(200, network=200))
        return [judged(with_cause, row(1_000, {"server_think": predicted_us}, server_think=1_000)), without]

    runs = [each for seed in range(400) for each in pair(seed, 690 if seed < 20 else 750)]
    table = counterfactual_table([*runs, *pair(400, 0)])
    assert (table["samples"], table["intervals"], table["share_in_interval"]) == (401, 400, 0.95)
    assert table["median_half_width"] == pytest.approx(100 / 750, abs=1e-4)
    tables = {"counterfactual": table, "consistency": EMPTY}
    kept = {bar.says: bar.is_kept for bar in bars_of(tables) if "interval" in bar.says}
    assert len(kept) == 4 and all(kept.values()), kept
    runs += [each for seed in range(1_000, 1_100) for each in pair(seed, 600)]
    tables["counterfactual"] = counterfactual_table(runs)
    assert [bar.is_kept for bar in bars_of(tables) if "interval" in bar.says] == [False, True, True, False]


def test_a_saving_is_the_difference_to_the_run_without_the_cause(tmp_path: Path) -> None:
    without = replace(THINK, variant="without")
    runs = [
        judged(THINK, row(1_000, {"server_think": 720}, server_think=1_000)),
        judged(without, row(200, network=200)),
        judged(replace(THINK, seed=2), row(1_000, server_think=1_000)),
        judged(replace(without, seed=2), row(900, network=900)),
    ]
    table = counterfactual_table(runs)
    assert (table["samples"], table["median_error"], table["ratio_mid"]) == (1, 0.1, 0.9)
    write_errors(runs, tmp_path / "errors.toml")
    errors = tomllib.loads((tmp_path / "errors.toml").read_text())
    assert errors == {"server_think": {"samples": 1, "ratio_low": 1.0, "ratio_mid": 1.1111, "ratio_high": 1.1111}}


@pytest.mark.parametrize(("stack", "script"), [("tquic", "constant"), ("noq", "late-hole")])
def test_what_is_kept_for_the_final_check_makes_no_interval(tmp_path: Path, stack: str, script: str) -> None:
    with_cause = replace(THINK, stack=stack, script=script)
    runs = [
        judged(with_cause, row(1_000, {"server_think": 720}, server_think=1_000)),
        judged(replace(with_cause, variant="without"), row(200, network=200)),
    ]
    assert counterfactual_table(runs)["samples"] == 1
    assert decisive_table(runs)["kept_for"] == {"final check": {"runs": 1, "share_right": 1.0}}
    write_errors(runs, tmp_path / "errors.toml")
    assert tomllib.loads((tmp_path / "errors.toml").read_text()) == {}


@pytest.mark.parametrize(("predicted", "share"), [((300, 200, 100), 1.0), ((300, 100, 200), 0.0), ((0, 0, 0), 0.0)])
def test_three_savings_are_in_order_or_not(predicted: tuple[int, int, int], share: float) -> None:
    causes = ("server_think", "pto", "upload")
    whole = replace(THINK, group="three", cause="")
    runs = [judged(whole, row(1_000, dict(zip(causes, predicted, strict=True)), pto=1_000))]
    for cause, saved_us in zip(causes, (400, 300, 100), strict=True):
        runs.append(judged(replace(whole, cause=cause, variant="without"), row(1_000 - saved_us)))
    table = order_table(runs)
    assert (table["kept"], table["share_right"]) == (1, share)


def test_savings_that_hardly_differ_put_nothing_in_order() -> None:
    whole = replace(THINK, group="three", cause="")
    runs = [judged(whole, row(1_000))]
    for cause, saved_us in (("server_think", 400), ("pto", 390), ("upload", 100)):
        runs.append(judged(replace(whole, cause=cause, variant="without"), row(1_000 - saved_us)))
    assert (order_table(runs)["kept"], order_table(runs)["simulated"]) == (0, 1)


def test_percentiles_are_those_of_the_population_without_the_cause() -> None:
    member = replace(THINK, group="population", scenario="nobody", cause="", variant="without")
    injected = replace(member, scenario="pause", cause="upload", variant="with", seed=2)
    runs = [judged(replace(member, seed=seed), row(100 * seed)) for seed in (1, 2, 3)]
    runs.append(judged(injected, row(900, {"upload": 700})))
    assert percentiles_table(runs)["causes"]["pause"]["percentiles"]["p50"] == {
        "with_us": 300, "predicted_us": 200, "true_us": 200, "error": 0.0,
    }  # fmt: skip


def test_broken_promises_are_counted() -> None:
    over = replace(row(2_000, network=1_500, unattributed=400), end_us=5)
    table = consistency_table([judged(THINK, over)])
    assert (table["parts_do_not_sum"], table["duration_is_not_end_minus_start"]) == (1, 1)
    assert table["network_above_one_round_trip"] == {"server": 1, "client": 0}
    assert table["unattributed_of_slowest"]["overall"] == 0.2
    assert not any(bar.is_kept for bar in bars_of({"consistency": table}) if "row" in bar.says and bar.figure)


def test_every_table_finds_its_runs_among_the_jobs() -> None:
    jobs = [*scenario_jobs(SCENARIOS, range(1, 4), with_comparison=True), *three_jobs(8), *population_jobs(5)]
    assert len({job.sample for job in jobs}) == len(jobs)
    assert sum(job.sample.group == "three" for job in jobs) == 8 * 2 * 4
    assert all(
        job.plan == again.plan for job, again in zip(jobs, scenario_jobs(SCENARIOS, range(1, 4), True), strict=False)
    )


def test_the_judge_stays_the_same_when_the_binary_is_rebuilt(tmp_path: Path) -> None:
    binary = tmp_path / "collector"
    binary.write_bytes(b"first build")
    before = identity(binary)
    with frozen(binary) as judge:
        binary.write_bytes(b"second build")
        assert identity(judge) == before != identity(binary)
    with pytest.raises(LabError, match="no collector"), frozen(tmp_path / "nothing"):
        pass


def test_records_of_other_stacks_are_checked(tmp_path: Path) -> None:
    record = {
        "stack": "quic-go", "scenario": "think", "cause": "server_think", "vantage": "server", "seed": 7,
        "variant": "with", "log": "a.sqlog", "stream_id": 4,
    }  # fmt: skip
    (tmp_path / "a.sqlog").write_text("")
    (tmp_path / "truth.jsonl").write_text(json.dumps(record) + "\n")
    ((sample, log),) = read_records(tmp_path)
    assert (sample.stack, sample.seed, log, sample.path) == ("quic-go", 7, tmp_path / "a.sqlog", None)
    more = {"condition": "without-tag", "path": {"lost": 1, "busy_us": 2, "rtt_us": 3}}
    (tmp_path / "truth.jsonl").write_text(json.dumps({**record, **more}) + "\n")
    ((sample, _),) = read_records(tmp_path)
    assert (sample.condition, sample.path) == ("without-tag", PathFacts(1, 2, 3))
    wrongs: tuple[dict[str, Any], ...] = (
        {"cause": "bad weather"}, {"log": "b.sqlog"}, {"variant": "maybe"}, {"seed": "x"}, {"path": {}},
    )  # fmt: skip
    for wrong in wrongs:
        (tmp_path / "truth.jsonl").write_text(json.dumps({**record, **wrong}) + "\n")
        with pytest.raises(LabError, match="line 1"):
            read_records(tmp_path)


def test_unknown_tables_are_wrong_usage() -> None:
    assert tuple(TABLES) == TABLE_NAMES
    assert tables_named("order,p99") == ["order", "p99"]
    with pytest.raises(argparse.ArgumentTypeError, match="'p98' is none of"):
        tables_named("p99,p98")


needs_collector = pytest.mark.skipif(not collector_binary().is_file(), reason="the collector is not built")


@pytest.fixture(scope="module")
def slice_run() -> dict[str, Any]:
    """A few seeds of everything."""
    return run(parser().parse_args(["truth", "--seeds", str(SEEDS), "--jobs", "2", "--worst", "2"]))


@needs_collector
@pytest.mark.parametrize("name", SCENARIO_NAMES)
def test_the_injected_cause_is_the_top_part(slice_run: dict[str, Any], name: str) -> None:
    (found,) = (each for each in slice_run["tables"]["injection"]["scenarios"] if each["scenario"] == name)
    assert found["runs"] == SEEDS
    decisive = slice_run["tables"]["decisive"]["scenarios"].get(f"aioquic {name}")
    # A few lost packets need not make the most of a long transfer.
    assert decisive is not None or name == "burst_loss"
    assert decisive is None or decisive["share_right"] == 1.0, found["named"]


@needs_collector
@pytest.mark.parametrize("name", SCENARIO_NAMES)
def test_savings_are_near_the_truth(slice_run: dict[str, Any], name: str) -> None:
    found = [each for each in slice_run["tables"]["counterfactual"]["scenarios"] if each["scenario"] == name]
    assert found or name == "burst_loss"
    assert all(each["median_error"] <= 0.35 for each in found), found


@needs_collector
def test_nothing_is_found_where_nothing_was_injected(slice_run: dict[str, Any]) -> None:
    assert slice_run["tables"]["nothing"]["share_of_other_causes"] <= 0.05


@needs_collector
def test_three_causes_are_in_order(slice_run: dict[str, Any]) -> None:
    assert slice_run["tables"]["order"]["kept"] >= 1
    # A slice keeps seven requests, some of them of the combinations that are hard to tell.
    assert slice_run["tables"]["order"]["share_right"] >= 0.6


@needs_collector
def test_parts_sum_and_no_row_is_missing(slice_run: dict[str, Any]) -> None:
    table = slice_run["tables"]["consistency"]
    assert table["rows"] > 100
    assert [table[name] for name in ("parts_do_not_sum", "duration_is_not_end_minus_start", "parts_below_zero")] == [
        0
    ] * 3
    assert (table["runs_without_target_row"], table["targets_incomplete"]) == (0, 0)
    assert table["network_above_one_round_trip"] == {"server": 0, "client": 0}
    assert table["duration_error"]["max_us"] <= 1_000


@needs_collector
def test_little_of_the_slowest_requests_time_stays_unattributed(slice_run: dict[str, Any]) -> None:
    by_scenario = slice_run["tables"]["consistency"]["unattributed_of_slowest"]["by_scenario"]
    assert {name: share for name, share in by_scenario.items() if share > 0.05} == {}


@needs_collector
def test_the_page_has_every_table(slice_run: dict[str, Any], tmp_path: Path) -> None:
    report.write(slice_run, tmp_path, "truth")
    page = (tmp_path / "truth.md").read_text()
    assert all(
        f"## {title}" in page
        for title in (
            "One cause",
            "Where the cause",
            "How many causes",
            "Nothing",
            "What it would",
            "Three",
            "A population",
        )
    )
    assert json.loads((tmp_path / "truth.json").read_text()) == slice_run


@needs_collector
def test_figures_do_not_depend_on_the_number_of_processes(capsys: pytest.CaptureFixture[str]) -> None:
    tables = []
    for jobs in ("1", "2"):
        main(["truth", "--seeds", "3", "--only", "injection,counterfactual", "--scenario", "think",
              "--scenario", "zero_rtt_amplification", "--jobs", jobs])  # fmt: skip
        tables.append(json.loads(capsys.readouterr().out)["tables"])
    assert tables[0] == tables[1]


@needs_collector
def test_logs_of_another_stack_are_judged_beside_the_labs_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["one", "--scenario", "think", "--seed", "3", "--out", str(tmp_path), "--without"]) == 0
    made = json.loads(capsys.readouterr().out)
    logs = {"with": tmp_path / "server", "without": tmp_path / "without" / "server"}
    with (tmp_path / "truth.jsonl").open("w") as file:
        for variant, folder in logs.items():
            (log,) = folder.iterdir()
            named = {key: made[key] for key in ("scenario", "cause", "vantage", "stream_id")}
            place = {"log": str(log.relative_to(tmp_path)), "stack": "elsewhere", "seed": 3, "variant": variant}
            file.write(json.dumps({**named, **place}) + "\n")
    main(["truth", "--logs", str(tmp_path), "--logs-only", "--only", "injection,counterfactual"])
    tables = json.loads(capsys.readouterr().out)["tables"]
    (found,) = tables["injection"]["scenarios"]
    assert (found["stack"], found["runs"], found["share_right"]) == ("elsewhere", 1, 1.0)
    assert tables["counterfactual"]["samples"] == 1
