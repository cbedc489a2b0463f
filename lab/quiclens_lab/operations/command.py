"""`quiclens-lab operations`: what an edge logs beside its connections, with what is planted in it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from quiclens_lab.demo import ACCESS_LOG, OPERATIONS_FOLDER
from quiclens_lab.errors import LabError
from quiclens_lab.operations.logs import MadeScenario
from quiclens_lab.operations.misrouting import misrouting
from quiclens_lab.operations.racing import racing
from quiclens_lab.operations.restarts import restarts
from quiclens_lab.scenario_plans import WALL_START_US

OPERATIONS: dict[str, Callable[[int], MadeScenario]] = {"misroute": misrouting, "restart": restarts, "racing": racing}


def operations(folder: Path, name: str, seed: int) -> dict[str, Any]:
    """Write one scenario into a folder that has none yet; the document of the command."""
    if folder.exists() and any(folder.iterdir()):
        raise LabError(f"{folder} has files in it already; choose another, or remove them")
    folder.mkdir(parents=True, exist_ok=True)
    return {"scenario": name, **OPERATIONS[name](seed).write(folder, ACCESS_LOG)}


def operations_of_demo(folder: Path, seed: int) -> int:
    """Write the logs of all scenarios beside the demo's, in the demo's hour; how many files there are. Lines are the
    demo's own."""
    made = [scenario(seed) for scenario in OPERATIONS.values()]
    for each in made:
        each.write_logs(folder / OPERATIONS_FOLDER, WALL_START_US)
    return sum(len(each.logs) for each in made)
