"""The published tables on the command line: their shape, their other forms, and what they say without an answer."""

import csv
import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from api_ran import Run

from quiclens_questions.reports import REPORTS


def rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    names = [column["name"] for column in document["columns"]]
    return [dict(zip(names, row, strict=True)) for row in document["rows"]]


@pytest.mark.parametrize("name", list(REPORTS))
def test_every_report_has_the_same_shape(run: Run, name: str) -> None:
    document = run("report", name, "--json").document
    assert list(document) == [
        "name",
        "params",
        "columns",
        "rows",
        "samples",
        "groups",
        "groups_shown",
        "coverage",
        "warnings",
        "title",
        "notes",
        "nothing",
        "words",
    ]
    names = [column["name"] for column in document["columns"]]
    figures = {row[names.index("figure")] for row in document["rows"]} if "figure" in names else set()
    assert figures <= set(document["words"]) and not any("_" in words for words in document["words"].values())
    assert document["title"] and bool(document["nothing"]) == (not document["rows"])
    assert document["name"] == name and {"requests", "traced", "weight"} <= set(document["coverage"])
    assert all(len(row) == len(document["columns"]) for row in document["rows"])


@pytest.mark.parametrize("name", list(REPORTS))
def test_every_report_can_be_read(run: Run, name: str) -> None:
    out = run("report", name).out
    # What hosts counted is drawn from no requests.
    assert "host:" in out if name in ("misrouted", "restarts") else "drawn from 5 requests" in out


def test_an_arm_is_compared_with_the_largest(run: Run) -> None:
    found = run("report", "compare", "--between", "region", "--json")
    document = found.document
    arms = {row["arm"] for row in rows(document)}
    assert document["params"]["base"] not in arms and document["params"]["between"] == "region"
    quantiles = {"p50", "p75", "p90", "p95", "p99"}
    assert {row["figure"] for row in rows(document)} == quantiles | {"rtt_p50", "failed"}
    assert all(row["difference_low"] is None for row in rows(document))  # five requests bound nothing


def test_without_arms_there_is_nothing_to_compare(run: Run) -> None:
    found = run("report", "compare")
    assert found.code == 1 and "no two values of arm" in found.out
    assert run("report", "compare", "--between", "region", "--base", "nowhere").code == 2


def test_round_trips_are_of_connections_or_of_requests(run: Run) -> None:
    connections = run("report", "rtt", "--json").document
    assert connections["params"]["of"] == "connections" and connections["columns"][-1]["name"] == "clusters"
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
