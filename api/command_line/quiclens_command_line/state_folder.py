"""What a collector on this machine still has on disk: its spool, its outbox and its checkpoints, by size.

They are its own formats, and partly compressed, so nothing is looked for in them: what of an erased thing comes out of
them is dropped where it arrives.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from quiclens_questions.failure import CannotRun
from quiclens_questions.units import size


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes of a collector's `state_dir`."""

    folder: str
    spool_bytes: int
    outbox_bytes: int
    checkpoint_bytes: int

    def told(self) -> str:
        waits = f"{size(self.spool_bytes)} in the spool and {size(self.outbox_bytes)} in the outbox"
        rest = "they go when the sink has taken them, a connection's checkpoint when it is over"
        return f"{self.folder}: {waits}, checkpoints {size(self.checkpoint_bytes)}; {rest}"

    def document(self) -> dict[str, Any]:
        return asdict(self)


def held_in(folder: Path) -> Held:
    """CannotRun when it is no folder."""
    if not folder.is_dir():
        raise CannotRun("unreadable", f"{folder} is no folder", "name the state_dir of a collector's configuration")
    spool, outbox = _bytes(folder / "spool"), _bytes(folder / "outbox")
    return Held(str(folder), spool, outbox, _bytes(folder) - spool - outbox)


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
