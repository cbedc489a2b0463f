"""A slice of the truth run with quic-go: another stack, another log, the same answers."""

import json
import subprocess
from typing import Any

import pytest

from quiclens_lab.command_line import main
from quiclens_lab.machine import LAB, collector_binary

GENERATOR = LAB.parent / "target" / "quicgo-lab"

pytestmark = pytest.mark.skipif(
    not (GENERATOR.is_file() and collector_binary().is_file()), reason="make test builds target/quicgo-lab first"
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Four seeds of every quic-go scenario, judged."""
    logs, page = tmp_path_factory.mktemp("quic-go"), tmp_path_factory.mktemp("page")
    command = [str(GENERATOR), "-test.run", "^TestGenerate$", "-out", str(logs), "-seeds", "1-4"]
    subprocess.run(command, check=True, capture_output=True)
    only = "injection,nothing,counterfactual"
    main(["truth", "--logs", str(logs), "--logs-only", "--only", only, "--out", str(page)])
    found: dict[str, Any] = json.loads((page / "truth.json").read_text())["tables"]
    return found


def test_every_injected_cause_is_the_top_part(tables: dict[str, Any]) -> None:
    assert len(tables["injection"]["scenarios"]) >= 15
    wrong = {each["scenario"]: each["named"] for each in tables["injection"]["scenarios"] if each["share_right"] < 1}
    assert wrong == {}


def test_nothing_is_found_in_clean_runs_though_the_stack_always_paces(tables: dict[str, Any]) -> None:
    assert tables["nothing"]["runs"] == 8
    assert tables["nothing"]["share_of_other_causes"] <= 0.05


def test_savings_are_near_the_truth(tables: dict[str, Any]) -> None:
    assert tables["counterfactual"]["samples"] > 40
    assert tables["counterfactual"]["median_error"] <= 0.15


def test_parts_sum_and_nothing_hides(tables: dict[str, Any]) -> None:
    table = tables["consistency"]
    assert table["rows"] > 100
    assert (table["parts_do_not_sum"], table["targets_incomplete"]) == (0, 0)
    assert table["network_above_one_round_trip"] == {"server": 0, "client": 0}
    assert table["unattributed_of_slowest"]["overall"] <= 0.05
