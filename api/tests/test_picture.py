"""A report's picture draws what the report is about, in words and numbers that are read at a glance."""

import re

from quiclens_questions.documents import ReportCoverage
from quiclens_questions.picture import picture
from quiclens_questions.report import Report

COVERAGE: ReportCoverage = {"requests": 0, "traced": 0, "repaired": 0, "damaged": 0, "weight": 0.0}


def drawn(columns: tuple[tuple[str, str], ...], *rows: tuple[object, ...]) -> str:
    report = Report("tail", columns, [list(row) for row in rows], 100, COVERAGE)
    found = picture(report)
    assert found is not None
    return found


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def with_ends(name: str, unit: str) -> tuple[tuple[str, str], ...]:
    return ((name, unit), (f"{name}_low", unit), (f"{name}_high", unit))


def test_of_durations_and_one_share_the_durations_are_drawn() -> None:
    columns = (("carrier", ""), *with_ends("failed", "share"), *with_ends("p50", "us"), *with_ends("p95", "us"))
    said = texts(drawn(columns, ("Halden", 0.1, 0.05, 0.2, 1e5, 9e4, 1.2e5, 4e5, 3e5, 6e5)))
    assert said[0] == "tail: duration, with 95 % intervals (100 samples)"
    assert {"p50", "p95", "Halden", "100 ms"} <= set(said) and "failed" not in said


def test_a_share_has_no_sign_and_a_difference_has() -> None:
    shares = texts(drawn((("carrier", ""), *with_ends("share", "share")), ("Halden", 0.2, 0.1, 0.4)))
    assert "20 %" in shares and not [each for each in shares if each.startswith("+")]
    columns = (("stratum", ""), ("unit", ""), *with_ends("difference", "share"))
    differences = texts(drawn(columns, ("all", "us", 0.2, -0.1, 0.4)))
    assert {"+20 %", "0 %"} <= set(differences)


def test_what_has_no_unit_is_numbers_and_large_ones_are_written_out() -> None:
    said = texts(drawn((("event", ""), *with_ends("count", "")), ("packet_sent", 5e5, 4e5, 6e5)))
    assert said[0].startswith("tail: numbers, with") and "500,000" in said
