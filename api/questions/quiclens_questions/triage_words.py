"""A finding of `triage` in words: one sentence for whoever is woken, and a ticket in Markdown. Pure."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from urllib.parse import quote, urlencode

from quiclens_schema.plain_text import markdown_link, markdown_text

from quiclens_questions.causes import LOOKS
from quiclens_questions.documents import ConditionDocument, TriageDocument, TriageFinding
from quiclens_questions.moment import whole_seconds
from quiclens_questions.units import duration, share

_MEASURES = {
    "slow": "take longer than nine in ten of their kind usually do",
    "very_slow": "take longer than 99 in 100 of their kind usually do",
    "extreme": "take longer than 999 in 1,000 of their kind usually do",
    "failed": "fail",
    "handshake": "of those traced wait for a handshake",
    "loss": "of those traced lose a packet",
    "retransmission": "of those traced wait for a retransmission",
    "not_quic": "go over something else than QUIC",
}


def who(conditions: Sequence[ConditionDocument]) -> str:
    """`carrier Halden Mobile, server edge-fra-02`; `all requests` where there is no condition."""
    return ", ".join(f"{each['attribute'].replace('_', ' ')} {each['value']}" for each in conditions) or "all requests"


def clock(at: datetime, day: datetime) -> str:
    """Hours and minutes, with the date where it is another day."""
    return f"{at:%H:%M}" if at.date() == day.date() else f"{at:%Y-%m-%d %H:%M}"


def sentence(finding: TriageFinding, day: datetime, where: Sequence[str] = ()) -> str:
    """Who, since when, how bad, how many, and what of; `where`: the requests that were asked about."""
    since, low, high = (clock(at, day) for at in (finding["since"], finding["since_low"], finding["since_high"]))
    asked = f"of {' '.join(where)}, " if where else ""
    text = (
        f"{asked}{who(finding['conditions'])}: since {since} UTC ({low} to {high}) {_part(finding['share_after'])} "
        f"{_MEASURES[finding['measure']]}, before {_part(finding['share_before'])}."
    )
    return f"{text} {how_many(finding)} {what_of(finding)}".strip()


def _part(of_one: float) -> str:
    """A share; a small one with two digits: one in a thousand and one in a hundred are not the same."""
    return f"{100 * of_one:.2g} %" if 0 < of_one < 0.01 else share(of_one, 1)


def how_many(finding: TriageFinding) -> str:
    """Requests and users since it began, of all since then."""
    text = f"{finding['requests']:,} of {finding['requests_all']:,} requests since then"
    if finding["users"] is not None and finding["users_all"] is not None:
        text += f", of {finding['users']:,} of {finding['users_all']:,} users"
    return f"{text}."


def what_of(finding: TriageFinding) -> str:
    """By how much requests take longer, and the cause that grew; empty where neither is known."""
    slower, cause = finding["slower_us"], finding["cause"]
    said = []
    if slower is not None and slower > 0:
        said.append(f"They take {duration(slower)} longer on average, {finding['lost_s']:,.0f} s in all.")
    if not finding["traced_after"]:
        said.append("No trace says what of.")
    elif cause is not None:
        before, after = duration(finding["cause_before_us"]), duration(finding["cause_after_us"])
        traced = f"{finding['traced_after']:,} traced"
        said.append(f"What grew most is {LOOKS[cause].name}: {before} before, {after} now ({traced}).")
    return " ".join(said)


def filters(finding: TriageFinding, document: TriageDocument) -> list[str]:
    """What was asked about, and the description, as `--where` takes them."""
    described = (f"{each['attribute']}{each['operator']}{each['value']}" for each in finding["conditions"])
    return [*document["where"], *described]


def requests_link(finding: TriageFinding, document: TriageDocument, address: str) -> str:
    """The page of a finding's requests."""
    where = [("where", text) for text in filters(finding, document)]
    # The newest request is among them: it may have come within the last second.
    until = whole_seconds(document["until"] + timedelta(seconds=1))
    stretch = [("since", whole_seconds(finding["since"])), ("until", until)]
    return f"{address}/requests?{urlencode([*stretch, *where])}"


def ticket(document: TriageDocument, address: str = "") -> Iterator[str]:
    """Markdown, line by line; `address` of the pages makes links."""
    yield f"# What has become worse, {whole_seconds(document['since'])} to {whole_seconds(document['until'])}"
    if not document["findings"]:
        yield "\nNothing that chance does not explain."
    for finding in document["findings"]:
        yield f"\n## {markdown_text(who(finding['conditions']))}\n"
        yield markdown_text(finding["sentence"])
        if address:
            yield f"\n- [the requests]({requests_link(finding, document, address)})"
        for each in finding["examples"]:
            name = each["request_id"]
            link = markdown_link(name, f"{address}/requests/{quote(name)}" if address else "")
            yield f"- {link}: {duration(each['duration_us'])}"
    coverage = document["coverage"]
    of_chance = f"chance is {document['level']:.1g} at most"
    yield f"\n{coverage['requests']:,} requests, {coverage['traced']:,} of them traced; {of_chance}."
