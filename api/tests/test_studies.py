"""The published tables on the command line: their shape, their other forms, and what they say without an answer."""

import csv
import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from api_ran import Run

from quiclens_api.differences import Clusters, clustered_ranks, clustered_share, difference, effective, places, relative
from quiclens_api.intervals import Estimate, Ranks, Spread, binomial_tail, ranks
from quiclens_api.reports import KINDS


def rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    names = [column["name"] for column in document["columns"]]
    return [dict(zip(names, row, strict=True)) for row in document["rows"]]


@pytest.mark.parametrize("name", list(KINDS))
def test_every_report_has_the_same_shape(run: Run, name: str) -> None:
    document = run("report", name, "--json").document
    assert list(document) == ["name", "params", "columns", "rows", "samples", "coverage"]
    assert document["name"] == name and {"requests", "traced", "weight"} <= set(document["coverage"])
    assert all(len(row) == len(document["columns"]) for row in document["rows"])


@pytest.mark.parametrize("name", list(KINDS))
def test_every_report_can_be_read(run: Run, name: str) -> None:
    assert "drawn from 5 requests" in run("report", name).out


def test_an_arm_is_compared_with_the_largest(run: Run) -> None:
    found = run("report", "compare", "--between", "region", "--json")
    document = found.document
    arms = {row["arm"] for row in rows(document)}
    assert document["params"]["base"] not in arms and document["params"]["between"] == "region"
    assert {row["figure"] for row in rows(document)} == {"p75", "p90", "p99", "rtt_p50", "failed"}
    assert all(row["difference_low"] is None for row in rows(document))  # five requests bound nothing


def test_without_arms_there_is_nothing_to_compare(run: Run) -> None:
    found = run("report", "compare")
    assert found.code == 1 and "no two values of arm" in found.out
    assert run("report", "compare", "--between", "region", "--base", "nowhere").code == 2


def test_round_trips_are_of_connections_or_of_requests(run: Run) -> None:
    connections = run("report", "rtt", "--json").document
    assert connections["params"]["of"] == "connections" and connections["columns"][-1]["name"] == "connections"
    assert run("report", "rtt", "--of", "connections", "--json").document == connections
    found = run("report", "rtt", "--of", "requests", "--by", "protocol", "--json")
    assert found.code == 1 and found.document["params"]["of"] == "requests"  # no row has a round trip
    wrong = run("report", "rtt", "--of", "streams", "--json")
    assert wrong.code == 2 and "streams" in wrong.document["error"]["message"]
    assert run("report", "tail", "--of", "requests").code == 2


@pytest.mark.parametrize("option", [("--without", "loss_recovery"), ("--base", "tcp"), ("--later", "2")])
def test_an_option_of_another_report_is_told(run: Run, option: tuple[str, str]) -> None:
    found = run("report", "rtt", *option, "--json")
    assert found.code == 2
    assert option[0] in found.document["error"]["message"] and "rtt" in found.document["error"]["message"]


def test_without_users_there_are_no_sessions(run: Run) -> None:
    found = run("report", "coverage")
    assert found.code == 1 and "user_hash" in found.out


def test_a_report_is_written_as_csv_and_markdown(run: Run) -> None:
    document = run("report", "tail", "--by", "carrier", "--json").document
    read = list(csv.reader(io.StringIO(run("report", "tail", "--by", "carrier", "--format", "csv").out)))
    assert read[0] == [column["name"] for column in document["columns"]] and len(read) == 1 + len(document["rows"])
    lines = run("report", "tail", "--by", "carrier", "--format", "markdown").out.splitlines()
    assert lines[2].startswith("| carrier | requests |") and "p50 (us)" in lines[2]
    assert len([line for line in lines if line.startswith("|")]) == 2 + len(document["rows"])


def test_a_report_is_drawn(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rtt.svg"
    found = run("report", "rtt", "--by", "carrier", "--picture", str(path))
    assert f"drawn into {path}" in found.err
    drawn = ElementTree.fromstring(path.read_text())
    assert drawn.tag.endswith("svg") and len(drawn.findall("{*}circle")) > 2
    assert run("report", "rtt", "--picture", str(tmp_path / "none" / "rtt.svg")).code == 3


def test_alike_samples_are_worth_fewer() -> None:
    """100 users with ten requests each: either all of a user's count or none does."""
    alike = Clusters(100, 300, Spread(30 * 100, 30 * 100, 100 * 100))
    assert effective(1000, alike) == pytest.approx(97, abs=4)
    independent = Clusters(1000, 300, Spread(300, 300, 1000))
    assert effective(1000, independent) == pytest.approx(1000, rel=0.01)
    wide, narrow = clustered_share(1000, alike), clustered_share(1000, independent)
    assert wide.value == narrow.value == 0.3
    assert wide.low is not None and narrow.low is not None and wide.low < narrow.low
    assert clustered_share(20, Clusters(5, 3, Spread(3, 3, 20))) == Estimate(0.15)


def test_ranks_of_alike_samples_are_further_apart() -> None:
    alike = clustered_ranks(1000, 0.5, Clusters(100, 500, Spread(50 * 100, 50 * 100, 100 * 100)))
    alone = clustered_ranks(1000, 0.5, Clusters(1000, 500, Spread(500, 500, 1000)))
    assert alike is not None and alone is not None and alike.at == alone.at == 500
    assert (alike.low or 0) < (alone.low or 0) and (alike.high or 0) > (alone.high or 0)
    assert clustered_ranks(50, 0.99, Clusters(50, 49, Spread(49, 49, 50))) is None
    assert clustered_ranks(200, 0.99, Clusters(5, 198, Spread(0, 0, 9))) == Ranks(198, None, None)


def test_places_lie_within_the_whole_ranks_that_hold_for_sure() -> None:
    for samples, quantile in ((400, 0.99), (1_000, 0.99), (300, 0.5), (37, 0.75)):
        sure, (low, high) = ranks(samples, quantile), places(samples, quantile)
        assert sure is not None and sure.low is not None and sure.high is not None and low and high
        assert sure.low <= low < sure.low + 1 and sure.high - 1 < high <= sure.high
        assert binomial_tail(low, samples, quantile) == pytest.approx(0.975, abs=1e-6)
        assert binomial_tail(high, samples, quantile) == pytest.approx(0.025, abs=1e-6)
    assert places(300, 0.99)[1] is None and places(0.5, 0.5) == (None, None)


def test_a_difference_is_as_sure_as_both_sides() -> None:
    assert difference(Estimate(5, 4, 7), Estimate(3, 3, 3)) == Estimate(2, 1, 4)
    open_below = difference(Estimate(5, None, 7), Estimate(3, 2, 4))
    assert open_below.low is None and open_below.high == pytest.approx(4.236, abs=1e-3)
    found = relative(Estimate(90, 81, 100), Estimate(100, 100, 100))
    assert found.value == pytest.approx(-0.1) and found.low == pytest.approx(-0.19) and found.high == pytest.approx(0)
    assert relative(Estimate(0, 0, 1), Estimate(3, 2, 4)).value is None
