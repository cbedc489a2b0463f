import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import aioquic.quic.connection
import aioquic.quic.logger
import aioquic.tls
import pytest

from quiclens_lab.aioquic_inside import VirtualClock, repeatable
from quiclens_lab.demo import make_folder
from quiclens_lab.population import connection_plan, population
from quiclens_lab.scenarios import SCENARIOS


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_the_same_seed_gives_the_same_bytes_with_any_number_of_processes(small_demo: Path, tmp_path: Path) -> None:
    make_folder(population(40, seed=3), tmp_path, with_client_traces=True, jobs=2, with_h2_lines=True)
    assert contents(tmp_path) == contents(small_demo)


def test_the_same_seed_gives_the_same_bytes_in_a_process_with_other_hashes(tmp_path: Path) -> None:
    def make(hash_seed: str) -> dict[str, bytes]:
        folder = tmp_path / hash_seed
        command = [sys.executable, "-m", "quiclens_lab", "demo", "--out", str(folder), "--connections", "6"]
        subprocess.run(
            command, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": hash_seed}, timeout=60
        )
        return contents(folder)

    assert make("1") == make("2")


def test_another_seed_gives_other_traces(small_demo: Path, tmp_path: Path) -> None:
    make_folder(population(3, seed=4), tmp_path, with_client_traces=True)
    assert not set(contents(tmp_path)) & set(contents(small_demo)) - {"access.jsonl"}


@pytest.mark.parametrize(
    "name", ["burst_loss", "stream_credit", "small_window", "competing", "zero_rtt_amplification", "client_gap"]
)
def test_scenarios_repeat_byte_for_byte(name: str, tmp_path: Path) -> None:
    (scenario,) = (each for each in SCENARIOS if each.name == name)
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        make_folder([scenario.plan(11)], folder, with_client_traces=True)
    assert contents(folders[0]) == contents(folders[1])


def test_leaving_the_client_trace_out_does_not_change_the_server_trace(tmp_path: Path) -> None:
    plan = replace(connection_plan(7, 40, 3), wall_start_us=1_800_000_000_000_000)
    make_folder([plan], tmp_path / "with", with_client_traces=True)
    make_folder([plan], tmp_path / "without", with_client_traces=False)
    without = contents(tmp_path / "without")
    assert without == {name: data for name, data in contents(tmp_path / "with").items() if name in without}


def test_aioquic_is_put_back_as_it_was_even_after_a_failure() -> None:
    def patched() -> list[object]:
        connection, tls = aioquic.quic.connection, aioquic.tls
        return [
            vars(aioquic.quic.logger)["time"],
            vars(connection)["os"],
            vars(connection)["QuicStream"],
            vars(tls)["os"],
        ]

    before = patched()
    with pytest.raises(ZeroDivisionError), repeatable(1, VirtualClock(0)):
        assert not any(now is then for now, then in zip(patched(), before, strict=True))
        _ = 1 // 0
    assert patched() == before
