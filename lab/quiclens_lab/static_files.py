"""Files for servers that answer with what a folder has: `/<bytes>/0` of so many bytes, as the lab's clients ask."""

from collections.abc import Iterable
from pathlib import Path


def lay_out(folder: Path, sizes: Iterable[int]) -> None:
    """One file a size, in a new folder."""
    folder.mkdir(parents=True)
    for size in sizes:
        (folder / str(size)).mkdir()
        (folder / str(size) / "0").write_bytes(bytes(size))
