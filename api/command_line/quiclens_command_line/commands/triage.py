"""quiclens triage"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from quiclens_schema.store import DEFAULT_URL

from quiclens_command_line.commands.options import AsJson, Since, StoreUrl, Until, WhereTexts
from quiclens_command_line.output import answer, print_text
from quiclens_command_line.show.triage import triage_view
from quiclens_questions import where as conditions
from quiclens_questions.documents import TriageDocument
from quiclens_questions.failure import DONE, NOTHING_FOUND, usage
from quiclens_questions.moment import moment
from quiclens_questions.opening import opened
from quiclens_questions.slow import newest
from quiclens_questions.triage import Triage
from quiclens_questions.triage import triage as ask_triage
from quiclens_questions.triage_words import ticket, who

_EVERY_S = 60
_A_DAY = timedelta(days=1)


def triage(
    since: Since = "",
    until: Until = "",
    where: WhereTexts = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on: ask each minute, and tell what is new.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a ticket.")] = False,
    address: Annotated[
        str, typer.Option("--address", metavar="URL", help="Of your pages, for the links of a ticket.")
    ] = "",
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Find what has become worse: who, since when, how many, and what of.

    Compares the requests of the stretch with those of the day before it, by carrier, place, server, release, stack,
    path and more, alone and together, and tells the description that explains most, if chance does not. Requests are
    slow that take longer than nine in ten of their kind (protocol, carrier, path). Without --since and --until the
    stretch is the day that ends with the newest request. Exit code 1 where nothing is found.

    Examples:

    \b
    quiclens triage
    quiclens triage --since 2h --where cluster=edge-eu
    quiclens triage --follow
    quiclens triage --markdown --address https://quiclens.example > ticket.md
    """
    if follow and until:
        raise usage("--follow goes on, and --until ends", "leave one of them out")
    known: list[tuple[str, datetime]] = []
    while True:
        now = datetime.now(UTC)
        with opened(store) as data:
            ends = moment(until, now) if until else now if since or follow else newest(data) or now
            begins = moment(since, now) if since else ends - _A_DAY
            if begins >= ends:
                raise usage("--since is not before --until", "an earlier --since")
            found = ask_triage(data, Triage(begins, ends, conditions.read(where or [], now)))
        told = _new(found, known) if follow else found
        if told["findings"] or not follow:
            if markdown:
                print_text("\n".join(ticket(told, address.rstrip("/"))) + "\n")
            else:
                answer(as_json, told, *triage_view(told))
        if not follow:
            return DONE if found["findings"] else NOTHING_FOUND
        time.sleep(_EVERY_S)


def _new(found: TriageDocument, known: list[tuple[str, datetime]]) -> TriageDocument:
    """Without what was told before: the same description, since about the same moment."""
    new = [each for each in found["findings"] if not _is_known(who(each["conditions"]), each["since"], known)]
    known += [(who(each["conditions"]), each["since"]) for each in new]
    return {**found, "findings": new}


def _is_known(name: str, since: datetime, known: Sequence[tuple[str, datetime]]) -> bool:
    return any(name == each and abs(since - at) < timedelta(hours=1) for each, at in known)
