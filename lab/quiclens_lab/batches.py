"""Work on many batches in several processes."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def mapped(work: Callable[[Sequence[T]], R], batches: Sequence[Sequence[T]], processes: int) -> Iterator[R]:
    """What `work` gives for each batch, in their order; with one process, or one batch, in this one."""
    if processes <= 1 or len(batches) < 2:
        yield from map(work, batches)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(work, batches)
