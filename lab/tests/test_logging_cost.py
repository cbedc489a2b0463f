"""`quiclens-lab logging-cost`: its pure parts, a short round of a server, and the page that shows its figures."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from quiclens_lab.aioquic_server import is_logged
from quiclens_lab.draws import digest
from quiclens_lab.logging_cost.command import logging_cost, turned
from quiclens_lab.logging_cost.figures import HEAD, Figure, of_connections, over_rounds, quantile, rows, settings
from quiclens_lab.logging_cost.load import Load, Loaded, chosen, ids, paths
from quiclens_lab.logging_cost.measured import MeasuredTurn, cpu_s, cpu_s_in, missed
from quiclens_lab.logging_cost.stacks import STACKS
from quiclens_lab.machine import LAB

LOAD = Load(connections=200, requests=5, together=2, share=0.01)
PAGE = LAB.parent / "deploy" / "docs" / "logging-cost.md"


def a_turn(share: float, cpu: float = 1.0, qlog_bytes: int = 0, logged: int = 0) -> MeasuredTurn:
    return MeasuredTurn(
        share, cpu, qlog_bytes, qlog_bytes // 10, 300, logged, "", Loaded([[1000, 2000]] * 10, 2.0, 1.0)
    )


def test_the_hash_chooses_about_the_share_of_ids_nobody_drew_for_it() -> None:
    drawn = [digest(seed, "any id") for seed in range(20_000)]
    for share in (0.01, 0.1, 0.5):
        found = sum(is_logged(each, share) for each in drawn)
        assert abs(found - 20_000 * share) < 4 * (20_000 * share * (1 - share)) ** 0.5
    assert all(is_logged(each, 1) for each in drawn) and not any(is_logged(each, 0) for each in drawn)


def test_who_is_logged_at_a_share_is_logged_at_a_larger_one() -> None:
    drawn = [digest(seed, "any id") for seed in range(2_000)]
    assert {each for each in drawn if is_logged(each, 0.1)} < {each for each in drawn if is_logged(each, 0.2)}


def test_the_load_is_the_same_each_time_and_has_its_share_to_the_connection() -> None:
    assert ids(LOAD) == ids(LOAD) and len(set(ids(LOAD))) == 200
    assert len(chosen(LOAD, 0.01)) == 2 and chosen(LOAD, 0) == set() and len(chosen(LOAD, 1)) == 200
    assert all(len(each) == 8 for each in ids(LOAD))
    assert list(paths(5)) == ["/1000/0"] * 4 + ["/100000/0"]


def test_processor_time_is_read_behind_a_name_with_brackets() -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    assert cpu_s_in(f"7 (a (b) c) S {'0 ' * 10}{3 * ticks} {ticks} 0 0") == 4
    assert cpu_s(os.getpid()) > 0


def test_a_median_has_the_rounds_range_and_a_quantile_its_interval() -> None:
    assert over_rounds([3, 1, 2]) == Figure(2, 1, 3)
    assert [quantile(list(range(1, 101)), share) for share in (0.5, 0.99, 1)] == [50, 99, 100]
    slow = of_connections([[1000] * 9 + [50_000]] * 50 + [[1000] * 10] * 50, 0.5)
    assert slow == Figure(1, 1, 1)
    spread = of_connections([[1000 * number] for number in range(1, 201)], 0.5)
    assert 1 < spread.low < spread.value == 100 < spread.high < 200


def test_each_round_begins_with_another_setting() -> None:
    assert [turned([0, 0.01, 1], number)[0] for number in range(4)] == [0, 0.01, 1, 0]
    assert all(sorted(turned([0, 0.01, 1], number)) == [0, 0.01, 1] for number in range(4))


def test_the_table_says_what_a_setting_costs_and_which_a_server_cannot() -> None:
    off, every = settings([[a_turn(0, 1.0), a_turn(1, 1.5, 20_000)], [a_turn(0, 2.0), a_turn(1, 2.0, 20_000)]])
    assert (off.cpu_s_per_1000, every.cpu_s_per_1000) == (Figure(75, 50, 100), Figure(87.5, 75, 100))
    assert every.cpu_against_off == Figure(1.25, 1, 1.5) and every.qlog_bytes.value == 1000
    assert rows("a", 0.01, [off, every]) == [
        "| a | off | 75 (50 to 100) |  | 0 | 0 | 1 (1 to 1) | 2 (2 to 2) |",
        "| a | 1% | cannot | | | | | |",
        "| a | 100% | 87.5 (75 to 100) | 1.25 (1 to 1.5) | 1,000 | 100 | 1 (1 to 1) | 2 (2 to 2) |",
    ]


def test_other_connections_than_the_chosen_are_told() -> None:
    wanted, other = chosen(LOAD, 0.01), {each.hex() for each in ids(LOAD)[:2]}
    assert missed(LOAD, 0.01, wanted, [b"x"] * 2, 1000) == ""
    assert "not the 2 that are chosen" in missed(LOAD, 0.01, other, [b"x"] * 2, 1000)
    assert "not the 200" in missed(LOAD, 1, 199, [b"x"] * 199, 1000) and missed(LOAD, 1, 200, [b"x"] * 200, 1000) == ""
    assert "is empty" in missed(LOAD, 0.01, wanted, [b"x", b""], 1000)
    assert missed(LOAD, 0, set(), [], 999) == "999 lines in the access log, not 1000"
    assert missed(LOAD, 0, set(), [], None) == "", "a server without an access log"


@pytest.mark.parametrize("name", [stack.name for stack in STACKS if stack.name in ("quic-go", "aioquic")])
def test_a_short_round_of_a_server(name: str) -> None:
    (stack,) = [each for each in STACKS if each.name == name]
    if reason := stack.missing():
        pytest.skip(reason)
    told: list[tuple[int, int]] = []
    load = Load(connections=8, requests=5, together=2, share=0.25)
    document = logging_cost([name], load, 1, False, lambda done, of: told.append((done, of)))
    assert document["passes"] and document["missed"] == [] and told == [(1, 3), (2, 3), (3, 3)]
    off, share, every = document["servers"][name]["settings"]
    # That these are the ones that the hash chooses is what `passes` says.
    assert [each["logged"] for each in (off, share, every)] == [0, 2, 8]
    assert off["qlog_bytes"]["value"] == 0 < share["qlog_bytes"]["value"] < every["qlog_bytes"]["value"]
    assert 0 < every["qlog_zstd_bytes"]["value"] < every["qlog_bytes"]["value"]
    for each in (off, share, every):
        assert each["cpu_s_per_1000"]["value"] > 0 and each["p99_ms"]["value"] >= each["p50_ms"]["value"] > 0
        assert each["access_log_bytes"]["value"] > 100


@pytest.mark.parametrize("name", ["ngtcp2", "picoquic"])
def test_a_short_round_of_a_server_that_logs_all_or_none(name: str) -> None:
    (stack,) = [each for each in STACKS if each.name == name]
    if reason := stack.missing():
        pytest.skip(reason)
    load = Load(connections=8, requests=5, together=2, share=0.25)
    document = logging_cost([name], load, 1, False, lambda done, of: None)
    server = document["servers"][name]
    assert document["passes"] and document["missed"] == []
    assert [(each["share"], each["logged"]) for each in server["settings"]] == [(0, 0), (1, 8)]
    assert "cannot" in server["table"][1]


def test_the_pages_table_is_what_was_kept() -> None:
    text = PAGE.read_text()
    kept = re.findall(r"`(lab/bench-runs/[^`]+/logging-cost[^`]*\.json)`", text)
    documents: list[dict[str, Any]] = [json.loads((LAB.parent / each).read_text()) for each in kept]
    # A commit with a plus is a tree that was changed since: nobody can measure it again.
    assert documents and all(each["passes"] and "+" not in each["commit"] for each in documents)
    for each in documents:
        assert each["commit"] in text and each["machine"]["cpu"] in text
        load = each["load_average"]
        assert f"load average {load['before']:.1f} before and {load['after']:.1f} after" in text
    servers = {name: server for each in documents for name, server in each["servers"].items()}
    assert set(servers) == {stack.name for stack in STACKS}
    named = [line for line in text.splitlines() if line.startswith(tuple(f"| {name} |" for name in servers))]
    shown = [line for line in named if line.count("|") == HEAD[0].count("|")]
    assert sorted(shown) == sorted(row for server in servers.values() for row in server["table"])


def test_the_page_has_a_way_to_log_a_share_for_each_server() -> None:
    text = PAGE.read_text()
    assert "cannot" in text and Path(PAGE).is_file()
    for stack in STACKS:
        assert stack.name.removesuffix("-growing") in text.casefold()
