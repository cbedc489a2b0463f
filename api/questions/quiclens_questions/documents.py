"""The documents of answers, each written once: what the API promises in OpenAPI, and what pages and tests check.

Times in us end in `_us`; instants are aware and in UTC. Where a row of a table is given with all its columns, the
catalogue says what they are (`OfTable`). `null` is what nobody knows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, NotRequired, TypeVar

from quiclens_schema import catalogue
from typing_extensions import TypedDict

Kind = TypeVar("Kind")
Value = object
"""Anything that JSON has: a report's cells, and what it was asked."""


def whole(kind: Kind) -> Kind:
    """A document with these members and no other."""
    kind.__pydantic_config__ = {"extra": "forbid"}  # type: ignore[attr-defined]
    return kind


@dataclass(frozen=True)
class OfTable:
    """A row of a table of the catalogue, for who writes JSON Schema: without `hidden`, with `added`; `is_sparse` leaves
    out what is null."""

    table: str
    hidden: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    is_sparse: bool = False

    def __get_pydantic_json_schema__(self, schema: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        columns = [each for each in catalogue.load().table(self.table).columns if each.name not in self.hidden]
        properties = {each.name: _schema(each.type) | {"description": each.doc} for each in columns}
        required = [] if self.is_sparse else [each.name for each in columns if each.name not in self.added]
        return {
            "type": "object",
            "properties": properties | {name: {} for name in self.added},
            "required": required,
        }


def _schema(kind: str) -> dict[str, Any]:
    """A column's type as JSON Schema."""
    inner = kind.removeprefix("LowCardinality(").removesuffix(")") if kind.startswith("LowCardinality(") else kind
    if inner.startswith("Nullable("):
        return {"anyOf": [_schema(inner.removeprefix("Nullable(").removesuffix(")")), {"type": "null"}]}
    if inner.startswith("Array("):
        return {"type": "array", "items": _schema(inner.removeprefix("Array(").removesuffix(")"))}
    if inner.startswith("Map("):
        return {"type": "object"}
    if inner.startswith(("UInt", "Int")):
        return {"type": "integer"}
    if inner.startswith("Float"):
        return {"type": "number"}
    if inner == "Bool":
        return {"type": "boolean"}
    return {"type": "string"}


@whole
class Coverage(TypedDict):
    """Of how many requests an answer speaks, how many of them have a trace, of how many of those records are missing
    (by grade), and for how many all stand."""

    requests: int
    traced: int
    repaired: int
    damaged: int
    weight: float


@whole
class ReportCoverage(TypedDict):
    """The same of a report, and how many of those requests its rows are about."""

    requests: int
    traced: int
    weight: float
    repaired: NotRequired[int]
    damaged: NotRequired[int]
    protocol_known: NotRequired[int]
    groups_without_quic: NotRequired[int]
    in_sessions: NotRequired[int]
    in_an_arm: NotRequired[int]
    compared: NotRequired[int]
    with_saving: NotRequired[int]
    cannot_show: NotRequired[int]
    hosts: NotRequired[int]
    packets_received: NotRequired[int]
    packets_wrong_host: NotRequired[int]
    packets_connection_unknown: NotRequired[int]
    packets_dropped_otherwise: NotRequired[int]


@whole
class ReportColumn(TypedDict):
    """A column of a report and its unit, "" where it has none."""

    name: str
    unit: str


@whole
class ReportWarning(TypedDict):
    """What makes a report's figures doubtful: of which kind it is, and a sentence."""

    kind: Literal["sample_ratio_mismatch", "users_in_several_arms", "more"]
    text: str


@whole
class ReportDocument(TypedDict):
    """A table with a name. Of `groups` the first `groups_shown` have rows (null where it has no groups); `samples` and
    `coverage` are of all. `warnings` say what makes its figures doubtful."""

    name: str
    params: Mapping[str, Value]
    columns: Sequence[ReportColumn]
    rows: Sequence[Sequence[Value]]
    samples: int
    groups: int | None
    groups_shown: int | None
    coverage: ReportCoverage
    warnings: Sequence[ReportWarning]


@whole
class NamedReportDocument(ReportDocument):
    """A report of `quiclens report`, with its title, notes on its figures, what to say where it has no row, and words
    for the figures, and the strata, that its rows name."""

    title: str
    notes: Sequence[str]
    nothing: str
    words: Mapping[str, str]


@whole
class ListedRequest(TypedDict):
    """What a list has of a request from its row."""

    request_id: str
    external_id: str | None
    connection_id: str | None
    stream_id: int | None
    started_at: datetime | None
    server: str | None
    carrier: str | None
    region: str | None
    vantage: str | None
    source: str
    method: str | None
    authority: str | None
    path: str | None
    status: int | None
    duration_us: int | None
    logged_duration_us: int | None
    top_cause: str | None
    top_cause_us: int | None
    coverage: str
    grade: str


class SlowRequest(ListedRequest):
    """A request as a list has it; a column of `by` that is none of these is there under its own name. `usual_us` is how
    long requests of its carrier, path and size take, where the list is sorted by it and there are enough of them."""

    usual_us: int | None


@whole
class SlowDocument(TypedDict):
    """The slowest requests, the longest first, or those that took the most times as long as is usual; `next` is the
    `after` that gives those behind them, null where none are, and where a list was asked by a column. With one, where
    those of all its values are too many, `values` is how many it has, of which `values_shown` are in the list; else
    both are null."""

    requests: Sequence[SlowRequest]
    next: str | None
    values: int | None
    values_shown: int | None
    coverage: Coverage


@whole
class Part(TypedDict):
    """How long a request waited for one cause; `bounds_us` where it is not known exactly, and what it would have been
    spared without it, with the interval of that prediction."""

    cause: str
    us: int
    known: str
    bounds_us: Sequence[int] | None
    saves_us: int | None
    saves_interval_us: Sequence[int] | None


class Episode(TypedDict):
    """A stretch of a trace's time with one cause; `stream_id` is -1 for those of the whole connection."""

    kind: str
    stream_id: int
    path_id: NotRequired[int]
    start_us: int
    end_us: int
    first_seq: int
    last_seq: int
    confirmed: NotRequired[bool | None]
    trigger: NotRequired[str | None]
    packet_number: NotRequired[int | None]
    bytes: NotRequired[int | None]
    count: NotRequired[int | None]
    detection_us: NotRequired[int | None]
    wait_us: NotRequired[int | None]
    congestion_window: NotRequired[int | None]


@whole
class Frame(TypedDict):
    """A frame of a packet; a stream's has its place in the stream."""

    frame_type: str
    stream_id: NotRequired[int]
    offset: NotRequired[int]
    length: NotRequired[int]
    fin: NotRequired[bool]


class EventColumns(TypedDict):
    """Columns of `events` that are shown of an event."""

    seq: int
    time_us: int
    name: str
    packet_type: NotRequired[str]
    trigger: NotRequired[str]
    new_state: NotRequired[str]
    old_state: NotRequired[str]
    timer_type: NotRequired[str]
    event_type: NotRequired[str]
    owner: NotRequired[str]
    http_frame_type: NotRequired[str]
    path_id: NotRequired[int]
    packet_number: NotRequired[int]
    packet_bytes: NotRequired[int]
    payload_bytes: NotRequired[int]
    stream_id: NotRequired[int]
    offset: NotRequired[int]
    length: NotRequired[int]
    congestion_window: NotRequired[int]
    bytes_in_flight: NotRequired[int]
    packets_in_flight: NotRequired[int]
    ssthresh: NotRequired[int]
    pacing_rate: NotRequired[int]
    pto_count: NotRequired[int]
    min_rtt_us: NotRequired[int]
    smoothed_rtt_us: NotRequired[int]
    latest_rtt_us: NotRequired[int]
    rtt_variance_us: NotRequired[int]
    ack_delay_us: NotRequired[int]
    delta_us: NotRequired[int]
    lost_packets: NotRequired[int]
    lost_bytes: NotRequired[int]
    count: NotRequired[int]
    app_limited: NotRequired[bool]


@whole
class Event(EventColumns):
    """An event with the columns of `events` that it has a value for; `carried` are the frames of a lost packet, `more`
    is what has no column, as raw JSON."""

    frames: NotRequired[Sequence[Frame]]
    carried: NotRequired[Sequence[Frame]]
    acked: NotRequired[Sequence[Sequence[int]]]
    more: NotRequired[Mapping[str, str]]


@whole
class ExplainedCoverage(TypedDict):
    """How much of one request a trace shows, and how its line of an access log was joined to it."""

    requests: int
    traced: int
    weight: float
    coverage: str
    link: str
    events_seen: int | None
    events_kept: str | None


NOT_SHOWN = ("version", "trace_day", "source_file", "rtt_histogram")
"""Columns of `connections` that are no part of an answer: how rows replace each other, who read which file last."""

ConnectionRow = Annotated[
    Mapping[str, Value], OfTable("connections", (*NOT_SHOWN, "open_episodes", "header"), ("header", "open_episodes"))
]
SparseConnection = Annotated[Mapping[str, Value], OfTable("connections", (), ("open_episodes",), is_sparse=True)]
StreamRow = Annotated[
    Mapping[str, Any],
    OfTable("streams", (*NOT_SHOWN, *(f"{cause}_us" for cause in catalogue.CAUSES)), ("parts",)),
]


class BegunRequest(TypedDict):
    """A traced request whose id begins as was asked."""

    request_id: str
    vantage: str
    started_at: datetime | None
    duration_us: int
    complete: bool
    path: str | None
    status: int | None


@whole
class SiblingCause(TypedDict):
    """What share of the time of requests that are like another one cause has, with its 95 % interval by user (else
    connection), and of how many of them it is the largest part."""

    cause: str
    share: float | None
    low: float | None
    high: float | None
    largest_of: int


@whole
class Siblings(TypedDict):
    """What traced requests spent their time on that are like one without a trace, in what makes a difference there: of
    the same protocol, no more than `within_s` apart, and alike in each column of `alike_in`: of the same value, or
    (`response_bytes`, `duration_us`) half to twice as much, or (`duration_us_or_more`) half as long or longer.
    `causes` are those that are most often the largest part first; none where the requests are too few. `top_cause` is
    the largest part of two thirds of them, null where none is. In the columns of `unseen_in` no traced request of that
    time has the value."""

    requests: int
    clusters: int
    alike_in: Sequence[str]
    unseen_in: Sequence[str]
    within_s: int
    top_cause: str | None
    causes: Sequence[SiblingCause]
    examples: Sequence[str]


@whole
class Explained(TypedDict):
    """Why one request took as long as it did: the parts add up to `duration_us`, to the microsecond. Of a request that
    is not there, `begun` are those whose id begins so."""

    request_id: str
    duration_us: int | None
    logged_duration_us: int | None
    complete: bool | None
    parts: Sequence[Part]
    top_cause: str | None
    unattributed_us: int | None
    grade: str | None
    imputed_us: int | None
    bounds_us: Mapping[str, Sequence[int]]
    cannot_show: Sequence[str]
    overlapping: Mapping[str, int]
    sentence: str
    episodes: Sequence[Episode]
    episodes_all: int
    episodes_cut: bool
    events: Sequence[Event]
    events_all: int
    connection: SparseConnection
    coverage: ExplainedCoverage
    siblings: Siblings | None
    begun: NotRequired[Sequence[BegunRequest]]


@whole
class IntervalColumns(TypedDict):
    """The ends of 95 % intervals over time, in us, null where nothing bounds one."""

    low: Sequence[int | None]
    high: Sequence[int | None]


@whole
class Series(TypedDict):
    """One group over time, or all `groups` together that have no series of their own, with an empty `group`: columns of
    one length; a quantile in us, null where too few were measured. `intervals` are by quantile; null where they were
    not asked for, where requests or steps are too many, and of groups together."""

    group: Mapping[str, str | None]
    groups: int
    started_at: Sequence[datetime]
    requests: Sequence[int]
    traced: Sequence[int]
    p50: Sequence[int | None]
    p75: Sequence[int | None]
    p90: Sequence[int | None]
    p95: Sequence[int | None]
    p99: Sequence[int | None]
    intervals: Mapping[str, IntervalColumns] | None


@whole
class OverTimeDocument(TypedDict):
    """Durations of requests over time, the group with most requests first; `groups` is how many there are, of which
    `series` has the largest, or those with the largest share of requests slower than `slow_us`, and last all others."""

    since: datetime
    until: datetime
    step_s: int
    by: Sequence[str]
    drawn: Literal["largest", "slowest"]
    slow_us: int | None
    series: Sequence[Series]
    groups: int
    coverage: Coverage


@whole
class SpentDocument(TypedDict):
    """What traced requests spent their time on over time: columns of one length, of causes that there were."""

    since: datetime
    until: datetime
    step_s: int
    started_at: Sequence[datetime]
    requests: Sequence[int]
    traced: Sequence[int]
    cause_us: Mapping[str, Sequence[int | float]]
    coverage: Coverage


@whole
class HeatDocument(TypedDict):
    """Cells of a heat map, as columns of one length: requests that began in a step and took from `from_us` up to, not
    with, `to_us`."""

    since: datetime
    until: datetime
    step_s: int
    bands_per_decade: int
    started_at: Sequence[datetime]
    from_us: Sequence[int]
    to_us: Sequence[int]
    requests: Sequence[int]
    traced: Sequence[int]
    weight: Sequence[float]
    coverage: Coverage


@whole
class CellsDocument(TypedDict):
    """Hexagons of a map (H3), as columns of one length, the fullest first. Requests of hexagons with too few stand in a
    larger one around them (`in_larger`); `not_a_cell` is how many have a name that is none."""

    since: datetime | None
    until: datetime | None
    h3_cell: Sequence[str]
    requests: Sequence[int]
    in_larger: Sequence[int]
    traced: Sequence[int]
    p50: Sequence[int | None]
    p95: Sequence[int | None]
    top_cause: Sequence[str | None]
    not_a_cell: int
    coverage: Coverage


@whole
class Deployment(TypedDict):
    """Servers of a cluster began to run another release: its first request, and how many it has in the stretch."""

    cluster: str | None
    server_release: str
    at: datetime
    servers: int
    requests: int


@whole
class DeploymentsDocument(TypedDict):
    """Releases that servers began to run in a stretch of time, the earliest first; `all` counts those left out too."""

    deployments: Sequence[Deployment]
    all: int


@whole
class Quantile(TypedDict):
    """A quantile and its 95 % interval; an end is null where the samples do not bound it."""

    us: int | float | None
    low_us: int | float | None
    high_us: int | float | None


@whole
class Difference(TypedDict):
    """The difference of a quantile of two groups, b less a, and its 95 % interval."""

    quantile: str
    us: int | float | None
    low_us: int | float | None
    high_us: int | float | None


@whole
class ComparedGroup(TypedDict):
    """One of two groups of requests."""

    where: Sequence[str]
    requests: int
    traced: int
    quantiles: Mapping[str, Quantile]
    cause_us: Mapping[str, int | float]
    coverage: ReportCoverage


@whole
class SameMixDocument(TypedDict):
    """Two groups as they would be with the same mix of `by`: which share of each has a counterpart in the other, in so
    many strata; their quantiles, and the differences."""

    by: Sequence[str]
    strata: int
    a_covered: float
    b_covered: float
    a: Mapping[str, Quantile]
    b: Mapping[str, Quantile]
    differences: Sequence[Difference]


@whole
class ComparedDocument(TypedDict):
    """Two groups of requests side by side, as they are and with the same mix; null where they have too little in
    common."""

    a: ComparedGroup
    b: ComparedGroup
    differences: Sequence[Difference]
    same_mix: SameMixDocument | None


DiffVerdict = Literal["slower", "faster", "shifted", "same", "too_few"]
"""`shifted`: of what is sure some grew and some shrank. `too_few`: of fewer connections than `fewest_connections`
nothing is sure."""


@whole
class DiffSide(TypedDict):
    """One of two folders of logs: the requests that are compared, of so many connections, and how many are not, by
    reason."""

    path: str
    requests: int
    connections: int
    left_out: Mapping[str, int]


@whole
class ChangedFigure(TypedDict):
    """A figure of both folders in us, and the difference, new less old, with its 95 % interval; null of too few
    connections. `is_sure`: among all figures, chance would make any so different in one comparison of a hundred."""

    name: str
    old_us: float
    new_us: float
    us: float
    low_us: float | None
    high_us: float | None
    chance: float | None
    is_sure: bool


@whole
class DiffDocument(TypedDict):
    """Two folders of logs: durations (mean and quantiles), and means of causes, the largest difference first."""

    old: DiffSide
    new: DiffSide
    vantage: str
    paired: bool
    level: float
    fewest_connections: int
    verdict: DiffVerdict
    durations: Sequence[ChangedFigure]
    causes: Sequence[ChangedFigure]


@whole
class ConditionDocument(TypedDict):
    """A condition that holds for a request or does not: `carrier` `=` `Halden`, `min_rtt_us` `>=` `90000`."""

    attribute: str
    operator: str
    value: str


@whole
class CountedConditionsDocument(TypedDict):
    """One condition, or two, and how many of their requests are chosen, beside the share elsewhere."""

    conditions: Sequence[ConditionDocument]
    requests: int
    chosen: int
    share: float
    share_elsewhere: float
    excess: float
    excess_low: float
    excess_high: float
    chance: float


@whole
class FindingDocument(CountedConditionsDocument):
    """Conditions that the chosen requests meet more often than the others. `is_symptom`: they tell how requests are
    slow. `through`: the narrower finding without whose requests it would not be one. `also`: conditions that hold for
    the same requests. `nested`: the same of other edges of its measured attribute."""

    is_symptom: bool
    through: Sequence[ConditionDocument]
    also: Sequence[ConditionDocument]
    nested: Sequence[CountedConditionsDocument]


@whole
class DifferentDocument(TypedDict):
    """What is different about the chosen requests: by `excess_low` times `share`, the greatest first."""

    requests: int
    chosen: int
    chosen_from_us: int
    design_effect: float
    tested: int
    findings: Sequence[FindingDocument]
    coverage: Coverage


@whole
class TriageExample(TypedDict):
    """A request that shows a finding."""

    request_id: str
    started_at: datetime
    duration_us: int | None
    top_cause: str | None


@whole
class TriageFinding(TypedDict):
    """Who has become worse (no condition: all), since when, how many, and what of.

    `since_low` and `since_high` bound the moment with 95 % confidence. `measure` is `slow` (longer than nine in ten of
    the same kind), `very_slow` (than 99 in 100), `extreme` (than 999 in 1,000) or `failed`; or, where users feel
    nothing, of traced requests `handshake` (waited for one), `loss` (lost a packet) or `retransmission` (waited for
    one), or of all `not_quic`. The shares are of that measure; `excess` is how many requests count beyond the share
    before, of weighted ones how many they are worth. `slower_us` and the cause's means compare requests of the same
    paths.
    """

    sentence: str
    conditions: Sequence[ConditionDocument]
    measure: str
    since: datetime
    since_low: datetime
    since_high: datetime
    requests: int
    requests_all: int
    users: int | None
    users_all: int | None
    share_before: float
    share_after: float
    excess: float
    chance: float
    dispersion: float
    slower_us: int | None
    lost_s: float
    cause: str | None
    cause_before_us: int | None
    cause_after_us: int | None
    traced_before: int
    traced_after: int
    examples: Sequence[TriageExample]


@whole
class TriageDocument(TypedDict):
    """What has become worse in a stretch of time, of the requests that `where` leaves, the most lost seconds first;
    `level` is the chance that is told."""

    where: Sequence[str]
    since: datetime
    until: datetime
    before_since: datetime
    tested: int
    level: float
    findings: Sequence[TriageFinding]
    coverage: Coverage


class ExplainedRequest(TypedDict):
    """What is asked of a request that is explained; no document has it as a whole."""

    request_id: str
    external_id: str | None
    connection_id: str | None
    stream_id: int | None
    trace_id: str | None
    vantage: str | None
    log_id: str | None
    offset: int | None
    source: str
    link: str
    coverage: str
    weight: float
    complete: bool
    duration_us: int | None
    logged_duration_us: int | None
    started_at: datetime | None
    method: str | None
    authority: str | None
    path: str | None
    status: int | None
    request_bytes: int | None
    response_bytes: int | None
    protocol: str | None
    server: str | None
    cluster: str | None
    pop: str | None
    server_release: str | None
    client_network: str | None
    carrier: str | None
    asn: int | None
    country: str | None
    region: str | None
    city: str | None
    network_type: str | None
    app: str | None
    app_version: str | None
    device: str | None
    user_hash: str | None
    request_number: int | None
    arm: str | None
    rtt_us: int | None
    rtt_variance_us: int | None
    tcp_congestion_window_packets: int | None
    tcp_packets_lost_outstanding: int | None
    tcp_packets_retransmitted_outstanding: int | None


class TracePlace(TypedDict):
    """Which trace an answer is of."""

    connection_id: str
    vantage: str
    trace_id: str


@whole
class ConnectionId(TypedDict):
    """An ID of a connection, whose it was, and when it was first and last seen."""

    alias: str
    role: str
    first_us: int | None
    last_us: int | None


@whole
class TraceOf(TracePlace):
    """One of a connection's traces."""

    complete: bool
    events_seen: int


@whole
class ConnectionDocument(TypedDict):
    """What is known of a connection through one trace of it."""

    connection: ConnectionRow
    ids: Sequence[ConnectionId]
    traces: Sequence[TraceOf]


@whole
class Counted(TypedDict):
    """How often something stands in a log: an event by name, a packet or a frame by type and direction."""

    kind: str
    name: str
    way: str
    count: int
    bytes: int


@whole
class CountsDocument(TracePlace):
    """How often each thing stands in a log."""

    counts: Sequence[Counted]


@whole
class StreamsDocument(TracePlace):
    """The request streams of a trace, by their start."""

    streams: Sequence[StreamRow]


@whole
class EpisodesDocument(TracePlace):
    """Stretches with one cause, by their start; kinds in `open` have not ended."""

    episodes: Sequence[Episode]
    open: Sequence[str]


@whole
class Stop(TypedDict):
    """All stretches of one kind: those that overlap count once in `total_us`."""

    kind: str
    episodes: int
    total_us: int
    median_us: int
    longest_us: int


@whole
class StopsDocument(EpisodesDocument):
    """By what a connection was stopped, or how it recovered."""

    kinds: Sequence[Stop]
    duration_us: int
    cannot_show: Sequence[str]


@whole
class EventsDocument(TracePlace):
    """A page of a trace's events; `next_seq` is null on the last."""

    events: Sequence[Event]
    next_seq: int | None


# Tables as columns of one length; one that has no value at all is left out.


@whole
class PacketColumns(TypedDict, total=False):
    """Packets, or in buckets how many were sent and received, and the last numbers that were sent and acknowledged."""

    seq: Sequence[int]
    time_us: Sequence[int]
    is_sent: Sequence[bool]
    packet_type: Sequence[str]
    packet_number: Sequence[int | None]
    bytes: Sequence[int]
    acked: Sequence[Sequence[Sequence[int]]]
    bucket_start_us: Sequence[int]
    packets_sent: Sequence[int]
    bytes_sent: Sequence[int]
    packets_received: Sequence[int]
    bytes_received: Sequence[int]
    last_sent: Sequence[int | None]
    last_acked: Sequence[int | None]


Metric = Sequence[int | None] | Sequence[Sequence[int | None]]
"""A value, or of a bucket the least, the greatest and the last."""


@whole
class MetricColumns(TypedDict, total=False):
    """What the sender knows of its path."""

    seq: Sequence[int]
    time_us: Sequence[int]
    bucket_start_us: Sequence[int]
    congestion_window: Metric
    bytes_in_flight: Metric
    ssthresh: Metric
    pacing_rate: Metric
    latest_rtt_us: Metric
    smoothed_rtt_us: Metric
    min_rtt_us: Metric
    rtt_variance_us: Metric


@whole
class FrameColumns(TypedDict, total=False):
    """Frames of streams, or in buckets the bytes of each stream; `is_again` is a retransmission."""

    seq: Sequence[int]
    time_us: Sequence[int]
    is_sent: Sequence[bool]
    frame_type: Sequence[str]
    stream_id: Sequence[int]
    offset: Sequence[int]
    length: Sequence[int]
    fin: Sequence[bool]
    is_again: Sequence[bool]
    bucket_start_us: Sequence[int]
    bytes_sent: Sequence[int]
    bytes_received: Sequence[int]
    bytes_again: Sequence[int]


@whole
class MarkColumns(TypedDict, total=False):
    """Losses, changes of state, of path, of keys, probes."""

    seq: Sequence[int]
    time_us: Sequence[int]
    name: Sequence[str]
    packet_type: Sequence[str]
    packet_number: Sequence[int | None]
    bytes: Sequence[int]
    trigger: Sequence[str]
    old_state: Sequence[str]
    new_state: Sequence[str]
    owner: Sequence[str]
    path_id: Sequence[int | None]
    pto_count: Sequence[int | None]
    lost_packets: Sequence[int | None]
    lost_bytes: Sequence[int | None]


@whole
class LimitColumns(TypedDict, total=False):
    """How much may be sent, as each side stated it."""

    seq: Sequence[int]
    time_us: Sequence[int]
    is_ours: Sequence[bool]
    limit_name: Sequence[str]
    stream_id: Sequence[int]
    maximum: Sequence[int]


class SeriesTables(TypedDict):
    """Packets, metrics and frames: one by one, or in buckets."""

    packets: PacketColumns
    metrics: MetricColumns
    frames: FrameColumns


@whole
class SeriesDocument(TracePlace, SeriesTables):
    """What pictures of a trace are drawn from: exact, or in buckets of `bucket_us`. With `marks_cut` there are more
    marks, later ones, than these; `losses` are all that were declared lost. `bytes_sent_before` are those of
    packets that were sent before `from_us`; limits that stood then are there at `from_us`."""

    from_us: int
    to_us: int
    events: int
    losses: int
    bytes_sent_before: int
    exact: bool
    bucket_us: int | None
    marks: MarkColumns
    marks_cut: bool
    limits: LimitColumns


class FoundConnection(TracePlace):
    """A connection that an upload had."""

    events_seen: int
    requests: int


@whole
class JoinsDocument(TypedDict):
    """Of the lines of a mapping that were looked at, how many can be joined with their trace by what. `lacks`: of those
    that can be joined by nothing, what is missing, and in how many; `filled`: columns of `request_lines` that have a
    value, and in how many lines; `rejected_text`: the first line that was rejected; `without_time`: rows of the table
    that have no time, and are never taken."""

    source: str
    looked_at: int
    lines: int
    by_id: int
    by_client: int
    over_tcp: int
    neither: int
    lacks: Mapping[str, int]
    filled: Mapping[str, int]
    rejected: Mapping[str, int]
    rejected_text: str
    without_time: int


@whole
class LoadedDocument(TypedDict):
    """What a load read; `connections_found` is not told to who may only upload."""

    files: int
    connections: int
    events: int
    requests: int
    rejected: Mapping[str, int]
    values_unread: int
    limits_crossed: Mapping[str, int]
    erased: int
    bytes: int
    seconds: float
    connections_found: NotRequired[Sequence[FoundConnection]]
