"""What usually helps against a cause, in one line each: where to look, and what servers and clients can change."""

from collections.abc import Mapping, Sequence
from typing import Any

from quiclens_questions.sentence import WORTH_A_WORD

ADVICE: Mapping[str, str] = {
    "handshake": "session tickets that every server of the cluster accepts; 0-RTT for requests that may be repeated",
    "amplification": "a shorter certificate chain (ECDSA, compressed), address tokens (NEW_TOKEN), so that three times "
    "what the client sent is enough (RFC 9000, 8.1)",
    "upload": "smaller or compressed requests; credit that the server renews before the client has used it up",
    "server_think": "the application, not the transport: follow the same request there by its external id; cache it, "
    "or send the first bytes sooner",
    "pto": "look at whose packets vanish (report loss by carrier and region): the end of a flight has nothing behind "
    "it that would show a loss, so it takes a probe; new data as the probe, and max_ack_delay as short as it can be",
    "loss_recovery": "look at whose packets are lost (report loss by carrier and region); pacing, since bursts "
    "overflow queues; a controller that does not take every loss for congestion, such as BBR",
    "connection_flow_control": "the client grants too little for this size and round trip: a larger initial_max_data, "
    "or credit that grows with what is read",
    "stream_flow_control": "the client grants too little for this size and round trip: a larger "
    "initial_max_stream_data, or credit that grows with what is read",
    "stream_limit": "the peer allows too few streams at once: a larger initial_max_streams_bidi, or MAX_STREAMS as "
    "soon as a stream ends (RFC 9000, 4.6)",
    "scheduling": "priorities (RFC 9218), so that what a page needs first goes first; fewer large responses at once on "
    "a connection",
    "bandwidth": "fewer bytes: compression, smaller pictures, a lower bitrate; the path carries no more",
    "cwnd_blocked": "a larger initial window, or one remembered from the client's last connection; a controller that "
    "regains speed sooner after a loss (BBR); servers nearer to the client, since the window grows once a round trip; "
    "fewer responses that share it",
    "pacing": "the pacer's rate: its gain, and the round trip it is reckoned from, which is too long after a queue",
    "app_limited": "what the application waits for itself: its origin, disk, or small writes that are not flushed",
    "queueing": "shorter bursts and a controller that keeps queues short (BBR, L4S); a client that delays "
    "acknowledgements less",
    "network": "distance: servers nearer to the client, connections that stay open, fewer requests one after another",
    "remote_wait": "a trace of the server's side, which tells its application from the path",
    "receiving": "a trace of the server's side, which says why bytes came no faster; else fewer bytes",
    "receiver_hol": "a trace of the server's side, which shows the loss that left the gap",
    "unattributed": "more events in the log: `quiclens check` names them",
}


def worth_advice(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """The causes that the sentence names: that of the largest part, and of the next if it is worth a word."""
    total = sum(part["us"] for part in parts)
    largest = sorted(parts, key=lambda part: -part["us"])[:2]
    return [part["cause"] for place, part in enumerate(largest) if place == 0 or part["us"] >= WORTH_A_WORD * total]
