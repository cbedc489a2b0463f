"""Programs that are not ours: run to their end, with their last words where they fail."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from quiclens_lab.errors import LabError

_WORDS = 2000  # of what a failed program said, its last


def said_by(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    patience_s: float | None = None,
    given: str = "",
) -> str:
    """What a program says, on both its outputs, when it is given this; `environment` is added to ours. LabError where
    it fails, or has not ended after `patience_s`."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            input=given.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=patience_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise LabError(f"{name} does not end: {(error.output or b'')[-_WORDS:]!r}") from error
    said = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        raise LabError(f"{name} failed: {said.strip()[-_WORDS:] or f'exit code {done.returncode}'}")
    return said


def metrics_address(said: str) -> str | None:
    """Where a collector or ingest serves its metrics, by its log; None until it says so."""
    found = re.search(r"metrics are served.*?(127\.0\.0\.1:\d+)", said)
    return found[1] if found else None
