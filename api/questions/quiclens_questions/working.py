"""Is it working? Each part of the way from a server to an answer: what was seen of it, and what to do next. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Literal

from quiclens_schema import catalogue

from quiclens_questions.moment import seconds_ago
from quiclens_questions.units import age, share

RECENT_S = 3600  # what is called recent
EXPECTED_S = 24 * 3600  # a server that sent something so long ago is expected to send
_ARRIVING_S = 60
_HEARTBEAT_S = 60  # twice the time between two of them
_NAMED = 5  # servers, collectors or reasons in one sentence

State = Literal["works", "look", "fails", "unknown"]


@dataclass(frozen=True, slots=True)
class Check:
    """One part of the way. `do` is empty where nothing is to be done."""

    name: str
    state: State
    says: str
    do: str = ""

    def document(self) -> dict[str, str]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Recent:
    """Requests that began in the last hour: how many, and how many have what."""

    requests: int = 0
    lines: int = 0  # of an access log
    h3_lines: int = 0
    joined: int = 0  # a line and a trace, by id, alias or address
    ambiguous: int = 0  # lines to which several traces would fit
    traced: int = 0


@dataclass(frozen=True, slots=True)
class Observations:
    """All that is looked at. Ages are whole seconds before `now`; None is never."""

    now: datetime
    servers: Mapping[str, datetime] = field(default_factory=dict)  # when each was last heard of
    are_cut: bool = False  # there are more servers than were looked at
    named: Sequence[str] = ()  # servers that somebody said must be there
    heartbeats: Mapping[str, float] = field(default_factory=dict)  # ages by collector, s
    last_event: datetime | None = None
    recent: Recent = field(default_factory=Recent)
    rejects: Mapping[str, int] = field(default_factory=dict)  # of the last hour, by reason
    rejected_file: str = ""


_NO_REQUESTS = tuple(Check(name, "unknown", "no request began in the last hour") for name in ("traces", "lines"))


def checks(seen: Observations) -> list[Check]:
    """What works and what does not, in the order of the way."""
    return [
        _events(seen),
        _servers(seen),
        _collectors(seen),
        *((_traces(seen.recent), _lines(seen.recent)) if seen.recent.requests else _NO_REQUESTS),
        _joined(seen.recent),
        _rejects(seen),
    ]


def next_steps(found: Sequence[Check]) -> list[str]:
    """What to do, the broken first; where all is well, the first question."""
    ranked = sorted(
        (each for each in found if each.do), key=lambda each: ("fails", "look", "unknown").index(each.state)
    )
    return [each.do for each in ranked] or ["ask for the slowest requests: quiclens slow --since 1h"]


def _events(seen: Observations) -> Check:
    if seen.last_event is None:
        return Check("events", "unknown", "no dated event yet", "load a log once: quiclens load /var/log/quic")
    seconds = seconds_ago(seen.last_event, seen.now)
    says = f"last event {age(seconds)} ago"
    if seconds <= _ARRIVING_S:
        return Check("events", "works", f"arriving: {says}")
    do = "logs that were loaded once stay as they are; to see new requests, run quiclens-collector beside the server"
    if seen.heartbeats:
        do = "do servers still write logs where collectors look? quiclens-collector check FILE names the paths"
    return Check("events", "look" if seconds <= RECENT_S else "fails", f"not arriving: {says}", do)


def _servers(seen: Observations) -> Check:
    named = set(seen.named)
    ages = {name: seconds_ago(at, seen.now) for name, at in seen.servers.items()}
    expected = sorted(named | {name for name, seconds in ages.items() if seconds <= EXPECTED_S})
    if not expected:
        says = "no trace or line of the last day names its server"
        do = "name it in the access log, as `server` of its [access_log.format]"
        return Check("servers", "unknown", says, do)
    silent = [name for name in expected if ages.get(name, EXPECTED_S) > RECENT_S]
    says = f"{len(expected) - len(silent):,} of {len(expected):,} sent something in the last hour"
    if seen.are_cut:
        says += f"; of {len(seen.servers):,} servers, others were not looked at"
    if not silent:
        return Check("servers", "works", says)
    told = _some([f"{name} ({age(ages[name]) + ' ago' if name in ages else 'never'})" for name in silent])
    do = f"on {silent[0]}: is the collector running, does the server log? journalctl -u quiclens-collector"
    return Check("servers", "fails" if named & set(silent) or len(silent) == len(expected) else "look",
                 f"{says}; silent: {told}", do)  # fmt: skip


def _collectors(seen: Observations) -> Check:
    if not seen.heartbeats:
        return Check("collectors", "unknown", "no collector has sent a heartbeat",
                     "only collectors that run send one: quiclens-collector run FILE")  # fmt: skip
    late = {name: seconds for name, seconds in seen.heartbeats.items() if seconds > _HEARTBEAT_S}
    says = f"{len(seen.heartbeats) - len(late):,} of {len(seen.heartbeats):,} sent a heartbeat in the last minute"
    if not late:
        return Check("collectors", "works", says)
    told = _some([f"{name} ({age(round(seconds))} ago)" for name, seconds in sorted(late.items())])
    do = f"is {min(late)} running, does it reach Kafka, does ingest keep up? /healthz of both says"
    return Check("collectors", "fails" if len(late) == len(seen.heartbeats) else "look", f"{says}; late: {told}", do)


def _traces(recent: Recent) -> Check:
    says = f"{share(recent.traced, recent.requests)} of the last hour's {recent.requests:,} requests have a trace"
    if not recent.traced:
        return Check("traces", "fails", says, "switch the server's QUIC log on: deploy/docs/servers has the settings")
    return Check("traces", "works", says)


def _lines(recent: Recent) -> Check:
    says = f"{recent.lines:,} lines of access logs in the last hour, {recent.h3_lines:,} of them HTTP/3"
    if not recent.lines:
        do = "name the access log: [access_log] of the collector, or quiclens load --requests FILE"
        return Check("lines", "look", f"{says}: what a user waited for is known from traces alone", do)
    return Check("lines", "works", says)


def _joined(recent: Recent) -> Check:
    if not (recent.h3_lines and recent.traced):
        return Check("joined", "unknown", "nothing to join: it takes a trace and a line of HTTP/3")
    says = f"{share(recent.joined, recent.traced)} of the traced requests are joined to their line"
    if recent.ambiguous:
        says += f"; several traces fit {recent.ambiguous:,} lines, which are left alone"
    if not recent.joined:
        do = "lines and traces share no id: deploy/docs/servers says what each server's access log has to hold"
        return Check("joined", "fails", says, do)
    is_most = 2 * recent.joined >= recent.traced
    do = "" if is_most else "do all servers write an access log, and is the client's address and port in it?"
    return Check("joined", "works" if is_most else "look", says, do)


def _rejects(seen: Observations) -> Check:
    if not seen.rejects:
        return Check("rejects", "works", "nothing was rejected in the last hour")
    told = _some([f"{reason} {count:,}" for reason, count in seen.rejects.items()])
    beside = f", such as in {seen.rejected_file}" if seen.rejected_file else ""
    first = next(iter(seen.rejects))
    means = next((each.doc for each in catalogue.load().reasons if each.name == first), "")
    do = f"{first} means: {means}; the table `rejects` has the place and the bytes"
    return Check("rejects", "look", f"rejected in the last hour: {told}{beside}", do)


def _some(texts: Sequence[str]) -> str:
    return ", ".join(texts[:_NAMED]) + (f" and {len(texts) - _NAMED:,} more" if len(texts) > _NAMED else "")
