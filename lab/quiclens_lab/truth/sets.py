"""Table of sets: how many causes do answers name, and is the injected one among them?

An answer may name two causes where the log cannot tell them apart. The collector has no column for it yet
(`NAMED` of collector.py): until it has, `naming` is 0 and every answer is its top part.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from quiclens_lab.truth.injection import injected
from quiclens_lab.truth.quantiles import share_of
from quiclens_lab.truth.samples import Judged


def sets_table(judged: Sequence[Judged]) -> dict[str, Any]:
    """By the number of causes that an answer names: how many runs, and in how many the injected one is named."""
    runs = [each for each in injected(judged) if each.row is not None]
    sizes = sorted({len(named(each)) for each in runs})
    stacks = sorted({each.sample.stack for each in runs})
    pairs = Counter(" or ".join(sorted(named(each))) for each in runs if len(named(each)) > 1)
    return {
        "runs": len(runs),
        "naming": sum(bool(each.row and each.row.named) for each in runs),
        "sizes": {str(size): _figures([each for each in runs if len(named(each)) == size]) for size in sizes},
        "pairs": dict(pairs.most_common(20)),
        "stacks": {stack: _several([each for each in runs if each.sample.stack == stack]) for stack in stacks},
    }


def named(each: Judged) -> tuple[str, ...]:
    """The causes that the answer names: the top part where it names no set."""
    row = each.row
    return () if row is None else row.named or (row.top,)


def _figures(runs: Sequence[Judged]) -> dict[str, Any]:
    hits = sum(each.sample.cause in named(each) for each in runs)
    return {"runs": len(runs), "share_with_the_injected": share_of(hits, len(runs))}


def _several(runs: Sequence[Judged]) -> dict[str, Any]:
    several = sum(len(named(each)) > 1 for each in runs)
    return {"runs": len(runs), "share_with_several": share_of(several, len(runs))}
