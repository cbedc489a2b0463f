"""What the turns of one server come to: medians with ranges, quantiles with intervals, and the table of them. Pure."""

import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from quiclens_lab.logging_cost.measured import MeasuredTurn

_RESAMPLES = 500
_SEED = 1


@dataclass(frozen=True, slots=True)
class Figure:
    """A value and what it lies between: over the rounds, or in 95 % of resamples."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{_short(self.value)} ({_short(self.low)} to {_short(self.high)})"


@dataclass(frozen=True, slots=True)
class Setting:
    """What one share costs. Figures of a request but for the share, the rounds and the connections."""

    share: float
    rounds: int
    connections: int  # of a round
    logged: int  # of these
    cpu_s_per_1000: Figure
    cpu_against_off: Figure  # by round: 1.2 is a fifth more
    requests_per_s: Figure
    qlog_bytes: Figure
    qlog_zstd_bytes: Figure
    access_log_bytes: Figure
    p50_ms: Figure
    p99_ms: Figure
    client_cores: Figure  # how busy the client's own process was


def settings(rounds: Sequence[Sequence[MeasuredTurn]]) -> list[Setting]:
    """By share, of rounds that have the same shares; that without logs is first in each."""
    return [_setting([turns[at] for turns in rounds], [turns[0] for turns in rounds]) for at in range(len(rounds[0]))]


def _setting(turns: Sequence[MeasuredTurn], off: Sequence[MeasuredTurn]) -> Setting:
    def each(of: Callable[[MeasuredTurn], float]) -> Figure:
        return over_rounds([of(turn) for turn in turns])

    connections = [latencies for turn in turns for latencies in turn.loaded.latencies_us]
    return Setting(
        share=turns[0].share,
        rounds=len(turns),
        connections=len(turns[0].loaded.latencies_us),
        logged=turns[0].logged,
        cpu_s_per_1000=each(lambda turn: 1000 * turn.cpu_s / turn.requests),
        cpu_against_off=over_rounds([turn.cpu_s / none.cpu_s for turn, none in zip(turns, off, strict=True)]),
        requests_per_s=each(lambda turn: turn.requests / turn.loaded.seconds),
        qlog_bytes=each(lambda turn: turn.qlog_bytes / turn.requests),
        qlog_zstd_bytes=each(lambda turn: turn.qlog_zstd_bytes / turn.requests),
        access_log_bytes=each(lambda turn: turn.access_log_bytes / turn.requests),
        p50_ms=of_connections(connections, 0.50),
        p99_ms=of_connections(connections, 0.99),
        client_cores=each(lambda turn: turn.loaded.cpu_s / turn.loaded.seconds),
    )


def over_rounds(values: Sequence[float]) -> Figure:
    """The median, the least and the largest."""
    return Figure(*(round(value, 4) for value in (statistics.median(values), min(values), max(values))))


def of_connections(latencies_us: Sequence[Sequence[int]], share: float) -> Figure:
    """A quantile of all requests, in ms, and its 95 % bootstrap interval: requests of a connection are alike, so whole
    connections are drawn again."""
    drawing = random.Random(_SEED)
    drawn = sorted(
        quantile([each for one in drawing.choices(latencies_us, k=len(latencies_us)) for each in one], share)
        for _ in range(_RESAMPLES)
    )
    ends = drawn[int(0.025 * _RESAMPLES)], drawn[int(0.975 * _RESAMPLES)]
    value = quantile([each for one in latencies_us for each in one], share)
    return Figure(*(round(each / 1000, 3) for each in (value, *ends)))


def quantile(values: Sequence[int], share: float) -> int:
    """The least value that so many of all do not exceed."""
    return sorted(values)[math.ceil(len(values) * share) - 1]


HEAD = (
    "| server | share | CPU s a 1,000 requests | against off | bytes of qlog a request | as zstd | p50 ms | p99 ms |",
    "|---|---|---|---|---|---|---|---|",
)


def rows(name: str, share: float, found: Sequence[Setting]) -> list[str]:
    """Lines of a table in Markdown, one for each setting; a share that the server cannot log is said to be so."""
    lines = [_row(name, setting) for setting in found]
    if all(setting.share != share for setting in found):
        lines.insert(1, f"| {name} | {share:.0%} | cannot | | | | | |")
    return lines


def _row(name: str, found: Setting) -> str:
    cells = [name, "off" if found.share == 0 else f"{found.share:.0%}", str(found.cpu_s_per_1000)]
    cells.append("" if found.share == 0 else str(found.cpu_against_off))
    cells += [f"{found.qlog_bytes.value:,.0f}", f"{found.qlog_zstd_bytes.value:,.0f}"]
    return "| " + " | ".join([*cells, str(found.p50_ms), str(found.p99_ms)]) + " |"


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"
