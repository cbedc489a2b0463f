"""The judgement of a bar: what it found, what it missed, and the document of both, also where it broke.

What breaks in a stage is missed, with the stage's name, and the bar goes on with what does not need it. What breaks
outside of any stage ends the bar: it is missed too, and the document is kept as that of a bar that ended by itself.
Only a bar that could not be tried at all (`CannotTryError`) leaves none. A run that is smaller than the bar asks for
may pass as what it is; a document that is kept misses what it left out.
"""

import argparse
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from quiclens_lab.errors import CannotTryError, LabError
from quiclens_lab.machine import judged
from quiclens_lab.progress import say


@dataclass(slots=True)
class Judgement:
    """What one bar has found so far."""

    name: str
    found: dict[str, Any] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def leave_out(self, is_so: bool, what: str) -> None:
        """Where it is so, this of the bar is no part of the run."""
        if is_so:
            self.left_out.append(what)

    def least(self, what: str, wanted: float, has: float) -> None:
        """The bar asks for `wanted` of what; a run with fewer leaves that out."""
        self.leave_out(has < wanted, f"{has:,} {what} of {wanted:,}")

    def miss(self, what: str) -> None:
        """This is missed; a person is told at once."""
        say(f"{self.name}: missed: {what}")
        self.missed.append(what)

    def want(self, is_so: bool, otherwise: str) -> None:
        """It is so, or `otherwise` is missed."""
        if not is_so:
            self.miss(otherwise)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """A part of the bar, after which it goes on: where the part breaks, that is missed."""
        try:
            yield
        except CannotTryError:
            raise
        except Exception as error:
            self.miss(f"{name}: {_why(error)}")

    def document(self, keep: bool, kind: str = "bench-runs") -> dict[str, Any]:
        """What was found and missed; it passes where nothing is missed. Where it is kept, all that was left out is."""
        if keep:
            for what in self.left_out:
                self.miss(f"left out: {what}")
        found = {**self.found, "left_out": self.left_out, "missed": self.missed}
        return judged(self.name, found, not self.missed, keep, kind)


@dataclass(frozen=True, slots=True)
class KeptDocument:
    """Where a bar's document is kept: `lab/<kind>/…/<name>.json`."""

    name: str
    kind: str = "bench-runs"


BARS: Mapping[str, KeptDocument | None] = {
    "against": KeptDocument("against"),
    "ask-bench": KeptDocument("ask"),
    "containers": KeptDocument("containers"),
    "kubernetes": KeptDocument("kubernetes"),
    "damage": KeptDocument("damage", "damage-runs"),
    "faults": KeptDocument("faults"),
    "freshness": KeptDocument("freshness"),
    "front": KeptDocument("front"),
    "fuzz": None,
    "incidents": KeptDocument("incidents"),
    "installed": KeptDocument("installed"),
    "limits": KeptDocument("limits"),
    "link": KeptDocument("link"),
    "link-bench": KeptDocument("link_bench"),
    "link-race": KeptDocument("link_race"),
    "lockouts": KeptDocument("lockouts"),
    "logging-cost": KeptDocument("logging-cost"),
    "many-files": KeptDocument("many_files"),
    "pages": KeptDocument("pages"),
    "planted": KeptDocument("planted", "truth-runs"),
    "schema-cases": KeptDocument("schema-cases"),
    "siblings": KeptDocument("siblings"),
    "simulation": None,
    "stack-changes": KeptDocument("stack_changes"),
    "start-up": KeptDocument("start_up"),
    "stock-servers": KeptDocument("stock-servers"),
    "truth": None,
    "watch": KeptDocument("watch"),
}
"""The commands that judge. None: what a run found is kept line by line, in its own form, and it goes on after that."""


def broken(options: argparse.Namespace, error: Exception) -> dict[str, Any]:
    """The document of a bar that broke before it could make its own; kept where that was asked of this command."""
    why = _why(error)
    say(f"{options.command}: broke: {why}")
    found = {"broke": why, "missed": [why]}
    kept = BARS[options.command]
    if kept is None or not options.keep:
        return judged(options.command, found, False, keep=False)
    name = "-".join([kept.name, *getattr(options, "server", [])])
    return judged(name, found, False, True, kept.kind)


def _why(error: Exception) -> str:
    """In one line; a person is told all of what the lab itself did not expect."""
    if isinstance(error, LabError):
        return str(error)
    say("".join(traceback.format_exception(error)))
    return f"{type(error).__name__}: {error}"
