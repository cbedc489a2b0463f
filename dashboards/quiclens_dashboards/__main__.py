"""`python -m quiclens_dashboards`: write the JSON of dashboards and alerts, or with --check say where it differs."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from quiclens_dashboards import (
    alerts,
    edge_operations,
    grid,
    hexagons,
    load,
    pipeline,
    tail_latency,
    transport_health,
    why_slow,
)

FOLDER = Path(__file__).resolve().parents[1] / "generated"
ALERTS = "alerts/quiclens.json"
_PAGES = (tail_latency, why_slow, transport_health, edge_operations, load, grid, hexagons, pipeline)


def generated() -> dict[str, str]:
    """The text of every dashboard by file name; the same bytes each time."""
    return {
        f"{module.__name__.rpartition('.')[2]}.json": json.dumps(
            module.page().build(), cls=JSONEncoder, indent=2, sort_keys=True, ensure_ascii=False
        )
        + "\n"
        for module in _PAGES
    }


def everything() -> dict[str, str]:
    """Those, and the alert rules."""
    return {**generated(), ALERTS: alerts.text()}


def different(folder: Path) -> list[str]:
    """Names of files that are not as they would be written, missing and superfluous ones too."""
    made = everything()
    there = {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in folder.rglob("*.json")}
    return sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))


def write(folder: Path) -> None:
    made = everything()
    for file in folder.rglob("*.json"):
        if str(file.relative_to(folder)) not in made:
            file.unlink()
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m quiclens_dashboards", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file would change")
    parser.add_argument("--to", type=Path, default=FOLDER, metavar="DIR", help="default: dashboards/generated")
    options = parser.parse_args(words)
    if not options.check:
        write(options.to)
        return 0
    names = different(options.to)
    if names:
        print(f"not as generated: {', '.join(names)}; run python -m quiclens_dashboards", file=sys.stderr)
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
