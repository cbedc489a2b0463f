"""Reports find what was planted; the share of intervals that do is measured by `quiclens-lab planted`."""

from typing import Any

import pytest
from quiclens_questions.reports import REPORTS

from quiclens_lab.planted import planted

pytestmark = pytest.mark.long

SAMPLES = 40
# Of so few samples: 1 in 10,000 runs of a true 95 % has fewer.
LEAST_HELD = 0.8

Figures = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return planted(SAMPLES, seed=7, keep=False)


@pytest.fixture(scope="module")
def figures(found: dict[str, Any]) -> Figures:
    return {(each["report"], f"{each['figure']} {each['region']}"): each for each in found["figures"]}


def test_every_report_is_judged(figures: Figures) -> None:
    reports = {report for report, _ in figures}
    # `events` counts events, `misrouted` and `restarts` what hosts logged, all of it: they have no interval.
    assert reports == set(REPORTS) - {"events", "misrouted", "restarts"}
    compared = {figure for report, figure in figures if report == "compare"}
    # Two of stacks, handshakes, round trips and losses each: a loss in a third cell would have another truth.
    assert max(each["samples"] for (report, _), each in figures.items() if report == "grid") == 16 * SAMPLES
    assert compared == {f"{name} users" for name in ("p50", "p75", "p90", "p95", "p99", "failed")}


def test_intervals_hold_the_truth(found: dict[str, Any], figures: Figures) -> None:
    assert {name: each["held"] for name, each in figures.items() if each["held"] < LEAST_HELD} == {}
    assert all(each["samples"] >= SAMPLES for each in figures.values())
    assert [each for each in found["missed"] if "without an interval" in each] == []
    assert {(each["figure"], each["clusters"]) for each in found["widths"]} >= {("p50", 20), ("p95", 60), ("p99", 200)}
    assert {each["figure"]: each for each in found["widths"] if each["ratio"] is None or each["ratio"] > 2} == {}


def test_strata_cut_a_bias_out(found: dict[str, Any], figures: Figures) -> None:
    """QUIC saves 10 %; over all requests it seems to save far more, for slow paths and cold sessions had TCP."""
    for quantile in ("p75", "p90"):
        assert found["biased"][quantile] < -0.3
        assert figures["compare", f"{quantile} users"]["mean"] == pytest.approx(-0.1, abs=0.03)
