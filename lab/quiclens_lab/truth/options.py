"""What can be asked of a truth run."""

import argparse
from pathlib import Path

from quiclens_lab.machine import LAB
from quiclens_lab.path import SCRIPTS
from quiclens_lab.scenarios import SCENARIOS
from quiclens_lab.truth.split import split

TABLE_NAMES = ("injection", "decisive", "sets", "nothing", "counterfactual", "order", "p99")
SEEDS = 200
STACK_SEEDS = 10
DEVELOPMENT, FINAL_CHECK = "development", "final-check"
ERRORS = LAB / "truth-runs" / "saves_errors.toml"


def tables_named(text: str) -> list[str]:
    """The names in a comma-separated list."""
    names = text.split(",")
    if unknown := sorted(set(names) - set(TABLE_NAMES)):
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(TABLE_NAMES)}")
    return names


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `quiclens-lab truth`, but for --jobs and --seeds."""
    command.add_argument("--only", type=tables_named, metavar="TABLES", help=f"some of {','.join(TABLE_NAMES)}")
    command.add_argument(
        "--scenario", action="append", choices=[each.name for each in SCENARIOS], metavar="NAME",
        help="only this scenario (repeatable); leaves order and p99 out unless --only names them",
    )  # fmt: skip
    command.add_argument(
        "--logs", action="append", type=Path, default=[], metavar="DIR",
        help="also judge another stack's logs: a folder with truth.jsonl (repeatable)",
    )  # fmt: skip
    command.add_argument(
        "--logs-only", action="store_true", help="simulate no runs of the lab's own, judge only --logs and --stacks"
    )
    command.add_argument(
        "--stacks", choices=(DEVELOPMENT, FINAL_CHECK),
        help="also run every stack, controller and script of truth/stacks.toml that is for development, or all: "
        "the final check too",
    )  # fmt: skip
    command.add_argument("--stack-seeds", type=int, default=STACK_SEEDS, metavar="N", help="seeds of each of them")
    command.add_argument(
        "--stack", action="append", choices=sorted(split().controllers), default=[], help="of --stacks only this one"
    )
    command.add_argument(
        "--script", action="append", choices=list(SCRIPTS), default=[], help="of --stacks only this kind of path"
    )
    command.add_argument(
        "--resume", type=Path, metavar="DIR", help="keep judged runs there, and take up those of a run that was ended"
    )
    command.add_argument("--worst", type=int, default=0, metavar="N", help="list the N worst runs of each table")
    command.add_argument("--out", type=Path, metavar="DIR", help="write truth.json and truth.md there")
    command.add_argument("--keep", action="store_true", help="write them to lab/truth-runs/<date>-<machine>")
    command.add_argument(
        "--errors", type=Path, nargs="?", const=ERRORS, metavar="FILE",
        help="write how far true savings lie from predicted ones (default lab/truth-runs/saves_errors.toml)",
    )  # fmt: skip
