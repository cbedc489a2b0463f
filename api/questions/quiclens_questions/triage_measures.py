"""What `triage` counts: shares of requests, and of which. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quiclens_questions.statistics.changes import CountSeries

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Measure:
    """A share: of the requests for which `of` holds, those count for which `hit` holds too. All texts are SQL about a
    row of `Measures.requests`: a request counts for `weight`, and `squares` says of how many independent ones the sum
    is worth (Kish, "Survey Sampling", 11.7). Requests are as much alike in it as in the measure `like`."""

    name: str
    of: str
    hit: str
    like: str
    weight: str = "weight * stands_for"
    squares: str = "weight * weight * stands_for"


@dataclass(frozen=True)
class Measures:
    """Shares that are looked at together: of the rows of the query `requests`."""

    requests: str
    every: tuple[Measure, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.every)

    def __getitem__(self, name: str) -> Measure:
        return self.every[self.names.index(name)]

    @property
    def marks(self) -> Mapping[str, str]:
        """For a question whose row has these sums as arrays by measure."""
        return {
            "hits": ", ".join(f"toFloat64(sumIf({each.weight}, {each.of} AND {each.hit}))" for each in self.every),
            "of": ", ".join(f"toFloat64(sumIf({each.weight}, {each.of}))" for each in self.every),
            "squares": ", ".join(f"toFloat64(sumIf({each.squares}, {each.of}))" for each in self.every),
        }

    def series(self, rows: Sequence[Row], name: str) -> CountSeries:
        """A measure's sums of rows that are stretches of time, one after another."""
        place = self.names.index(name)
        return CountSeries(*([row[sums][place] for row in rows] for sums in ("hits", "of", "squares")))


FELT = Measures(
    "triage_requests",
    (
        Measure("slow", "is_measured", "is_slow", like="slow"),
        Measure("very_slow", "is_measured", "is_very_slow", like="slow"),
        Measure("extreme", "is_measured", "is_extreme", like="slow"),
        Measure("failed", "complete", "is_failed", like="failed"),
    ),
)
"""What users feel."""

_OF_TRACES = {"weight": "trace_weight", "squares": "trace_weight * trace_weight"}

ON_THE_WAY = Measures(
    "triage_ways",
    (
        Measure("handshake", "is_traced", "is_after_handshake", like="handshake", **_OF_TRACES),
        Measure("loss", "is_traced", "has_lost", like="loss", **_OF_TRACES),
        Measure("retransmission", "is_traced", "has_waited_for_repair", like="retransmission", **_OF_TRACES),
        Measure("not_quic", "has_protocol", "is_not_quic", like="not_quic", weight="weight", squares="weight * weight"),
    ),
)
"""What happens to requests on their way, whether or not users feel it."""
