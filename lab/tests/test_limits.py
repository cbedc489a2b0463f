"""`quiclens-lab limits`: a limit that is crossed is told, by a real log or by too many open connections."""

from pathlib import Path

import pytest

from quiclens_lab.limits import limit_reasons, limits, server_lines

HEADER = '{"qlog_version":"0.3","qlog_format":"JSON-SEQ","trace":{"vantage_point":{"type":"server"}}}'
NAMES = 512  # of events, that are remembered: collectors/README.md
DEEP = '{"time":1,"name":"transport:packet_sent","data":{"x":%s1%s}}'


def test_what_the_readme_says_of_limits_is_read() -> None:
    reasons = limit_reasons()
    assert {"too_long", "too_deep", "too_many_frames", "too_many_connections", "too_many_requests"} <= reasons


def test_every_connection_of_the_server_is_open_before_one_ends() -> None:
    lines = list(server_lines(3))
    assert [line.split("\t")[0] for line in lines[:3]] == ["c0", "c1", "c2"]
    assert [line.split("\t")[3] for line in lines[:3]] == ["clock_anchor"] * 3
    assert len(lines) == 3 * 14 and len({line.split("\t")[2] for line in lines}) == 3 * 14


@pytest.mark.long
def test_a_limit_that_is_crossed_is_told(tmp_path: Path) -> None:
    clean, deep = tmp_path / "clean", tmp_path / "deep"
    for folder, depth in ((clean, 3), (deep, 100)):
        folder.mkdir()
        (folder / "a.sqlog").write_text(f"\x1e{HEADER}\n\x1e{DEEP % ('[' * depth, ']' * depth)}\n")
    # A limit that rejects nothing.
    named = tmp_path / "named"
    named.mkdir()
    records = (f'\x1e{{"time":1,"name":"a:b{number}","data":{{}}}}\n' for number in range(NAMES + 3))
    (named / "a.sqlog").write_text(f"\x1e{HEADER}\n" + "".join(records))
    whole = limits([clean], 200, demo=5, keep=False)
    assert whole["passes"] and whole["missed"] == []
    assert [(row["logs"], row["connections"]) for row in whole["loads"]] == [("clean", 1), ("demo", 5), ("server", 200)]
    crossed = limits([deep, named], 200, demo=5, keep=False)
    assert not crossed["passes"]
    assert crossed["missed"] == ["deep: too_deep is crossed 1 times", "named: names is crossed 3 times"]
