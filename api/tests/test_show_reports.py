"""Reports in the terminal: figures in words, and nothing where there is nothing to note."""

from typing import Any

from api_ran import printed

from quiclens_command_line.show.reports_of_requests import table_view
from quiclens_questions.documents import ReportCoverage
from quiclens_questions.report import Report, ReportQuestion

COVERAGE: ReportCoverage = {"requests": 3, "traced": 1, "weight": 3.0}


def test_figures_of_sessions_are_told_in_words() -> None:
    columns = (("figure", ""), ("share", "share"), ("share_low", "share"), ("share_high", "share"), ("samples", ""))
    rows: list[list[Any]] = [["sessions_all_quic", 0.8, 0.7, 0.9, 100], ["mixed_fell_back", 0.1, 0.05, 0.2, 40]]
    text = printed(table_view(Report("coverage", columns, rows, 100, COVERAGE), ReportQuestion()))
    assert "sessions all over QUIC" in text and "mixed: fell back to TCP" in text and "_" not in text


def test_where_nothing_is_noted_nothing_stands() -> None:
    columns = (("carrier", ""), ("over_quic", ""), ("note", ""))
    rows: list[list[Any]] = [["Halden", 3, None], ["Vale", 0, "none over QUIC"], [None, 1, None]]
    text = printed(table_view(Report("use-rate", columns, rows, 4, COVERAGE), ReportQuestion(by=("carrier",))))
    by_name = {line.split()[0]: line for line in text.splitlines() if line.split()}
    assert "unknown" not in by_name["Halden"] and "none over QUIC" in by_name["Vale"] and "unknown" in by_name
