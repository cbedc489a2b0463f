"""quiclens report"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from quiclens_schema.store import DEFAULT_URL
from rich.console import RenderableType

from quiclens_command_line.commands.options import AsJson, Since, StoreUrl, Until, WhereTexts
from quiclens_command_line.completing import offered_causes, offered_columns, offered_groups, offered_reports
from quiclens_command_line.output import answer, print_text, say
from quiclens_command_line.show.reports_of_connections import events_view, figures_view, rtt_view
from quiclens_command_line.show.reports_of_operations import closes_view, misrouted_view, restarts_view
from quiclens_command_line.show.reports_of_requests import compare_view, table_view
from quiclens_command_line.show.slow import groups_line
from quiclens_command_line.show.tail import tail_view
from quiclens_command_line.show.written import comma_separated, markdown
from quiclens_questions.failure import DONE, NOTHING_FOUND, CannotRun, usage
from quiclens_questions.opening import opened
from quiclens_questions.picture import picture
from quiclens_questions.report import Report, ReportQuestion
from quiclens_questions.report_words import document_in_words
from quiclens_questions.reports import REPORTS, Options, asked_of
from quiclens_questions.window import time_window

View = Callable[[Report, ReportQuestion], Iterator[RenderableType]]
VIEWS: Mapping[str, View] = {
    "tail": tail_view,
    "compare": compare_view,
    "rtt": rtt_view,
    "loss": figures_view,
    "handshake": figures_view,
    "goodput": figures_view,
    "coverage": table_view,
    "use-rate": table_view,
    "grid": table_view,
    "load": table_view,
    "events": events_view,
    "closes": closes_view,
    "misrouted": misrouted_view,
    "restarts": restarts_view,
    "races": figures_view,
}


class Format(StrEnum):
    table = "table"
    markdown = "markdown"
    csv = "csv"


Bys = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="COLUMN",
        help="One row per value of this column; repeat, or a,b, for combinations.",
        autocompletion=offered_groups,
    ),
]
Without = Annotated[
    str,
    typer.Option(
        "--without",
        metavar="CAUSE",
        help="tail: also predict the quantiles had this cause been absent.",
        autocompletion=offered_causes,
    ),
]
Between = Annotated[
    str,
    typer.Option(
        "--between",
        metavar="COLUMN",
        help="compare: whose values are the arms; arm if not said.",
        autocompletion=offered_columns,
    ),
]
Base = Annotated[
    str,
    typer.Option("--base", metavar="VALUE", help="compare: the arm to compare with; the largest if not said."),
]
Later = Annotated[
    int | None,
    typer.Option("--later", min=0, metavar="N", help="compare: later requests are not the first N of a session; 1."),
]
Split = Annotated[
    str,
    typer.Option(
        "--split",
        metavar="ARM=SHARE,…",
        help="compare: which share of the users each arm was meant to have, such as quic=50,tcp=50; all the same if "
        "not said. It warns where chance does not explain how many came.",
    ),
]
Of = Annotated[
    str,
    typer.Option("--of", metavar="WHAT", help="rtt: requests, also over TCP as logged; connections if not said."),
]
TimeZone = Annotated[
    str,
    typer.Option(
        "--time-zone",
        metavar="NAME",
        help="rtt, loss, handshake, goodput, events, closes: whose hours and weekdays --by hour and --by weekday are, "
        "such as Asia/Kolkata; UTC if not said.",
    ),
]
As = Annotated[Format, typer.Option("--format", help="How to write it; --json is the whole document.")]
Picture = Annotated[Path | None, typer.Option("--picture", metavar="FILE.svg", help="Also draw it into this file.")]


def report(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"{', '.join(REPORTS)}.", autocompletion=offered_reports)],
    by: Bys = None,
    where: WhereTexts = None,
    since: Since = "",
    until: Until = "",
    without: Without = "",
    between: Between = "",
    base: Base = "",
    later: Later = None,
    split: Split = "",
    of: Of = "",
    time_zone: TimeZone = "",
    form: As = Format.table,
    draw: Picture = None,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Quantiles and shares of many requests, each with its number of samples and a 95 % interval.

    tail: how long requests took, p50 to p99.
    compare: arms of an experiment, quantile by quantile, overall and in strata that cut biases out; their round trips
    stand beside, since arms with other paths differ for other reasons, and how much of them went over QUIC. It warns
    where more users came to an arm than chance explains.
    rtt: round trip times of traced connections, and how much they vary within one; --of requests, one of each
    request, by trace or as its server's TCP had it, so that --by protocol is QUIC beside TCP.
    loss: how often packets are lost, of all and in lossy connections, how they are found lost, how long until sent
    again.
    handshake: how long it takes, what is lost in it as servers and as clients saw it, 0-RTT. A server cannot see a
    client's packet that never arrived: only traces of clients tell.
    goodput: what connections deliver while they have something to send, what holds them then, idle time, outages.
    These, closes and events can be asked --by hour and --by weekday too.
    coverage: sessions that used QUIC for everything, for some, for nothing. use-rate: requests over QUIC.
    grid: durations by implementation, round trip and loss. load: requests and new connections a second.
    events: sums and means of events, weighted where collectors kept the events of a share of the connections.
    closes: how connections ended, by reason, code and who closed; idle timeouts, stateless resets, errors.
    misrouted: packets on the wrong host, by cluster; --by cluster,server. restarts: packets forwarded, lost and dropped
    around each restart of a server; --by since_start. Both count what hosts logged, and have no interval.
    races: QUIC against TCP and IPv6 against IPv4, as apps logged them, with errors by value; intervals by app.

    Two intervals, never mixed. sampling: other requests of the same kind would have given another quantile.
    prediction (--without): how far predicted savings were from true ones where the lab ran requests again without the
    cause, as if all of them erred to the same side. Requests of one user are alike, so intervals are by user, where
    one is known, else by connection; a request that stands for others, since only some were traced, counts as many.
    Requests that were reset or answered with 5xx are failed, and no samples of a tail.

    Examples:

    \b
    quiclens report tail --by carrier --by region --since 2d
    quiclens report tail --without loss_recovery
    quiclens report compare --base tcp --picture compare.svg
    quiclens report compare --between protocol --where region=south
    quiclens report rtt --by carrier --format markdown
    quiclens report rtt --of requests --by protocol
    quiclens report loss --by hour --where country=IN --time-zone Asia/Kolkata
    quiclens report handshake --by carrier
    quiclens report goodput --by network_type
    quiclens report use-rate --by carrier --since 7d
    quiclens report events --by carrier
    quiclens report closes --by cluster
    quiclens report misrouted --by cluster,server
    quiclens report restarts --by since_start
    quiclens report races --by carrier
    """
    if name not in REPORTS:
        raise usage(f"there is no report {name!r}", f"reports are {', '.join(REPORTS)}")
    now = datetime.now(UTC)
    window = time_window(since, until, now)
    ends = (window.since, window.until)
    words = [word for text in by or [] for word in text.split(",")]
    asked = asked_of(name, words, where or [], ends, Options(without, between, base, later, of, time_zone, split), now)
    with opened(store) as data:
        found = REPORTS[name].answer(data, asked)
    left_out = groups_line(found.groups, found.groups_shown)
    if form is Format.table or as_json:
        answer(as_json, document_in_words(found), *VIEWS[name](found, asked), *([left_out] if left_out else []))
    else:
        print_text(markdown(found) if form is Format.markdown else comma_separated(found))
        if form is Format.csv:
            for warning in found.warnings:
                say(warning["text"])
            if left_out:
                say(left_out.plain)
    if draw:
        _draw(found, draw)
    return DONE if found.rows else NOTHING_FOUND


def _draw(found: Report, path: Path) -> None:
    drawn = picture(found)
    if drawn is None:
        say(f"nothing to draw, {path} was not written")
        return
    try:
        path.write_text(drawn, encoding="utf-8")
    except OSError as error:
        raise CannotRun("cannot_write", f"cannot write {path}: {error.strerror}", "choose another --picture") from error
    say(f"drawn into {path}")
