"""The one plain sentence in which an explanation ends. Pure: facts in, words out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quiclens_questions.documents import Siblings
from quiclens_questions.units import age, duration, share, share_interval, size

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_CLIENT_ONLY = ("remote_wait", "receiving", "receiver_hol", "stream_limit")
_SERVER_ONLY = (
    "server_think",
    "pto",
    "loss_recovery",
    "connection_flow_control",
    "stream_flow_control",
    "cwnd_blocked",
    "queueing",
)
_MOST = 0.6  # of the duration: from here on "nothing but" and "cannot say why" are fair words
WORTH_A_WORD = 0.2  # of the duration: a second cause smaller than this is left to the bar


@dataclass(frozen=True)
class Facts:
    """What the stream's row and its episodes say, as far as a sentence needs it."""

    duration_us: int
    parts: tuple[tuple[str, int], ...]
    complete: bool = True
    end_is: str = ""
    vantage: str = "server"
    packets_lost: int = 0
    detection_us: int | None = None
    rtt_us: int | None = None
    min_rtt_us: int | None = None
    probes: int = 0
    probe_wait_us: int = 0
    congestion_window: int | None = None
    credit_stalls: int = 0
    probes_needless: bool = False
    losses_spurious: int = 0
    pauses: int = 0
    longest_pause_us: int = 0
    limit_stops: int = 0
    sending_us: int = 0
    other_requests: int = 0
    zero_rtt: str = ""
    request_bytes: int = 0
    response_bytes: int = 0
    cannot_show: tuple[str, ...] = ()
    grade: str = "whole"
    imputed_us: int = 0


@dataclass(frozen=True)
class CauseWords:
    """How a cause is told: the reason after "because", a short name, and what more the facts say about it."""

    reason: str
    short: str
    more: Callable[[Facts, int], str] = lambda facts, us: ""


def sentence(facts: Facts) -> str:
    """Why, how much of how much, what a reader would ask next, and how far the log can be trusted."""
    return _answer(facts) + _trust(facts)


def _trust(facts: Facts) -> str:
    """What missing records do to the answer; nothing where none is missing."""
    if facts.grade not in ("repaired", "damaged") or facts.vantage == "network":
        return ""
    beside = f", and {duration(facts.imputed_us)} of this time lie beside them" if facts.imputed_us else ""
    if facts.grade == "repaired":
        return f" Records of this log are missing{beside}: the times are about right, and what is the largest stays so."
    return f" Records of this log are missing{beside}: its largest part may be another, or its duration off."


def _answer(facts: Facts) -> str:
    if facts.vantage == "network":
        return "Seen from the middle of the network, where waiting looks like travelling: look at an end's trace."
    if facts.duration_us == 0 or not facts.parts:
        return "It took no measurable time." if facts.complete else "Still open when the trace ended, as it began."
    cause, us = max(facts.parts, key=lambda part: part[1])
    words = CAUSE_WORDS.get(cause) or CauseWords(f"of {cause}", cause)
    direction = "on its way out" if facts.vantage == "client" else "coming in"
    reason = words.reason.format(packets=_packets(facts.packets_lost - facts.losses_spurious), direction=direction)
    details = "".join(f"; {detail}" for detail in (words.more(facts, us), _next(facts, cause)) if detail)
    if not facts.complete:
        ended = "Its end is not in this log; over {total}, it waited mostly because {reason}: {us} of that{details}."
        lead = "Still open when the trace ended, after {total}, mostly because {reason}: {us} of that{details}."
        lead = ended if facts.end_is in ("last_event", "end_not_logged") else lead
        return lead.format(
            reason=_OPEN.get(cause, reason), us=duration(us), total=duration(facts.duration_us), details=details
        )
    leads = _LEADS if us >= _MOST * facts.duration_us else _LEADS | _LESS
    lead = leads.get(cause, "Slow because {reason}: {us} of {total}{details}.")
    return lead.format(reason=reason, us=duration(us), total=duration(facts.duration_us), details=details)


def untraced(request_id: str, request: Mapping[str, Any], siblings: Siblings | None = None) -> str:
    """Why nothing can be said: no such request, or no trace of it. Then what requests like it waited for."""
    if not request:
        return f"There is no request {request_id} in this store."
    us = request.get("logged_duration_us")
    took = "no duration" if us is None else duration(us)
    if request.get("protocol") in ("h1", "h2"):
        return f"The access log says {took}; it came over {request['protocol']}, and QUIC traces cannot explain it."
    why = "no trace of its connection was loaded, so its time has no causes."
    if request.get("link") == "ambiguous":
        why = "several streams fit this line, so none was picked to explain it."
    return f"The access log says {took}, but {why}{_siblings(siblings)}"


def _siblings(siblings: Siblings | None) -> str:
    if siblings is None:
        return ""
    if not siblings["requests"]:
        return " No request of those hours has a trace."
    alike = [_LIKE.get(name, name) for name in siblings["alike_in"] if name not in _TOOK]
    like = f"like it{f' in {_listed(alike)}' if alike else ''}, within {age(siblings['within_s'])}"
    like += "".join(words for name, words in _TOOK.items() if name in siblings["alike_in"])
    many = f"{number(siblings['requests'], 'traced request')} {like}"
    unseen = _listed([_LIKE.get(name, name) for name in siblings["unseen_in"]])
    unseen = f" None of them is like it in {unseen}." if unseen and siblings["causes"] else ""
    if not siblings["causes"]:
        return f" There {'is' if siblings['requests'] == 1 else 'are'} {many}: too few to say what is usual."
    first = siblings["causes"][0]
    words = CAUSE_WORDS.get(first["cause"])
    cause = words.short if words else first["cause"]
    between = share_interval(first["low"], first["high"])
    part = f"{share(first['share'] or 0, 1)}{f' [{between}]' if between else ''} of"
    if siblings["top_cause"] is None:
        first_of = f"the first of them, {cause}, has {part} their time"
        return f" {many[0].upper()}{many[1:]} have no cause in common: {first_of}.{unseen}"
    of = "each" if first["largest_of"] == siblings["requests"] else f"{first['largest_of']:,} of them"
    return f" Of {many}, {part} the time went to {cause}, the largest part of {of}.{unseen}"


_LIKE = {"response_bytes": "size"}
_TOOK = {"duration_us": " and about as long", "duration_us_or_more": " and half as long or longer"}


def _listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def number(count: int, noun: str) -> str:
    word = _NUMBERS[count] if count < len(_NUMBERS) else f"{count:,}"
    return f"{word} {noun}{'' if count == 1 else 's'}"


def _packets(count: int) -> str:
    if count <= 0:
        return "lost data had"
    return f"{'a lost packet' if count == 1 else number(count, 'lost packet')} had"


def _next(facts: Facts, top: str) -> str:
    others = [part for part in facts.parts if part[0] != top and part[1] >= WORTH_A_WORD * facts.duration_us]
    if not others:
        return ""
    cause, us = max(others, key=lambda part: part[1])
    words = CAUSE_WORDS.get(cause)
    return f"then {words.short if words else cause}, {duration(us)}"


def _in_rtts(us: int | None, rtt_us: int | None) -> str:
    return f"{us / rtt_us:.1f} RTT" if us and rtt_us else ""


def _detection(facts: Facts, us: int) -> str:
    found = _in_rtts(facts.detection_us, facts.rtt_us)
    words = [f"detection took {found}"] if found else []
    if facts.losses_spurious:
        words.append(f"{number(facts.losses_spurious, 'more packet')} declared lost arrived all the same")
    return "; ".join(words)


def _probes(facts: Facts, us: int) -> str:
    if not facts.probes:
        return ""
    wait = _in_rtts(facts.probe_wait_us, facts.rtt_us)
    words = f"{number(facts.probes, 'probe')} sent" + (f", the first after {wait}" if wait else "")
    return words + (", though what was sent before had arrived" if facts.probes_needless else "")


def _early(facts: Facts, us: int) -> str:
    return {"rejected": "its 0-RTT was rejected, so it had to be sent again"}.get(facts.zero_rtt, "")


def _stopped(facts: Facts, us: int) -> str:
    return f"it stopped {_times(facts.limit_stops)}, until the client's next packet" if facts.limit_stops else ""


_HELD = {"scheduling": "other streams went first", "pacing": "the pacer held it back"}
"""Why an answer that is ready may not go out, in a log that does not tell when it was ready."""


def _turn(facts: Facts, us: int) -> str:
    held = [said for cause, said in _HELD.items() if cause in facts.cannot_show]
    if facts.vantage != "server" or not held:
        return ""
    return f"or the answer was ready and {' or '.join(held)}: this log does not tell which"


def _company(facts: Facts, us: int) -> str:
    others = facts.other_requests
    return f"it shared the connection with {number(others, 'other request')}" if others else ""


def _paused(facts: Facts, us: int) -> str:
    if not facts.pauses:
        return ""
    if facts.pauses == 1:
        return f"it paused once, for {duration(facts.longest_pause_us)}"
    return f"it paused {_times(facts.pauses)}, {duration(facts.longest_pause_us)} at the longest"


def _sent(facts: Facts, us: int) -> str:
    if not facts.response_bytes or not facts.sending_us:
        return ""
    return f"{size(facts.response_bytes)} went out at {_rate(facts.response_bytes, facts.sending_us)}"


def _rate(count: int, us: int) -> str:
    """With two digits, of more than two digits whole: `.2g` alone writes 99.6 as 1e+02."""
    mbit_s = count * 8 / us
    return f"{mbit_s:.2g} Mbit/s" if mbit_s < 99.5 else f"{mbit_s:,.0f} Mbit/s"


def _window(facts: Facts, us: int) -> str:
    window = facts.congestion_window
    if not window:
        return ""
    return f"the window was {size(window)} in its longest wait, for a response of {size(facts.response_bytes)}"


def _round_trip(facts: Facts, us: int) -> str:
    return f"minimum RTT {duration(facts.min_rtt_us)}" if facts.min_rtt_us else ""


def _stalls(facts: Facts, us: int) -> str:
    if not facts.credit_stalls:
        return ""
    return f"it ran out {_times(facts.credit_stalls)}, and new credit takes a round trip"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, number(count, "time"))


def _goodput(facts: Facts, us: int) -> str:
    arriving = max(us, sum(part for cause, part in facts.parts if cause in ("receiving", "receiver_hol")))
    if not facts.response_bytes or not arriving:
        return ""
    return f"{size(facts.response_bytes)} at {_rate(facts.response_bytes, arriving)}"


def _uploaded(facts: Facts, us: int) -> str:
    return f"it was {size(facts.request_bytes)}" if facts.request_bytes else ""


def missing(cannot_show: Sequence[str], vantage: str) -> list[str]:
    """What a better log of this side would show: no server can log a client's causes, and no client a server's."""
    named = set(cannot_show)
    is_server = vantage == "server" or (vantage == "unknown" and named.issuperset(_CLIENT_ONLY))
    is_client = vantage == "client" or (vantage == "unknown" and named.issuperset(_SERVER_ONLY))
    others = _CLIENT_ONLY if is_server else _SERVER_ONLY if is_client else ()
    return [cause for cause in cannot_show if cause not in others]


def _missing(facts: Facts, us: int) -> str:
    causes = missing(facts.cannot_show, facts.vantage)
    if not causes:
        return ""
    names = ", ".join(causes[:4]) + (" and more" if len(causes) > 4 else "")
    return f"it cannot show {names}, and `quiclens check` says what to switch on"


_LEADS = {
    "server_think": "Slow because the application took {us} of {total} to answer{details}.",
    "network": "Nothing held it up but {reason}: {us} of {total}{details}.",
    "unattributed": "This log cannot say why: {us} of {total} have no cause that it shows{details}.",
}
_LESS = {
    "network": "Its largest part is {reason}: {us} of {total}{details}.",
    "unattributed": "This log cannot say why for its largest part: {us} of {total}{details}.",
}
_OPEN = {
    "remote_wait": "of the wait for the first byte, and the client's log cannot tell whether server or path held it",
    "network": "of the round trip itself",
    "unattributed": "of something this log does not show",
}
CAUSE_WORDS: Mapping[str, CauseWords] = {
    "handshake": CauseWords(
        "it came in 0-RTT and could not be read before the handshake had its keys", "the handshake", _early
    ),
    "amplification": CauseWords(
        "the server may send only three times what it received until the client's address is proven",
        "the amplification limit",
        _stopped,
    ),
    "upload": CauseWords("the request itself was still {direction}", "the upload", _uploaded),
    "server_think": CauseWords("the application had not answered", "the application", _turn),
    "pto": CauseWords(
        "nothing came back and the sender had to probe the silence", "the silence before a probe", _probes
    ),
    "loss_recovery": CauseWords("{packets} to be repaired", "the repair of lost data", _detection),
    "connection_flow_control": CauseWords(
        "the peer's flow control credit for the whole connection was used up", "connection flow control", _stalls
    ),
    "stream_flow_control": CauseWords(
        "the peer's flow control credit for this stream was used up", "stream flow control", _stalls
    ),
    "stream_limit": CauseWords("the peer let no more streams be opened", "the peer's limit of streams", _stopped),
    "scheduling": CauseWords("other streams of the connection were sent first", "other streams", _company),
    "bandwidth": CauseWords("the path was full and a larger window would have bought nothing", "the full path", _sent),
    "cwnd_blocked": CauseWords(
        "the congestion window was full and data was waiting", "the full congestion window", _window
    ),
    "pacing": CauseWords("the pacer held packets back that the window would have let go", "the pacer", _sent),
    "app_limited": CauseWords(
        "the application was slow to produce the rest of its response", "the application's slow output", _paused
    ),
    "queueing": CauseWords(
        "its last acknowledgement came late: a queue on the path, or a client that delays acknowledgements",
        "the late last acknowledgement",
        _round_trip,
    ),
    "network": CauseWords("the round trip itself", "the round trip", _round_trip),
    "remote_wait": CauseWords(
        "the first byte came late, and the client's log cannot tell whether server or path held it",
        "the wait for the first byte",
        _round_trip,
    ),
    "receiving": CauseWords("the response was still arriving", "the response arriving", _goodput),
    "receiver_hol": CauseWords(
        "data that had arrived waited behind an earlier gap in its stream", "data waiting behind a gap"
    ),
    "unattributed": CauseWords("of something this log does not show", "time without a cause", _missing),
}
