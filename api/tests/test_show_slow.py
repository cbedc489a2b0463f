"""The table of slow requests says why a row has no cause."""

from typing import Any

import pytest
from rich.text import Text

from quiclens_command_line.show.slow import _mostly


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"coverage": "none", "top_cause": None, "top_cause_us": None, "duration_us": 5}, "no trace"),
        ({"coverage": "full", "top_cause": None, "top_cause_us": None, "duration_us": 0}, "took no time"),
        (
            {"coverage": "full", "top_cause": "pto", "top_cause_us": 3, "duration_us": 4, "grade": "whole"},
            "75 % probe timeout",
        ),
        (
            {"coverage": "full", "top_cause": "pto", "top_cause_us": 3, "duration_us": 4, "grade": "damaged"},
            "75 % probe timeout, damaged log",
        ),
    ],
)
def test_a_request_without_a_cause_says_why(row: dict[str, Any], said: str) -> None:
    shown = _mostly(row)
    assert isinstance(shown, Text) and shown.plain.strip().endswith(said)
