"""The tail of the durations, and what it would be without one cause."""

from pathlib import Path
from typing import Any

import pytest
from api_ran import Run
from quiclens_schema.catalogue import CAUSES

from quiclens_questions import savings
from quiclens_questions.failure import CannotRun
from quiclens_questions.savings import REMOVABLE, Ratios, read

MEASURED = Ratios(samples=200, ratio_low=0.5, ratio_mid=1.0, ratio_high=1.25)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(savings, "measured", lambda: {"loss_recovery": MEASURED, "upload": MEASURED})


def only(document: dict[str, Any]) -> dict[str, Any]:
    (row,) = document["rows"]
    return dict(zip((column["name"] for column in document["columns"]), row, strict=True))


def test_quantiles_are_of_the_requests_that_ended(run: Run) -> None:
    document = run("report", "tail", "--json").document
    row = only(document)
    assert (row["requests"], row["traced"], row["samples"]) == (5, 4, 4) and document["samples"] == 4
    assert (row["p50"], row["p75"]) == (49_874, 77_000)  # of 41,000, 49,874, 77,000 and 640,000
    assert row["p50_sampling_low"] is None and row["p99"] is None
    assert row["note"] == "too few requests (4): p95 needs 20, p99 needs 100"


def test_what_a_cause_cost_is_taken_from_traced_requests_alone(run: Run, measured: None) -> None:
    document = run("report", "tail", "--without", "loss_recovery", "--where", "region=south", "--json").document
    row = only(document)
    assert row["samples"] == 1 and row["p50"] is None and row["without_p50"] is None
    document = run("report", "tail", "--without", "loss_recovery", "--json").document
    row = only(document)
    assert document["coverage"] == {
        "requests": 5, "traced": 4, "repaired": 0, "damaged": 0, "weight": 6.5,
        "compared": 3, "with_saving": 1, "cannot_show": 0,
    }  # fmt: skip
    assert document["params"]["ratios"] == {"samples": 200, "ratio_low": 0.5, "ratio_mid": 1.0, "ratio_high": 1.25}
    assert row["samples"] == 3 and row["p50"] == row["without_p50"] == 49_874
    units = {column["name"]: column["unit"] for column in document["columns"]}
    assert all(units[name] == "us" for name in units if name.startswith(("p", "without_p", "saved_p")))


def test_predicted_quantiles_have_the_intervals_of_the_lab(run: Run, measured: None) -> None:
    row = only(run("report", "tail", "--without", "upload", "--where", "method=GET", "--json").document)
    assert (row["samples"], row["p50"], row["without_p50"], row["saved_p50"]) == (2, 41_000, 21_000, 20_000)
    ends = [(row[f"{name}_p50_prediction_low"], row[f"{name}_p50_prediction_high"]) for name in ("without", "saved")]
    assert ends == [(16_000, 31_000), (10_000, 25_000)]  # it saved 0.5 to 1.25 times 20,000
    assert "true savings were 0.50 to 1.25 times the predicted" in run("report", "tail", "--without", "upload").out


def test_a_cause_that_was_not_measured_has_no_prediction_interval(run: Run, measured: None) -> None:
    document = run("report", "tail", "--without", "server_think", "--json").document
    row = only(document)
    assert document["params"]["ratios"] is None
    assert row["without_p50"] == 49_874 and row["without_p50_prediction_low"] is None
    assert "has not measured" in run("report", "tail", "--without", "server_think").out


def test_a_log_that_cannot_show_the_cause_is_not_taken_for_one_without_it(run: Run) -> None:
    coverage = run("report", "tail", "--without", "scheduling", "--json").document["coverage"]
    assert (coverage["compared"], coverage["cannot_show"]) == (2, 1)


def test_groups_may_have_several_columns(run: Run) -> None:
    document = run("report", "tail", "--by", "carrier", "--by", "region,status", "--json").document
    assert [column["name"] for column in document["columns"][:3]] == ["carrier", "region", "status"]
    assert ["acme", "south", "200"] in [row[:3] for row in document["rows"]]
    assert sum(row[3] for row in document["rows"]) == 5 and document["params"]["by"] == ["carrier", "region", "status"]


def test_a_window_leaves_out_what_is_undated(run: Run) -> None:
    assert only(run("report", "tail", "--since", "2026-11-20", "--json").document)["requests"] == 4
    assert only(run("report", "tail", "--until", "2026-11-20T11:00:00Z", "--json").document)["requests"] == 4
    assert run("report", "rtt", "--since", "2026-11-20", "--json").document["samples"] == 40
    assert run("report", "tail", "--since", "2026-11-21", "--json").code == 1


def test_an_unknown_cause_is_told_which_there_are(run: Run) -> None:
    hint = run("report", "tail", "--without", "lossrecovery", "--json").document["error"]["hint"]
    assert all(cause in hint for cause in REMOVABLE) and "network" not in hint
    assert set(REMOVABLE) < set(CAUSES)


def test_the_catalogues_ratios_are_of_causes_and_in_order() -> None:
    for cause, ratios in savings.measured().items():
        assert cause in CAUSES and 0 <= ratios.ratio_low <= ratios.ratio_mid <= ratios.ratio_high


def test_no_saving_is_longer_than_its_request(measured: None) -> None:
    assert savings.interval_us("loss_recovery", 400, 450) == [200, 450]
    assert savings.interval_us("pto", 400, 450) is None and savings.interval_us("loss_recovery", None, 450) is None


def test_a_file_of_ratios_that_lacks_one_stops(tmp_path: Path) -> None:
    (tmp_path / "saves_errors.toml").write_text("[pto]\nsamples = 3\n")
    with pytest.raises(CannotRun, match="no file of ratios"):
        read(tmp_path / "saves_errors.toml")
