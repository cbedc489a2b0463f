"""What is judged while rules are written, and what is kept for the final check: `stacks.toml`."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from quiclens_lab.truth.samples import Sample

STACKS = Path(__file__).parent / "stacks.toml"
FINAL = "final check"


@dataclass(frozen=True)
class Split:
    """Stacks with their controllers and scripts, by what they are kept for."""

    controllers: dict[str, tuple[str, ...]]
    final_stacks: frozenset[str]
    scripts: tuple[str, ...]
    final_scripts: frozenset[str]
    first_final_seed: int

    def is_final(self, stack: str, script: str) -> bool:
        return stack in self.final_stacks or script in self.final_scripts

    def first_seed(self, stack: str, script: str) -> int:
        """Runs that are kept for the final check have seeds that no others have."""
        return self.first_final_seed if self.is_final(stack, script) else 1


@cache
def split() -> Split:
    """As it is committed."""
    found = tomllib.loads(STACKS.read_text())
    development, final = found["scripts"]["development"], found["scripts"]["final_check"]
    return Split(
        controllers={stack["name"]: tuple(stack["controllers"]) for stack in found["stack"]},
        final_stacks=frozenset(stack["name"] for stack in found["stack"] if stack["kept_for"] == FINAL),
        scripts=(*development, *final),
        final_scripts=frozenset(final),
        first_final_seed=found["seeds"]["final_check"],
    )


def is_final(sample: Sample) -> bool:
    """Whether a run is kept for the final check: no rule and no interval is made of it."""
    return split().is_final(sample.stack, sample.script)
