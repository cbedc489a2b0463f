"""`quiclens-lab operations`: what an edge logs beside its connections, with what is planted in it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from quiclens_lab.demo import ACCESS_LOG
from quiclens_lab.errors import LabError
from quiclens_lab.operations.logs import MadeScenario
from quiclens_lab.operations.misrouting import misrouting
from quiclens_lab.operations.racing import racing
from quiclens_lab.operations.restarts import restarts

OPERATIONS: dict[str, Callable[[int], MadeScenario]] = {"misroute": misrouting, "restart": restarts, "racing": racing}


def operations(folder: Path, name: str, seed: int) -> dict[str, Any]:
    """Write one scenario into a folder that has none yet; the document of the command."""
    if folder.exists() and any(folder.iterdir()):
        raise LabError(f"{folder} has files in it already; choose another, or remove them")
    folder.mkdir(parents=True, exist_ok=True)
    return {"scenario": name, **OPERATIONS[name](seed).write(folder, ACCESS_LOG)}
