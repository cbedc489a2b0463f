"""quiclens triage"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from quiclens_schema.store import DEFAULT_URL, Store

from quiclens_command_line.commands.options import AsJson, AsTicket, PagesAddress, Since, StoreUrl, Until, WhereTexts
from quiclens_command_line.output import answer, print_text, say
from quiclens_command_line.posting import NotTold, post
from quiclens_command_line.show.triage import triage_view
from quiclens_questions import where as conditions
from quiclens_questions.documents import TriageDocument, TriageFinding
from quiclens_questions.failure import CANNOT_RUN, DONE, NOTHING_FOUND, usage
from quiclens_questions.given_secret import given_secret
from quiclens_questions.opening import opened
from quiclens_questions.slow import newest
from quiclens_questions.triage import Triage
from quiclens_questions.triage import triage as ask_triage
from quiclens_questions.triage_alerts import alerts, chat_message
from quiclens_questions.triage_words import ticket, who
from quiclens_questions.window import time_window

_EVERY_S = 60
_CHAT_WEBHOOK = "QUICLENS_CHAT_WEBHOOK"


def triage(
    since: Since = "",
    until: Until = "",
    where: WhereTexts = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on: ask each minute, and tell what is new.")] = False,
    markdown: AsTicket = False,
    address: PagesAddress = "",
    alertmanager: Annotated[
        str,
        typer.Option("--alertmanager", metavar="URL", help="Tell Prometheus' Alertmanager there what is found."),
    ] = "",
    chat: Annotated[
        bool,
        typer.Option("--chat", help="Tell a chat what is new, by the webhook in QUICLENS_CHAT_WEBHOOK or …_FILE."),
    ] = False,
    store: StoreUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> int:
    """Find what has become worse: who, since when, how many, and what of.

    Compares the requests of the stretch with those of the day before it, by carrier, place, server, release, stack,
    path and more, alone and together, and tells the description that explains most, if chance does not. Requests are
    slow that take longer than nine in ten of their kind (protocol, carrier, path). Without --since and --until the
    stretch is the day that ends with the newest request. Exit code 1 where nothing is found.

    With --follow, --alertmanager tells each finding every minute as long as it is there, --chat once; what could not be
    told is told again. Webhooks are those of Slack, Mattermost, Rocket.Chat and Google Chat.

    Examples:

    \b
    quiclens triage
    quiclens triage --since 2h --where cluster=edge-eu
    quiclens triage --follow
    quiclens triage --follow --alertmanager http://127.0.0.1:9093 --address https://quiclens.example
    quiclens triage --markdown --address https://quiclens.example > ticket.md
    """
    if follow and until:
        raise usage("--follow goes on, and --until ends", "leave one of them out")
    if markdown and as_json:
        raise usage("--markdown and --json are two forms of one answer", "leave one of them out")
    receivers = Receivers(alertmanager.rstrip("/"), _webhook() if chat else "", address.rstrip("/"))
    known: list[tuple[str, datetime]] = []
    while True:
        now = datetime.now(UTC)
        window = time_window(since, until, now)
        with opened(store) as data:
            if not (since or until or follow):
                window = replace(window, until=_after_newest(data))
            found = ask_triage(data, Triage(*window.closed(), conditions.read(where or [], now), tuple(where or [])))
        told = _new(found, known)
        if told["findings"] or not follow:
            if markdown:
                print_text("\n".join(ticket(told, address.rstrip("/"))) + "\n")
            else:
                answer(as_json, told, *triage_view(told))
        not_told = [receivers.tell_alertmanager(found)]
        for finding in told["findings"]:
            if reason := receivers.tell_chat(finding, told):
                not_told.append(reason)
                known.remove((who(finding["conditions"]), finding["since"]))  # it is new again
        for reason in filter(None, not_told):
            say(reason)
        if not follow:
            return CANNOT_RUN if any(not_told) else DONE if found["findings"] else NOTHING_FOUND
        time.sleep(_EVERY_S)


def _after_newest(data: Store) -> datetime | None:
    """So that the newest request is in the stretch."""
    last = newest(data)
    return last and last + timedelta(microseconds=1)


@dataclass(frozen=True)
class Receivers:
    """Who else is told; an empty address is nobody."""

    alertmanager: str
    chat: str
    address: str

    def tell_alertmanager(self, found: TriageDocument) -> str:
        """All that is found; returns why it was not told, else nothing."""
        if not self.alertmanager or not found["findings"]:
            return ""
        return _not_told("Alertmanager", f"{self.alertmanager}/api/v2/alerts", alerts(found, self.address))

    def tell_chat(self, finding: TriageFinding, found: TriageDocument) -> str:
        """One finding that is new; returns why it was not told, else nothing."""
        return _not_told("the chat", self.chat, chat_message(finding, found, self.address)) if self.chat else ""


def _not_told(name: str, address: str, document: object) -> str:
    try:
        post(address, document)
    except NotTold as reason:
        return f"{name} was not told: {reason}"
    return ""


def _webhook() -> str:
    address = given_secret(_CHAT_WEBHOOK)
    if not address:
        raise usage(
            f"--chat needs a webhook in {_CHAT_WEBHOOK}", f"or the name of a file with it in {_CHAT_WEBHOOK}_FILE"
        )
    return address


def _new(found: TriageDocument, known: list[tuple[str, datetime]]) -> TriageDocument:
    """Without what was told before: the same description, since about the same moment."""
    new = [each for each in found["findings"] if not _is_known(who(each["conditions"]), each["since"], known)]
    known += [(who(each["conditions"]), each["since"]) for each in new]
    return {**found, "findings": new}


def _is_known(name: str, since: datetime, known: Sequence[tuple[str, datetime]]) -> bool:
    return any(name == each and abs(since - at) < timedelta(hours=1) for each, at in known)
