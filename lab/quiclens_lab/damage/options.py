"""What can be asked of `quiclens-lab damage`."""

import argparse
from pathlib import Path

from quiclens_lab.damage.damages import DAMAGES

FLIPPED_BITS = "flipped-bits"
NAMES = (*(damage.name for damage in DAMAGES), FLIPPED_BITS)
SEEDS = 10
COPIES = 1000


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of the command, but for --jobs."""
    command.add_argument(
        "--logs", action="append", type=Path, default=[], metavar="DIR",
        help="whole logs: a folder with truth.jsonl, or of one stack, which is named like the folder (repeatable)",
    )  # fmt: skip
    command.add_argument("--logs-only", action="store_true", help="simulate nothing, flip no bits, judge only --logs")
    command.add_argument("--seeds", type=int, default=SEEDS, help="of each of aioquic's scenarios, simulated here")
    command.add_argument("--limit", type=int, default=0, metavar="N", help="of each folder; 0: all")
    command.add_argument("--stack", action="append", default=[], metavar="NAME", help="only this stack's (repeatable)")
    command.add_argument(
        "--damage", action="append", default=[], choices=NAMES, metavar="NAME",
        help=f"only this one (repeatable): {', '.join(name.replace('%', '%%') for name in NAMES)}",
    )  # fmt: skip
    command.add_argument("--collector", type=Path, metavar="FILE", help="that judges; else the built one")
    command.add_argument("--worst", type=int, default=0, metavar="N", help="list N wrong top causes of each damage")
    command.add_argument("--copies-into", type=Path, metavar="DIR", help="keep the damaged logs there")
    command.add_argument("--folder", type=Path, metavar="DIR", help="for flipped bits; else ../shared/traces, or cases")
    command.add_argument("--copies", type=int, default=COPIES, help="of documents, with flipped bits")
    command.add_argument("--seed", type=int, default=1)
    command.add_argument(
        "--keep", action="store_true", help="also write it to lab/damage-runs; goes on where a run was ended"
    )
