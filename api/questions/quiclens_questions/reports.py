"""Every report by its name: what it answers, of which columns it can be asked, and which options it takes.

How a terminal shows each: `VIEWS` of quiclens_command_line/commands/report.py.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from quiclens_schema.catalogue import Column
from quiclens_schema.store import Store

from quiclens_questions.closes import closes
from quiclens_questions.compare import compare
from quiclens_questions.connections import begun_columns, client_columns, connection_columns, time_zone
from quiclens_questions.coverage import coverage
from quiclens_questions.events import events
from quiclens_questions.failure import usage
from quiclens_questions.goodput import goodput
from quiclens_questions.grid import grid
from quiclens_questions.handshake import handshake
from quiclens_questions.hosts import host_columns, place_columns, restart_columns, restarted_columns
from quiclens_questions.load import load
from quiclens_questions.loss import loss
from quiclens_questions.misrouted import misrouted
from quiclens_questions.races import races
from quiclens_questions.report import Report, ReportQuestion
from quiclens_questions.restarts import restarts
from quiclens_questions.rtt import rtt
from quiclens_questions.savings import removable
from quiclens_questions.split import Planned
from quiclens_questions.tail import tail
from quiclens_questions.use_rate import use_rate
from quiclens_questions.where import by_column, read, request_columns

BY_AT_MOST = 4


@dataclass(frozen=True)
class ReportKind:
    """One report. `takes` are the options that only some reports know; `of`, of what it can be asked, and by what. One
    that takes a time zone can be asked by when connections began, too."""

    answer: Callable[[Store, ReportQuestion], Report]
    columns: Callable[[], dict[str, Column]]
    about: str
    takes: frozenset[str] = frozenset()
    of: Mapping[str, Callable[[], dict[str, Column]]] = field(default_factory=dict)
    groups: Callable[[], dict[str, Column]] | None = None

    def columns_of(self, of: str) -> dict[str, Column]:
        """Of what else it can be asked, it can be by that one's columns."""
        if of and of not in self.of:
            raise usage(f"there is no report of {of!r}", f"of is {', '.join(self.of)}")
        return self.of[of]() if of else self.columns()

    def groups_of(self, of: str = "") -> dict[str, Column]:
        """What --by may name."""
        if self.groups:
            return self.groups()
        begun = begun_columns() if "time_zone" in self.takes and of in ("", "connections") else {}
        return self.columns_of(of) | begun


REPORTS: Mapping[str, ReportKind] = {
    "tail": ReportKind(tail, request_columns, "how long requests took, p50 to p99", frozenset({"without"})),
    "compare": ReportKind(
        compare,
        request_columns,
        "arms of an experiment against each other, biases cut out",
        frozenset({"between", "base", "later", "split"}),
    ),
    "rtt": ReportKind(
        rtt,
        connection_columns,
        "round trip times",
        frozenset({"of", "time_zone"}),
        {"connections": connection_columns, "requests": request_columns},
    ),
    "loss": ReportKind(
        loss, connection_columns, "how often packets are lost, how long repairs take", frozenset({"time_zone"})
    ),
    "handshake": ReportKind(
        handshake, connection_columns, "how long handshakes take, what is lost in them, 0-RTT", frozenset({"time_zone"})
    ),
    "goodput": ReportKind(
        goodput, connection_columns, "what connections deliver, idle time, outages", frozenset({"time_zone"})
    ),
    "closes": ReportKind(
        closes,
        connection_columns,
        "how connections ended: reasons, codes, who closed; idle timeouts, resets, errors",
        frozenset({"time_zone"}),
    ),
    "coverage": ReportKind(coverage, request_columns, "sessions that used QUIC for everything, for some, for nothing"),
    "use-rate": ReportKind(use_rate, request_columns, "which share of requests goes over QUIC, and for whom none does"),
    "grid": ReportKind(grid, request_columns, "durations by implementation, round trip and loss"),
    "load": ReportKind(load, connection_columns, "requests a second by size of response, new connections a second"),
    "events": ReportKind(
        events,
        connection_columns,
        "sums and means of events, weighted where only some were kept",
        frozenset({"time_zone"}),
    ),
    "misrouted": ReportKind(
        misrouted,
        host_columns,
        "packets on the wrong host: where they landed, whom they were for",
        groups=place_columns,
    ),
    "restarts": ReportKind(
        restarts,
        restarted_columns,
        "packets around restarts of servers: forwarded, lost, dropped",
        groups=restart_columns,
    ),
    "races": ReportKind(
        races, client_columns, "QUIC against TCP and IPv6 against IPv4 in apps: outcomes, errors by value"
    ),
}


@dataclass(frozen=True)
class Options:
    """What only some reports know; empty or None where it was not given."""

    without: str = ""
    between: str = ""
    base: str = ""
    later: int | None = None
    of: str = ""
    time_zone: str = ""
    split: str = ""

    def given(self) -> set[str]:
        return {name for name, value in vars(self).items() if value not in ("", None)}


def asked_of(
    name: str,
    by: Sequence[str],
    where: Sequence[str],
    window: tuple[datetime | None, datetime | None],
    options: Options,
    now: datetime,
) -> ReportQuestion:
    """What was asked, checked; a usage mistake names the report that takes an option which this one does not."""
    kind = REPORTS[name]
    for wrong in sorted(options.given() - kind.takes):
        right = ", ".join(other for other, each in REPORTS.items() if wrong in each.takes)
        option = wrong.replace("_", "-")
        raise usage(f"--{option} is for report {right}, not {name}", f"quiclens report {right} --{option} …")
    columns = kind.columns_of(options.of)
    if options.time_zone and options.of == "requests":
        raise usage("--time-zone is of connections", "leave --of or --time-zone out")
    groups = kind.groups_of(options.of)
    known = tuple(dict.fromkeys(by_column(each, groups) for each in by))
    if len(known) > BY_AT_MOST:
        raise usage(f"by names more than {BY_AT_MOST} columns", "fewer of them")
    return ReportQuestion(
        by=known,
        where=read(where, now, columns),
        texts=tuple(where),
        since=window[0],
        until=window[1],
        without=removable(options.without) if options.without else "",
        between=by_column(options.between or "arm", columns) if "between" in kind.takes else "arm",
        base=options.base,
        later=1 if options.later is None else options.later,
        split=Planned.read(options.split),
        of=options.of,
        time_zone=time_zone(options.time_zone),
    )
