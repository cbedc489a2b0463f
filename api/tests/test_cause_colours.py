"""The colours of causes: each can be told from every other one, also by the colour-blind, and from the page."""

import re
from itertools import combinations
from pathlib import Path

import pytest
from coloraide import Color

from quiclens_questions.causes import LOOKS

_STYLES = Path(__file__).parents[1] / "web" / "quiclens_web" / "pages" / "static" / "look.css"
_TOLD_APART = 10  # CIEDE2000
_SEEN = 3  # contrast (WCAG 2.2, 1.4.11)
_COLOURS = {
    theme: {cause: Color(getattr(look, theme)) for cause, look in LOOKS.items()} for theme in ("on_light", "on_dark")
}


def grounds(theme: str) -> list[Color]:
    """What causes are drawn on: cards, and the page itself."""
    found = [re.findall(rf"--{name}: (#\w+);", _STYLES.read_text()) for name in ("card", "ground")]
    return [Color(each[0] if theme == "on_light" else each[-1]) for each in found]


@pytest.mark.parametrize("theme", _COLOURS)
@pytest.mark.parametrize("eyes", [None, "protan", "deutan", "tritan"])
def test_any_two_causes_are_told_apart(theme: str, eyes: str | None) -> None:
    """Protanopia and deuteranopia as Viénot et al. simulate them (1999), tritanopia as Brettel et al. (1997)."""
    seen = {cause: each.filter(eyes) if eyes else each for cause, each in _COLOURS[theme].items()}
    close = {
        (one, other): round(seen[one].delta_e(seen[other], method="2000"), 1) for one, other in combinations(seen, 2)
    }
    assert {pair: apart for pair, apart in close.items() if apart < _TOLD_APART} == {}


@pytest.mark.parametrize("theme", _COLOURS)
def test_every_cause_is_seen_on_the_page_and_on_a_card(theme: str) -> None:
    for ground in grounds(theme):
        weak = {cause: each.contrast(ground, method="wcag21") for cause, each in _COLOURS[theme].items()}
        assert min(weak.values()) >= _SEEN, (ground.to_string(hex=True), weak)
