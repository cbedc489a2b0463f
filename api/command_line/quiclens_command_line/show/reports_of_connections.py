"""Reports as tables: numbers with their unit and, where there is one, their interval."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from quiclens_command_line.show.slow import coverage_line, shown
from quiclens_command_line.show.tables import FittedTable, of_printable, titled
from quiclens_questions.goodput import LEAST_BYTES
from quiclens_questions.report import FEW_SAMPLES, Report, ReportQuestion
from quiclens_questions.rtt import DEVIATION, QUANTILES
from quiclens_questions.units import age

Row = Mapping[str, Any]

_FIGURES = {
    "connections_with_loss": "connections with loss",
    "of_those_in_handshake": "  of those, in the handshake",
    "of_those_in_data": "  of those, in data",
    "packets_lost": "packets lost",
    "packets_lost_in_lossy": "packets lost, of connections with loss",
    "packets_retransmitted": "packets that repeat data",
    "retransmission_delay": "delay until retransmission",
    "retransmission_delay_rtts": "  in round trips",
    "detection_delay": "delay until declared lost",
    "retransmissions": "retransmissions of one range",
    "losses_spurious": "declared lost, and arrived all the same",
    "connections_with_pto": "connections with a probe timeout",
    "ptos_spurious": "probe timeouts that were not needed",
    "detected_after_4_rtts": "declared lost after more than 4 RTT",
    "handshakes_complete": "handshakes that were completed",
    "handshake": "handshake",
    "handshake_rtts": "  in round trips",
    "connections_with_retry": "connections with a Retry",
    "with_loss_seen_by_server": "with loss, as servers saw it",
    "with_loss_seen_by_client": "with loss, as clients saw it",
    "with_loss_unseen_by_server": "  that the server did not see",
    "zero_rtt_attempted": "0-RTT attempted",
    "zero_rtt_accepted": "  of those, accepted",
    "zero_rtt_rejected": "  of those, rejected",
    "goodput": "goodput",
    "connections_with_request": "connections with a request",
    "time_idle": "  of their time, idle",
    "time_in_cwnd_blocked": "busy time with a full congestion window",
    "time_in_bandwidth": "busy time at the path's rate",
    "time_in_connection_flow_control": "busy time without flow-control credit",
    "time_in_recovery": "busy time in a recovery period",
    "time_in_pto": "busy time behind a probe timeout",
    "connections_with_outage": "connections with an outage",
    "outage": "outage, from the last send",
    "outage_recovery": "outage, from the first probe",
    "won_by_quic": "races won by QUIC",
    "quic_late": "QUIC was late",
    "quic_cancelled": "QUIC was cancelled",
    "quic_failed": "QUIC failed",
    "quic_failed_otherwise": "  with rarer errors",
    "quic": "QUIC took",
    "tcp": "TCP took",
    "tcp_delay": "QUIC's head start",
}
_OF_FAMILIES = {
    "ipv6": "ended on IPv6",
    "timer_fired": "timer fired, both families tried",
    "second_won": "the second family won",
    "added_mean": "added by the second, mean of all",
}
_TRIGGERS = {
    "inferred": "lost by what was sent again (inferred)",
    "pto": "found lost by probe timeout",
    "unknown": "found lost, the log does not say how",
}


@of_printable
def rtt_view(report: Report, asked: ReportQuestion) -> Iterator[RenderableType]:
    if not report.rows:
        yield from _nothing(report)
        return
    table = _table("Round trip times [95 % interval]", *asked.by)
    varies = [DEVIATION] if any(name == DEVIATION for name, _ in report.columns) else []
    names = [*(name for name, _ in QUANTILES), *varies]
    for name in (*names, "samples", "clusters"):
        rank = {"p75": 1, "samples": 2, "clusters": 3}.get(name, 0)
        table.add_column(name, justify="right", no_wrap=True, rank=rank)
    for row in report.dicts():
        quantiles = [with_interval(*(row[name + end] for end in ("", "_low", "_high")), unit="us") for name in names]
        group = [Text(shown(row[name])) for name in asked.by]
        table.add_row(*group, *quantiles, samples(row["samples"]), samples(row["clusters"]))
    yield table
    note = "intervals by user, else by connection; ? = too few to bound; few = below 30"
    yield from footer(report, f"deviation: of a connection's samples, on average; {note}" if varies else note)


@of_printable
def loss_view(report: Report, asked: ReportQuestion) -> Iterator[RenderableType]:
    yield from figures_view(report, asked, "Loss and repair")


@of_printable
def handshake_view(report: Report, asked: ReportQuestion) -> Iterator[RenderableType]:
    has_clients = any(row["figure"] == "with_loss_seen_by_client" and row["samples"] for row in report.dicts())
    unseen = "a server cannot see a client's packet that never arrived, and no trace of a client is here to tell"
    yield from figures_view(report, asked, "Handshakes", *([] if has_clients else [unseen]))


@of_printable
def goodput_view(report: Report, asked: ReportQuestion) -> Iterator[RenderableType]:
    notes = (
        f"goodput: stream bytes sent once, by the time that is not idle, of connections with {LEAST_BYTES // 1000} kB",
        "outage: nothing was acknowledged until after a probe timeout; shares of busy time can overlap",
    )
    yield from figures_view(report, asked, "Goodput, idle time and outages", *notes)


def figures_view(
    report: Report,
    asked: ReportQuestion,
    title: str,
    *notes: str,
    clusters: str = "user, else by connection",
    empty: str = "No connections match.",
) -> Iterator[RenderableType]:
    """A row for each figure; `clusters` are what is alike within itself."""
    if not report.rows:
        yield from _nothing(report, empty)
        return
    table = _table(f"{title} [95 % interval]", *asked.by, "figure")
    for name in ("value", "samples"):
        table.add_column(name, justify="right", no_wrap=True)
    # Quantiles of nothing are left out; the shares say that there is nothing.
    rows = [row for row in report.dicts() if row["samples"] or row["unit"] == "share"]
    for leading, row in in_sections(table, rows, group_of(asked)):
        value: str | Text = with_interval(row["value"], row["low"], row["high"], unit=row["unit"])
        if row["value"] is None and row["samples"]:
            value = Text("too few", style="yellow")
        table.add_row(*leading, _figure(row["figure"]), value, samples(row["samples"]))
    yield table
    yield from (Text(note, style="dim") for note in notes if report.samples)
    yield from footer(report, f"intervals: by {clusters}; ? = too few to bound; few = below 30")


@of_printable
def events_view(report: Report, asked: ReportQuestion) -> Iterator[RenderableType]:
    if not report.rows:
        yield from _nothing(report)
        return
    table = _table("Of all connections, by their events [95 % interval]", *asked.by, "figure")
    for name in ("value", "connections kept"):
        table.add_column(name, justify="right", no_wrap=True)
    for leading, row in in_sections(table, report.dicts(), group_of(asked)):
        if row["figure"].startswith("connections"):
            value = f"{row['value']:,}"
        else:
            value = with_interval(row["value"], row["low"], row["high"], unit=row["unit"])
        table.add_row(*leading, Text(row["figure"].replace("_", " ")), value, samples(row["samples"]))
    yield table
    reach = "connections out of reach could not have been kept, no figure speaks of them"
    yield from footer(report, f"kept connections weigh 1 / probability; ? = too few to bound; {reach}")


def group_of(asked: ReportQuestion) -> Callable[[Row], list[str]]:
    """A row's values of what was asked by."""
    return lambda row: [shown(row[name]) for name in asked.by]


def in_sections(
    table: Table, rows: Iterable[Row], group_of_row: Callable[[Row], list[str]]
) -> Iterator[tuple[list[Text], Row]]:
    """Each row with its group, which stands once, beside its first row; a section for each."""
    before: list[str] | None = None
    for row in rows:
        group = group_of_row(row)
        if before is not None and group != before:
            table.add_section()
        yield [Text(each if group != before else "") for each in group], row
        before = group


def _figure(figure: str) -> str:
    if figure.startswith("quic_failed_with_"):
        return f"  with {figure.removeprefix('quic_failed_with_')}"
    name, _, quantile = figure.rpartition("_p")
    if quantile.isdigit():
        return f"{_figure(name)}, p{quantile}"
    family, _, protocol = figure.partition("_of_")
    if family in _OF_FAMILIES:
        return f"{protocol}: {_OF_FAMILIES[family]}"
    if figure.startswith("detection_by_"):
        return "  declared lost after"
    if figure.startswith("lost_by_"):
        trigger = figure.removeprefix("lost_by_")
        return _TRIGGERS.get(trigger, f"found lost by {trigger.replace('_', ' ')}")
    return _FIGURES.get(figure, figure)


@of_printable
def plain_view(report: Report, title: str, empty: str) -> Iterator[RenderableType]:
    """Any report as it is: failed, status."""
    if not report.rows:
        yield Text(empty)
        return
    table = _table(title)
    told = [index for index in range(len(report.columns)) if any(row[index] not in (None, {}) for row in report.rows)]
    for index in told:
        is_number = any(isinstance(row[index], int | float) for row in report.rows)
        table.add_column(
            report.columns[index][0].removesuffix("_s").replace("_", " "), justify="right" if is_number else "left"
        )
    for row in report.rows:
        table.add_row(*(_cell(row[index], report.columns[index][1]) for index in told))
    yield table
    yield coverage_line(report.coverage)


def _table(title: str, *leading: str) -> FittedTable:
    table = titled(title)
    for name in leading:
        table.add_column(name, no_wrap=True)
    return table


def with_interval(value: float | None, low: float | None, high: float | None, *, unit: str) -> str:
    """A value and its interval in one unit, so that they compare at a glance."""
    if value is None:
        return "–"
    scale, digits, name = _scale(max(value, high or 0), unit)
    shown = [f"{each / scale:,.{digits}f}" if each is not None else "?" for each in (value, low, high)]
    return f"{shown[0]}{name} [{shown[1]} … {shown[2]}]"


def _scale(largest: float, unit: str) -> tuple[float, int, str]:
    if unit == "us":
        return (1e6, 2, " s") if largest >= 1e6 else (1e3, 0 if largest >= 1e5 else 1, " ms")
    if unit == "rtt":
        return 1, 2, " RTT"
    if unit == "bit/s":
        return (1e6, 0 if largest >= 1e8 else 1, " Mbit/s") if largest >= 1e6 else (1e3, 0, " kbit/s")
    if unit == "1/s":
        return 1, 0 if largest >= 100 else 2, "/s"
    return (0.01, 1, " %") if unit == "share" else (1, 0, "")


def samples(count: int) -> Text:
    return Text(f"{count:,}") if count >= FEW_SAMPLES else Text(f"{count:,} few", style="yellow")


def _cell(value: Any, unit: str) -> Text:
    if isinstance(value, datetime):
        return Text(f"{value:%Y-%m-%d %H:%M:%S}")
    if isinstance(value, dict):
        return Text(", ".join(f"{name} {count:,}" for name, count in value.items()) or "–")
    if isinstance(value, int):
        return Text(age(value) if unit == "s" else f"{value:,}")
    return Text("–" if value is None or value == "" else str(value))


def _nothing(report: Report, empty: str = "No connections match.") -> Iterator[RenderableType]:
    yield Text(empty)
    yield coverage_line(report.coverage)


def footer(report: Report, note: str) -> Iterator[RenderableType]:
    """What intervals are of, a warning where there is next to nothing, and how many requests it is drawn from."""
    yield Text(note, style="dim")
    if report.samples < FEW_SAMPLES:
        yield Text(f"too few samples ({report.samples}) to conclude anything", style="yellow")
    yield coverage_line(report.coverage)
