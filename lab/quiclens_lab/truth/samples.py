"""The plain values of the truth run: what was simulated, and what the collector made of it."""

from dataclasses import dataclass

from quiclens_schema.catalogue import CAUSES

from quiclens_lab.path import CONSTANT, SCRIPTS, PathFacts, Window
from quiclens_lab.plan import ConnectionPlan

LATE_TIMERS = "late-timers"
WITHOUT_TAG = "without-tag"


@dataclass(frozen=True)
class Sample:
    """One run: what was injected into which stream, and in whose trace it should show.

    `group` says which comparison it belongs to (scenario, three, population); `variant` is with or without the cause.
    """

    group: str
    stack: str
    scenario: str
    cause: str
    vantage: str
    seed: int
    variant: str
    stream_id: int
    controller: str = ""
    """Who decides how much may be in flight, where a stack has several."""
    script: str = ""
    """What the path does beside its rate and delay."""
    condition: str = ""
    """What the machine and the log's writer are like, where it is not as usual: LATE_TIMERS, WITHOUT_TAG, or both with
    a space between."""
    path: PathFacts | None = None
    """What the path did, where who simulated it says so."""

    @property
    def pair(self) -> tuple[str, str]:
        """The stack and its controller."""
        return (self.stack, self.controller)

    @property
    def dark(self) -> Window | None:
        """When the script lets nothing pass."""
        return SCRIPTS[self.script or CONSTANT].dark


@dataclass(frozen=True)
class Job:
    """A sample that is still to be simulated."""

    sample: Sample
    plan: ConnectionPlan


@dataclass(frozen=True)
class Row:
    """What quiclens says about one request of one trace."""

    connection_id: str
    vantage: str
    stream_id: int
    start_us: int
    end_us: int
    duration_us: int
    is_complete: bool
    min_rtt_us: int | None
    parts: dict[str, int]
    saves: dict[str, int]
    named: tuple[str, ...] = ()
    """The causes that the answer names, where it may name several; empty where it names the top one."""

    @property
    def top(self) -> str:
        """The largest part; of equal ones the first of the vocabulary."""
        return max(CAUSES, key=lambda cause: self.parts[cause])


@dataclass(frozen=True)
class Judged:
    """A run with every row of its traces; `marked_us` is the duration by the simulation's own marks."""

    sample: Sample
    rows: tuple[Row, ...]
    marked_us: int | None = None

    @property
    def row(self) -> Row | None:
        """The target's row in the trace of the vantage that is judged."""
        return self.row_of(self.sample.vantage)

    def row_of(self, vantage: str) -> Row | None:
        """The target's row in the trace of this vantage."""
        wanted = (vantage, self.sample.stream_id)
        return next((row for row in self.rows if (row.vantage, row.stream_id) == wanted), None)
