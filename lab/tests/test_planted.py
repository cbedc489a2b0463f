"""Reports find what was planted; the share of intervals that do is measured by `quiclens-lab planted`."""

from typing import Any

import pytest

from quiclens_lab.planted import planted

SAMPLES = 40
# Of so few samples: 1 in 10,000 runs of a true 95 % has fewer.
LEAST_HELD = 0.8

Figures = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return planted(SAMPLES, seed=7, keep=False)


@pytest.fixture(scope="module")
def figures(found: dict[str, Any]) -> Figures:
    return {(each["report"], each["figure"]): each for each in found["figures"]}


def test_every_report_is_judged(figures: Figures) -> None:
    reports = {report for report, _ in figures}
    assert reports == {"compare", "coverage", "use-rate", "tail", "load", "rtt", "loss", "grid"}
    assert {figure for report, figure in figures if report == "compare"} == {"p75", "p90", "p99", "failed"}


def test_intervals_hold_the_truth(figures: Figures) -> None:
    assert {name: each["held"] for name, each in figures.items() if each["held"] < LEAST_HELD} == {}
    assert all(each["samples"] >= SAMPLES for each in figures.values())
    assert {name for name, each in figures.items() if each["open"] > 0.5} == set()


def test_strata_cut_a_bias_out(found: dict[str, Any], figures: Figures) -> None:
    """QUIC saves 10 %; over all requests it seems to save far more, for slow paths and cold sessions had TCP."""
    for quantile in ("p75", "p90"):
        assert found["biased"][quantile] < -0.3
        assert figures["compare", quantile]["mean"] == pytest.approx(-0.1, abs=0.03)
