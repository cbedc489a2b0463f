"""A list that is cut says so, and what is counted beside it is of all."""

from datetime import UTC, datetime
from typing import Any

import pytest
from api_ran import Run, printed
from quiclens_schema import store as stores

from quiclens_command_line.show.reports_of_requests import table_view
from quiclens_command_line.show.slow import groups_line, slow_view
from quiclens_command_line.show.status import status_view
from quiclens_questions import clustered, events, explain, status
from quiclens_questions import slow as slow_module
from quiclens_questions.failure import CannotRun
from quiclens_questions.report import Report, ReportQuestion
from quiclens_questions.reports import REPORTS, Options, asked_of

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def report(store_url: str, name: str, by: list[str]) -> Report:
    with stores.open(store_url) as store:
        return REPORTS[name].answer(store, asked_of(name, by, [], (None, None), Options(), NOW))


def test_slow_by_a_column(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    question = slow_module.Slow(by="path", limit=1)
    with stores.open(store_url) as store:
        whole = slow_module.slow(store, question)
        values = len({row["path"] for row in whole["requests"]})
        assert whole["values"] is None and whole["values_shown"] is None and values > 2
        monkeypatch.setattr(slow_module, "ROWS_AT_MOST", 2)
        cut = slow_module.slow(store, question)
    assert cut["requests"] == whole["requests"][:2]
    assert (cut["values"], cut["values_shown"]) == (values, 2)
    assert f"2 requests are shown, the slowest, of 2 of {values} values of path" in printed(slow_view(cut, "path"))
    assert "are shown, the slowest" not in printed(slow_view(whole, "path"))


def test_events(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = report(store_url, "events", ["region"])
    assert whole.groups == whole.groups_shown and whole.groups and whole.groups > 1 and whole.samples
    monkeypatch.setattr(events, "GROUPS_AT_MOST", 1)
    cut = report(store_url, "events", ["region"])
    assert (cut.groups, cut.groups_shown, cut.samples) == (whole.groups, 1, whole.samples)
    assert {row[0] for row in cut.rows} == {whole.rows[0][0]}
    assert groups_line(cut.groups, cut.groups_shown)


def test_status(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with stores.open(store_url) as store:
        whole = status.status(store, store_url, NOW)
        monkeypatch.setattr(status, "GROUPS_AT_MOST", 1)
        cut = status.status(store, store_url, NOW)
    assert cut.rows == whole.rows[:1] and cut.samples == whole.samples
    assert (cut.groups, cut.groups_shown) == (len(whole.rows), 1) and len(whole.rows) > 1
    for name in ("checks", "rejects", "collectors"):
        assert cut.params[name] == whole.params[name]
    for each in (whole, cut):
        each.params.update({"served": None, "lag": None, "freshness": None})
    assert f"1 of {len(whole.rows)} are shown, by name" in printed(status_view(cut))
    assert "are shown, by name" not in printed(status_view(whole))


def test_groups_of_which_none_may_be_missing_are_refused(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ReportQuestion(by=("region",))
    given = {**asked.window, "without": "", "ratio": 0.0}
    with stores.open(store_url) as store:
        whole = clustered.sampled(store, "tail_requests", asked, asked.by, [0.5], given)
        assert whole.all == len(whole.by_key) > 1
        monkeypatch.setattr(clustered, "QUANTILES_AT_MOST", whole.all - 1)
        assert len(clustered.sampled(store, "tail_requests", asked, asked.by, [0.5], given, 1).by_key) == 1
        with pytest.raises(CannotRun, match="too many groups"):
            clustered.sampled(store, "tail_requests", asked, asked.by, [0.5], given)


def test_others_of_the_same_name(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[dict[str, Any]] = [{"request_id": str(number)} for number in range(4)]
    assert explain._others(known) == ("1", "2", "3")
    monkeypatch.setattr(explain, "_NAMESAKES_AT_MOST", 3)
    assert explain._others(known) == ("1", "2", "…")


def test_a_figure_that_is_not_known_is_no_name() -> None:
    columns = (("carrier", ""), ("per_second", "1/s"), ("busiest", ""))
    coverage = {"requests": 3, "traced": 0, "repaired": 0, "damaged": 0, "weight": 3.0}
    rows = [[None, 1.5, 4], ["A", None, None]]
    found = Report("load", columns, rows, 3, coverage)  # type: ignore[arg-type]
    said = printed(table_view(found, ReportQuestion(by=("carrier",))))
    assert said.count("unknown") == 1 and said.count("–") == 2


def test_two_forms_of_one_answer_are_refused(run: Run) -> None:
    ran = run("triage", "--markdown", "--json")
    assert ran.code == 2 and "two forms" in ran.err
