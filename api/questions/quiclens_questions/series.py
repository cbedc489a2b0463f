"""What a picture of one connection is drawn from: columns over a stretch of its time, exact, or in buckets.

Up to 50,000 events in view every one of them is given. Beyond that packets, metrics and frames are summed up in buckets
of equal length, with the least, greatest and last value of each, and of limits the highest; losses, changes of state
and of path, probes and episodes are given one by one at any length, of marks the first 20,000 (`marks_cut`).
"""

from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from quiclens_schema.store import Result, Store

from quiclens_questions.connection_page import place_of
from quiclens_questions.documents import (
    FrameColumns,
    LimitColumns,
    MarkColumns,
    MetricColumns,
    PacketColumns,
    SeriesDocument,
    SeriesTables,
)
from quiclens_questions.statements import ask

EXACT_AT_MOST = 50_000
BUCKETS = 2_000
MARKS_AT_MOST = 20_000
LIMITS_AT_MOST = 20_000
FRAME_CELLS_AT_MOST = 400_000
MARKS = (
    "quic:packet_lost",
    "quic:marked_for_retransmit",
    "quic:spurious_loss",
    "quic:packet_dropped",
    "quic:congestion_state_updated",
    "quic:connection_state_updated",
    "quic:connection_started",
    "quic:connection_closed",
    "quic:migration_state_updated",
    "quic:tuple_assigned",
    "quic:mtu_updated",
    "quic:key_updated",
    "quic:ecn_state_updated",
)

Row = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class View:
    """A stretch of a trace's time in us since its first record, both ends within it, and how finely it is drawn."""

    from_us: int
    to_us: int
    buckets: int = BUCKETS


def series(store: Store, trace: Row, view: View) -> SeriesDocument:
    """The document: `exact`, `bucket_us` where it is not, and a table of columns for each thing to draw.

    `trace` is a row of connections; only events of that trace come.
    """
    place = place_of(trace)
    extent = ask(store, "series_extent", {**place, "from_us": view.from_us, "to_us": view.to_us}).dicts()[0]
    found = {name: extent[name] for name in ("first_seq", "last_seq")}
    stretch = {**place, "from_us": view.from_us, "to_us": view.to_us, **found}
    is_exact = extent["events"] <= EXACT_AT_MOST
    bucket_us = None if is_exact else max(1, -(-(view.to_us - view.from_us + 1) // view.buckets))
    marks, marks_cut = _first(
        ask(store, "series_marks", {**stretch, "marks": list(MARKS), "limit": MARKS_AT_MOST + 1}), MARKS_AT_MOST
    )
    drawn = _exact(store, stretch) if bucket_us is None else _in_buckets(store, stretch, bucket_us)
    return {
        **place,
        "from_us": view.from_us,
        "to_us": view.to_us,
        "events": extent["events"],
        "losses": extent["losses"],
        "bytes_sent_before": extent["bytes_sent_before"],
        "exact": is_exact,
        "bucket_us": bucket_us,
        **drawn,
        "marks": _columns(MarkColumns, marks),
        "marks_cut": marks_cut,
        "limits": _columns(
            LimitColumns, ask(store, "series_limits", {**stretch, "bucket_us": bucket_us or 0, "limit": LIMITS_AT_MOST})
        ),
    }


def _exact(store: Store, stretch: Row) -> SeriesTables:
    bounded = {**stretch, "limit": EXACT_AT_MOST}
    return {
        "packets": _columns(PacketColumns, ask(store, "series_packets", bounded)),
        "metrics": _columns(MetricColumns, ask(store, "series_metrics", bounded)),
        "frames": _columns(FrameColumns, ask(store, "series_frames", {**stretch, "limit": FRAME_CELLS_AT_MOST})),
    }


def _in_buckets(store: Store, stretch: Row, bucket_us: int) -> SeriesTables:
    bounded = {**stretch, "bucket_us": bucket_us, "limit": BUCKETS * 2}
    return {
        "packets": _columns(PacketColumns, ask(store, "series_packet_buckets", bounded)),
        "metrics": _columns(MetricColumns, ask(store, "series_metric_buckets", bounded)),
        "frames": _columns(FrameColumns, ask(store, "series_frame_buckets", {**bounded, "limit": FRAME_CELLS_AT_MOST})),
    }


def _first(found: Result, most: int) -> tuple[Result, bool]:
    """The first rows of an answer, and whether there are more."""
    return replace(found, rows=found.rows[:most]), len(found.rows) > most


def _columns(kind: type[T], found: Result) -> T:
    """One list a column; columns that hold nothing at all are left out, all of them of an answer without rows."""
    columns = zip(found.columns, zip(*found.rows, strict=True), strict=False)
    return cast(T, {name: values for name, values in columns if any(value is not None for value in values)})
