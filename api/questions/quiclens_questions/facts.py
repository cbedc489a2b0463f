"""What a stream's row and its episodes say, gathered for the sentence. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from quiclens_schema.catalogue import CAUSES

from quiclens_questions.sentence import Facts

Row = Mapping[str, Any]


def facts(
    stream: Mapping[str, Any],
    parts: Sequence[Row],
    episodes: Sequence[Row],
    connection: Mapping[str, Any],
    other_requests: int = 0,
    counted: Mapping[str, Any] | None = None,
) -> Facts:
    """What the sentence speaks of; `counted` is what all episodes say where these are not all."""
    probes = _of(episodes, "pto")
    pauses = [episode["end_us"] - episode["start_us"] for episode in _of(episodes, "app_limited")]
    blocked = [episode for episode in _of(episodes, "cwnd_blocked") if episode.get("congestion_window")]
    longest = max(blocked, key=lambda each: each["end_us"] - each["start_us"], default=None)
    found = Facts(
        duration_us=stream["duration_us"],
        parts=tuple((part["cause"], part["us"]) for part in parts),
        complete=stream["complete"],
        end_is=stream["end_is"],
        vantage=stream["vantage"],
        packets_lost=stream["packets_lost"],
        detection_us=stream["detection_us"],
        rtt_us=stream["rtt_us"],
        min_rtt_us=stream["min_rtt_us"],
        probes=sum(episode["count"] for episode in probes),
        probe_wait_us=max((episode.get("wait_us") or 0 for episode in probes), default=0),
        probes_needless=bool(probes) and all(episode.get("trigger") == "spurious" for episode in probes),
        losses_spurious=sum(episode["stream_id"] == stream["stream_id"] for episode in _of(episodes, "spurious_loss")),
        pauses=len(pauses),
        longest_pause_us=max(pauses, default=0),
        limit_stops=len(_of(episodes, "amplification")),
        sending_us=_between(stream, "first_byte_us", "last_byte_us"),
        other_requests=other_requests,
        zero_rtt=connection.get("zero_rtt") or "",
        congestion_window=longest["congestion_window"] if longest else None,
        credit_stalls=sum(episode["kind"].endswith("_flow_control") for episode in episodes),
        request_bytes=stream["request_bytes"],
        response_bytes=stream["response_bytes"],
        cannot_show=tuple(in_vocabulary_order(stream["cannot_show"])),
        grade=stream["grade"],
        imputed_us=stream["imputed_us"],
    )
    return replace(found, **(counted or {}))


def _of(episodes: Sequence[Row], kind: str) -> Sequence[Row]:
    return [episode for episode in episodes if episode["kind"] == kind]


def _between(stream: Mapping[str, Any], first: str, last: str) -> int:
    begins, ends = stream.get(first), stream.get(last)
    return 0 if begins is None or ends is None else max(0, ends - begins)


def in_vocabulary_order(causes: list[str]) -> list[str]:
    return sorted(causes, key=lambda cause: (CAUSES.index(cause) if cause in CAUSES else len(CAUSES), cause))
