"""What the absence of a cause would save: which causes can be taken away, and how far predictions were from the truth.

The lab runs requests again without their cause; `saves_errors.toml` of the catalogue says between which multiples of
the predicted saving the true one lay.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from quiclens_schema.catalogue import CAUSES, catalogue_folder

from quiclens_questions.failure import CannotRun, usage

# Light and wires stay, a response must arrive, and nobody can take away what nobody knows.
_STAYING = ("network", "receiving", "unattributed")
REMOVABLE = tuple(cause for cause in CAUSES if cause not in _STAYING)
FILE = "saves_errors.toml"


@dataclass(frozen=True)
class Ratios:
    """True over predicted saving of so many simulated requests (0: a placeholder): the median, and the outermost of the
    stacks' 2.5 and 97.5 % quantiles.
    """

    samples: int
    ratio_low: float
    ratio_mid: float
    ratio_high: float


def removable(cause: str) -> str:
    """The cause of `--without`; a usage mistake for one that does not exist or always stays."""
    name = cause.strip()
    if name in REMOVABLE:
        return name
    message = f"--without {name}: it cannot be taken away" if name in CAUSES else f"--without: no cause {name!r}"
    raise usage(message, f"causes are {', '.join(REMOVABLE)}")


def ratios(cause: str) -> Ratios | None:
    """What the lab measured for a cause, None where it measured nothing."""
    return measured().get(cause)


def interval_us(cause: str, saves_us: int | None, duration_us: int) -> list[int] | None:
    """Between what the true saving lies, in 95 of 100 simulated requests; never more than the request itself."""
    found = ratios(cause)
    if saves_us is None or found is None or cause not in REMOVABLE:
        return None
    return [min(round(saves_us * ratio), duration_us) for ratio in (found.ratio_low, found.ratio_high)]


def savings_note(parts: Sequence[Mapping[str, Any]]) -> str:
    """Why savings are not the parts, and why there is none of a part; empty where a reader sees no such thing."""
    notes = []
    if any((part["saves_us"] or 0) > 1.1 * part["us"] for part in parts):
        notes.append(
            "A cause can save more than its own part, and savings do not add up: without a loss the window would not "
            "have shrunk either, and without the waiting of others the turn comes sooner."
        )
    of = {part["cause"] for part in parts if part["us"] and part["saves_us"] is None and part["cause"] in REMOVABLE}
    if "bandwidth" in of and _held_too(parts):
        notes.append(
            "What a faster path would save is not known: window or pacer held the response too, and a controller that "
            "follows the path's rate would open them as well."
        )
        of.discard("bandwidth")
    if of:
        notes.append(f"No saving is told of {', '.join(sorted(of))}: the log does not show the sender's window.")
    return " ".join(notes)


def _held_too(parts: Sequence[Mapping[str, Any]]) -> bool:
    us = {part["cause"]: part["us"] for part in parts}
    return bool(4 * (us.get("cwnd_blocked", 0) + us.get("pacing", 0)) > us["bandwidth"])


@cache
def measured() -> dict[str, Ratios]:
    """Every cause of the catalogue's file; no file is no measurement."""
    path = catalogue_folder() / FILE
    return read(path) if path.is_file() else {}


def read(path: Path) -> dict[str, Ratios]:
    """Read one file of ratios; keys that this version does not know are left out."""
    names = ("samples", "ratio_low", "ratio_mid", "ratio_high")
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
        return {cause: Ratios(**{name: entry[name] for name in names}) for cause, entry in entries.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CannotRun("bad_catalogue", f"{path} is no file of ratios: {error}", "`make truth` writes it") from error
