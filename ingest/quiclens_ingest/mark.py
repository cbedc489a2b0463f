"""What a store held at one moment, so that what was stored later can be told."""

import json
from dataclasses import dataclass

from quiclens_schema.store import Store

from quiclens_ingest.scratch import sql

_Runs = tuple[tuple[str, int, int], ...]
_SOURCES = ("connections", "streams", "connection_aliases", "request_lines")


@dataclass(frozen=True, slots=True)
class Mark:
    """What the store held at one moment: of each table that link reads, its partitions and their runs of blocks.

    An insert is a block, numbered within its table; each row keeps the number of its block when parts are merged.
    """

    known: tuple[tuple[str, _Runs], ...]

    def parameters(self) -> dict[str, list[tuple[str, int, int]]]:
        return {f"{table}_known": list(runs) for table, runs in self.known}

    def common(self, other: "Mark") -> "Mark":
        """What the store held at both moments."""
        theirs = dict(other.known)
        return Mark(tuple((table, _common(runs, theirs.get(table, ()))) for table, runs in self.known))

    def text(self) -> str:
        return json.dumps(self.known)

    @staticmethod
    def of(text: str) -> "Mark":
        """The mark that `text` wrote; ValueError for anything else."""
        try:
            return Mark(
                tuple((table, tuple((str(p), int(a), int(b)) for p, a, b in runs)) for table, runs in json.loads(text))
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"not a mark: {text[:80]}") from error


NOTHING = Mark(tuple((table, ()) for table in _SOURCES))
"""The mark of an empty store: everything came later."""


def mark(store: Store) -> Mark:
    """Remember what is stored, so that `link_since` can tell what came later."""
    found = store.query(sql("stored_blocks"), {"tables": list(_SOURCES)})
    runs: dict[str, list[tuple[str, int, int]]] = {table: [] for table in _SOURCES}
    for table, is_replicated, partition, first, last in found.rows:
        # Where one process numbers the blocks, a lower number never comes later: gaps were other partitions' blocks.
        _extend(runs[table], (partition, int(first), int(last)), is_gapless=not is_replicated)
    return Mark(tuple((table, tuple(runs[table])) for table in _SOURCES))


def _common(ours: _Runs, theirs: _Runs) -> _Runs:
    pairs = ((one, other) for one in ours for other in theirs if one[0] == other[0])
    both = ((one[0], max(one[1], other[1]), min(one[2], other[2])) for one, other in pairs)
    return tuple(run for run in both if run[1] <= run[2])


def _extend(runs: list[tuple[str, int, int]], part: tuple[str, int, int], *, is_gapless: bool) -> None:
    """Add a part, in order of partition and block, to the last run if it goes on from there."""
    partition, first, last = part
    if runs and runs[-1][0] == partition and (is_gapless or runs[-1][2] + 1 >= first):
        runs[-1] = (partition, runs[-1][1], max(last, runs[-1][2]))
    else:
        runs.append((partition, 0 if is_gapless else first, last))
