"""Stretches of time in words: an end before the beginning is said, by every command, before a store is opened."""

from datetime import UTC, datetime, timedelta

import pytest

from quiclens_command_line.main import main
from quiclens_questions.failure import UsageMistake
from quiclens_questions.window import time_window

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_an_end_that_is_not_given_is_open_until_it_is_closed() -> None:
    window = time_window("", "", NOW)
    assert (window.since, window.until) == (None, None)
    assert window.closed() == (NOW - timedelta(days=1), NOW)
    assert time_window("2h", "1h", NOW).closed() == (NOW - timedelta(hours=2), NOW - timedelta(hours=1))


@pytest.mark.parametrize(
    ("since", "until", "hint"),
    [
        ("1h", "2026-11-19T10:30:00Z", "2026-11-19T09:30:00Z"),
        ("1h", "2h", "2026-11-20T09:00:00Z"),
        ("2026-11-20", "2026-11-20", "since before until"),
    ],
)
def test_a_window_that_ends_before_it_begins_says_what_was_meant(since: str, until: str, hint: str) -> None:
    with pytest.raises(UsageMistake, match="ends before it begins") as failed:
        time_window(since, until, NOW)
    assert hint in failed.value.hint


def test_a_window_that_begins_after_now_is_none_either() -> None:
    with pytest.raises(UsageMistake, match="ends before it begins"):
        time_window("2026-11-21", "", NOW).closed()


@pytest.mark.parametrize("command", [["slow"], ["failed"], ["report", "tail"], ["triage"]], ids=" ".join)
def test_every_command_says_so(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--since", "1h", "--until", "2020-01-01T10:00:00Z", "--store", "chdb:/nowhere"]) == 2
    assert "2020-01-01T09:00:00Z" in capsys.readouterr().err
