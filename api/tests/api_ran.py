"""What one command left behind, as tests look at it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Ran:
    """What one command left: its exit code and both streams."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Standard output as the one JSON document it must be."""
        assert self.out.endswith("\n") and self.out.count("\n") == 1
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document


Run = Callable[..., Ran]
