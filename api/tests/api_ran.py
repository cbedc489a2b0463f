"""What one command left behind, as tests look at it."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import StringIO
from typing import Any

from rich.console import Console, RenderableType


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


def printed(view: Iterable[RenderableType]) -> str:
    """What a terminal of 160 columns shows."""
    out = StringIO()
    console = Console(file=out, width=160)
    for part in view:
        console.print(part)
    return out.getvalue()
