"""The expander does what the plugin documents: inputs and outputs as in its own tests."""

from datetime import UTC, datetime

import pytest
from expanding import ALL, Window, expand

WINDOW = Window(
    datetime(2014, 11, 12, 11, 45, 26, 371_000, UTC), datetime(2015, 11, 12, 11, 45, 26, 371_000, UTC), step_s=20
)
SINCE, UNTIL = "toDateTime(1415792726)", "toDateTime(1447328726)"


@pytest.mark.parametrize(
    ("sql", "expanded"),
    [
        ("a >= $__fromTime AND a <= $__toTime", f"a >= {SINCE} AND a <= {UNTIL}"),
        ("$__timeFilter(a)", f"a >= {SINCE} AND a <= {UNTIL}"),
        (
            "$__timeFilter(cast(a as timestamp) )",
            f"cast(a as timestamp) >= {SINCE} AND cast(a as timestamp) <= {UNTIL}",
        ),
        ("$__timeInterval(a)", "toStartOfInterval(toDateTime(a), INTERVAL 20 second)"),
        ("$__timeInterval($__fromTime)", f"toStartOfInterval(toDateTime({SINCE}), INTERVAL 20 second)"),
        ("$__interval_s", "20"),
        ("a -- $__timeFilter(b)\n, '-- $__x' /* $__toTime */", "a \n, '-- $__x' "),
        ("$__other(a)", "$__other(a)"),
    ],
)
def test_a_macro_becomes_what_the_plugin_makes_of_it(sql: str, expanded: str) -> None:
    assert expand(sql, {}, WINDOW) == expanded


@pytest.mark.parametrize(
    ("chosen", "expanded"),
    [
        (ALL, "1=1 AND b = 1"),
        ("", "1=1 AND b = 1"),
        (["x"], "f('var-v=x', a) AND b = 1"),
        (["x", "it's \\ $__x, (b)"], "f('var-v=x&var-v=it%27s%20%5C%20%24__x%2C%20%28b%29', a) AND b = 1"),
    ],
)
def test_a_condition_is_left_out_when_all_are_chosen(chosen: str | list[str], expanded: str) -> None:
    assert expand("$__conditionalAll(f('${v:queryparam}', a), $v) AND b = 1", {"v": chosen}, WINDOW) == expanded


def test_variables_stand_as_their_format_says() -> None:
    assert expand("${v:raw} $v ${v} $w ${other}", {"v": "a", "w": ["b", "c"]}, WINDOW) == "a a a 'b','c' ${other}"
