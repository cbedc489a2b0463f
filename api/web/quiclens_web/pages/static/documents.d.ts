// Made of quiclens_questions/documents.py by `make types`; not to be edited.

/**
 * Which groups have a line of their own: those with most requests, or those with the largest share of requests that
 * are slower than the p95 of all.
 */
export type DrawnGroups = "largest" | "slowest";

/**
 * A traced request whose id begins as was asked.
 */
export interface BegunRequest {
  request_id: string;
  vantage: string;
  started_at: string | null;
  duration_us: number;
  complete: boolean;
  path: string | null;
  status: number | null;
}
/**
 * Hexagons of a map (H3), as columns of one length, the fullest first. Requests of hexagons with too few stand in a
 * larger one around them (`in_larger`); `not_a_cell` is how many have a name that is none.
 */
export interface CellsDocument {
  since: string | null;
  until: string | null;
  h3_cell: string[];
  requests: number[];
  in_larger: number[];
  traced: number[];
  p50: (number | null)[];
  p95: (number | null)[];
  top_cause: (string | null)[];
  not_a_cell: number;
  coverage: Coverage;
}
/**
 * Of how many requests an answer speaks, how many of them have a trace, of how many of those records are missing
 * (by grade), and for how many all stand.
 */
export interface Coverage {
  requests: number;
  traced: number;
  repaired: number;
  damaged: number;
  weight: number;
}
/**
 * Two groups of requests side by side, as they are and with the same mix; null where they have too little in
 * common.
 */
export interface ComparedDocument {
  a: ComparedGroup;
  b: ComparedGroup;
  differences: Difference[];
  same_mix: SameMixDocument | null;
}
/**
 * One of two groups of requests.
 */
export interface ComparedGroup {
  where: string[];
  requests: number;
  traced: number;
  quantiles: {
    [k: string]: Quantile;
  };
  cause_us: {
    [k: string]: number;
  };
  coverage: ReportCoverage;
}
/**
 * A quantile and its 95 % interval; an end is null where the samples do not bound it.
 */
export interface Quantile {
  us: number | null;
  low_us: number | null;
  high_us: number | null;
}
/**
 * The same of a report, and how many of those requests its rows are about.
 */
export interface ReportCoverage {
  requests: number;
  traced: number;
  weight: number;
  repaired?: number;
  damaged?: number;
  protocol_known?: number;
  groups_without_quic?: number;
  in_sessions?: number;
  in_an_arm?: number;
  compared?: number;
  with_saving?: number;
  cannot_show?: number;
  hosts?: number;
  packets_received?: number;
  packets_wrong_host?: number;
  packets_connection_unknown?: number;
  packets_dropped_otherwise?: number;
}
/**
 * The difference of a quantile of two groups, b less a, and its 95 % interval.
 */
export interface Difference {
  quantile: string;
  us: number | null;
  low_us: number | null;
  high_us: number | null;
}
/**
 * Two groups as they would be with the same mix of `by`: which share of each has a counterpart in the other, in so
 * many strata; their quantiles, and the differences.
 */
export interface SameMixDocument {
  by: string[];
  strata: number;
  a_covered: number;
  b_covered: number;
  a: {
    [k: string]: Quantile;
  };
  b: {
    [k: string]: Quantile;
  };
  differences: Difference[];
}
/**
 * A condition that holds for a request or does not: `carrier` `=` `Halden`, `min_rtt_us` `>=` `90000`.
 */
export interface ConditionDocument {
  attribute: string;
  operator: string;
  value: string;
}
/**
 * What is known of a connection through one trace of it.
 */
export interface ConnectionDocument {
  connection: {
    /**
     * decided once per trace, see schema/README.md
     */
    connection_id: string;
    /**
     * server, client, network or unknown
     */
    vantage: string;
    /**
     * 16 hex digits: xxh3-64 of header, first record, declared id, vantage
     */
    trace_id: string;
    /**
     * rules of fold that made this row
     */
    analysis_version: number;
    /**
     * wall clock of the first record, null when the trace has none
     */
    started_at: string | null;
    /**
     * first to last record
     */
    duration_us: number;
    /**
     * the trace has its end, and no record of it was rejected; a reject that names no connection counts for all of its file, in line v1 for none
     */
    complete: boolean;
    /**
     * contained, sequential, ndjson, quic_trace, line_v1
     */
    serialization: string;
    /**
     * unit of time in the source: ms, us
     */
    time_unit: string;
    /**
     * the first record's time as the source wrote it
     */
    time_base_ns: number;
    /**
     * catalogue/dialects entry that translated it
     */
    dialect: string;
    /**
     * which units the dialect applied, e.g. rtt=ms
     */
    unit_rule: string;
    /**
     * writer of the trace: aioquic, quic-go ...
     */
    stack: string;
    /**
     * as the trace says, else empty
     */
    stack_version: string;
    /**
     * as the trace says, else empty
     */
    congestion_controller: string;
    /**
     * version of QUIC that was spoken, hex without leading zeros: 1, 6b3343cf (version 2), ff00001d (draft 29); empty where no record says it
     */
    quic_version: string;
    /**
     * name of the server
     */
    server: string | null;
    /**
     * cluster of the server
     */
    cluster: string | null;
    /**
     * point of presence
     */
    pop: string | null;
    /**
     * release of the server's software, as whoever deploys it says
     */
    server_release: string | null;
    /**
     * client's network operator
     */
    carrier: string | null;
    /**
     * client's autonomous system
     */
    asn: number | null;
    /**
     * client's country
     */
    country: string | null;
    /**
     * client's region
     */
    region: string | null;
    /**
     * client's city
     */
    city: string | null;
    /**
     * client's H3 cell
     */
    h3_cell: string | null;
    /**
     * lte, 3g, wifi ...
     */
    network_type: string | null;
    /**
     * client application version
     */
    app_version: string | null;
    /**
     * client device
     */
    device: string | null;
    /**
     * truncated client address, /24 or /48
     */
    client_network: string | null;
    /**
     * keyed hash of the client's first ip:port
     */
    client_key: string | null;
    /**
     * records of this connection that became events
     */
    events_seen: number;
    /**
     * all, none, or dropped: kept, until the store dropped them for their age or its size
     */
    events_kept: string;
    /**
     * with which the events were kept: 1 if a rule of content took them, else the share; 0 = they could not be
     */
    event_probability: number;
    /**
     * the server's own sampling of connections; outside of 0.000001 to 1 it is unknown, and requests weigh 1
     */
    trace_probability: number;
    /**
     * first packet to the first 1-RTT packet received (client: sent)
     */
    handshake_us: number | null;
    /**
     * 1-RTT packets went both ways
     */
    handshake_complete: boolean;
    /**
     * empty, attempted, accepted, rejected
     */
    zero_rtt: string;
    /**
     * Retry packets
     */
    retries: number;
    /**
     * path changes
     */
    migrations: number;
    /**
     * paths with packets of their own numbers (multipath), else 1
     */
    paths: number;
    /**
     * PATH_CHALLENGE frames of ours that were answered
     */
    paths_validated: number;
    /**
     * changes of our 1-RTT keys after the first
     */
    key_updates: number;
    /**
     * first reason that is not the ordinary end
     */
    close_reason: string;
    /**
     * error code as written
     */
    close_code: string;
    /**
     * local, remote or empty
     */
    close_owner: string;
    /**
     * packets
     */
    packets_sent: number;
    /**
     * packets
     */
    packets_received: number;
    /**
     * packet bytes, headers included
     */
    bytes_sent: number;
    /**
     * packet bytes, headers included
     */
    bytes_received: number;
    /**
     * packets that only acknowledge
     */
    pure_acks_sent: number;
    /**
     * packets with stream data
     */
    data_packets_sent: number;
    /**
     * stream bytes, every time they were sent
     */
    stream_bytes_sent: number;
    /**
     * stream bytes, counted once
     */
    unique_stream_bytes_sent: number;
    /**
     * packets that repeat stream data
     */
    retransmitted_packets: number;
    /**
     * stream bytes sent again
     */
    retransmitted_bytes: number;
    /**
     * received packets below the largest number seen
     */
    packets_out_of_order: number;
    /**
     * packet_dropped events
     */
    packets_dropped: number;
    /**
     * declared, counted or (by what was sent again) inferred lost, MTU probes left out, spurious ones included
     */
    packets_lost: number;
    /**
     * bytes of those
     */
    bytes_lost: number;
    /**
     * declared lost, acknowledged later
     */
    packets_spurious: number;
    /**
     * lost in the Initial and Handshake spaces
     */
    packets_lost_handshake: number;
    /**
     * lost in the application space
     */
    packets_lost_data: number;
    /**
     * probe timer series
     */
    ptos: number;
    /**
     * of those, answered by a packet that was sent before the timer fired
     */
    ptos_spurious: number;
    /**
     * longest time without any record
     */
    idle_max_us: number;
    /**
     * first window seen
     */
    initial_congestion_window: number | null;
    /**
     * our own sum
     */
    bytes_in_flight_max: number;
    /**
     * time-weighted mean of our own sum while anything was in flight
     */
    bytes_in_flight_mean: number;
    /**
     * times the log's figure and our sum were more than one packet apart
     */
    in_flight_disagreements: number;
    /**
     * RTT samples
     */
    rtt_samples: number;
    /**
     * least sample
     */
    rtt_min_us: number | null;
    /**
     * largest sample
     */
    rtt_max_us: number | null;
    /**
     * mean of the samples
     */
    rtt_mean_us: number | null;
    /**
     * standard deviation of the samples
     */
    rtt_stdev_us: number | null;
    /**
     * first sample
     */
    rtt_handshake_us: number | null;
    /**
     * most retransmissions of one range of bytes
     */
    retransmissions_max: number;
    /**
     * first send to first retransmission
     */
    retransmission_delay_min_us: number | null;
    retransmission_delay_max_us: number | null;
    retransmission_delay_mean_us: number | null;
    retransmission_delay_stdev_us: number | null;
    /**
     * request streams
     */
    requests: number;
    /**
     * request streams that ended
     */
    requests_complete: number;
    /**
     * causes that this log could not have shown
     */
    cannot_show: string[];
    /**
     * what of its log is missing or out of order, by kind: schema/README.md
     */
    damage: {
      [k: string]: unknown;
    };
    /**
     * values of fields with a column that are none it can hold: kept in more, used by nothing
     */
    values_unread: number;
    header?: unknown;
    open_episodes?: unknown;
    [k: string]: unknown;
  };
  ids: ConnectionId[];
  traces: TraceOf[];
}
/**
 * An ID of a connection, whose it was, and when it was first and last seen.
 */
export interface ConnectionId {
  alias: string;
  role: string;
  first_us: number | null;
  last_us: number | null;
}
/**
 * One of a connection's traces.
 */
export interface TraceOf {
  connection_id: string;
  vantage: string;
  trace_id: string;
  complete: boolean;
  events_seen: number;
}
/**
 * How often something stands in a log: an event by name, a packet or a frame by type and direction.
 */
export interface Counted {
  kind: string;
  name: string;
  way: string;
  count: number;
  bytes: number;
}
/**
 * One condition, or two, and how many of their requests are chosen, beside the share elsewhere.
 */
export interface CountedConditionsDocument {
  conditions: ConditionDocument[];
  requests: number;
  chosen: number;
  share: number;
  share_elsewhere: number;
  excess: number;
  excess_low: number;
  excess_high: number;
  chance: number;
}
/**
 * How often each thing stands in a log.
 */
export interface CountsDocument {
  connection_id: string;
  vantage: string;
  trace_id: string;
  counts: Counted[];
}
/**
 * Servers of a cluster began to run another release: its first request, and how many it has in the stretch.
 */
export interface Deployment {
  cluster: string | null;
  server_release: string;
  at: string;
  servers: number;
  requests: number;
}
/**
 * Releases that servers began to run in a stretch of time, the earliest first; `all` counts those left out too.
 */
export interface DeploymentsDocument {
  deployments: Deployment[];
  all: number;
}
/**
 * What is different about the chosen requests: by `excess_low` times `share`, the greatest first.
 */
export interface DifferentDocument {
  requests: number;
  chosen: number;
  chosen_from_us: number;
  design_effect: number;
  tested: number;
  findings: FindingDocument[];
  coverage: Coverage;
}
/**
 * Conditions that the chosen requests meet more often than the others. `is_symptom`: they tell how requests are
 * slow. `through`: the narrower finding without whose requests it would not be one. `also`: conditions that hold for
 * the same requests. `nested`: the same of other edges of its measured attribute.
 */
export interface FindingDocument {
  conditions: ConditionDocument[];
  requests: number;
  chosen: number;
  share: number;
  share_elsewhere: number;
  excess: number;
  excess_low: number;
  excess_high: number;
  chance: number;
  is_symptom: boolean;
  through: ConditionDocument[];
  also: ConditionDocument[];
  nested: CountedConditionsDocument[];
}
/**
 * A stretch of a trace's time with one cause; `stream_id` is -1 for those of the whole connection.
 */
export interface Episode {
  kind: string;
  stream_id: number;
  path_id?: number;
  start_us: number;
  end_us: number;
  first_seq: number;
  last_seq: number;
  confirmed?: boolean | null;
  trigger?: string | null;
  packet_number?: number | null;
  bytes?: number | null;
  count?: number | null;
  detection_us?: number | null;
  wait_us?: number | null;
  congestion_window?: number | null;
}
/**
 * Stretches with one cause, by their start; kinds in `open` have not ended.
 */
export interface EpisodesDocument {
  connection_id: string;
  vantage: string;
  trace_id: string;
  episodes: Episode[];
  open: string[];
}
/**
 * An event with the columns of `events` that it has a value for; `carried` are the frames of a lost packet, `more`
 * is what has no column, as raw JSON.
 */
export interface Event {
  seq: number;
  time_us: number;
  name: string;
  packet_type?: string;
  trigger?: string;
  new_state?: string;
  old_state?: string;
  timer_type?: string;
  event_type?: string;
  owner?: string;
  http_frame_type?: string;
  path_id?: number;
  packet_number?: number;
  packet_bytes?: number;
  payload_bytes?: number;
  stream_id?: number;
  offset?: number;
  length?: number;
  congestion_window?: number;
  bytes_in_flight?: number;
  packets_in_flight?: number;
  ssthresh?: number;
  pacing_rate?: number;
  pto_count?: number;
  min_rtt_us?: number;
  smoothed_rtt_us?: number;
  latest_rtt_us?: number;
  rtt_variance_us?: number;
  ack_delay_us?: number;
  delta_us?: number;
  lost_packets?: number;
  lost_bytes?: number;
  count?: number;
  app_limited?: boolean;
  frames?: Frame[];
  carried?: Frame[];
  acked?: number[][];
  more?: {
    [k: string]: string;
  };
}
/**
 * A frame of a packet; a stream's has its place in the stream.
 */
export interface Frame {
  frame_type: string;
  stream_id?: number;
  offset?: number;
  length?: number;
  fin?: boolean;
}
/**
 * A page of a trace's events; `next_seq` is null on the last.
 */
export interface EventsDocument {
  connection_id: string;
  vantage: string;
  trace_id: string;
  events: Event[];
  next_seq: number | null;
}
/**
 * Why one request took as long as it did: the parts add up to `duration_us`, to the microsecond. Of a request that
 * is not there, `begun` are those whose id begins so.
 */
export interface Explained {
  request_id: string;
  duration_us: number | null;
  logged_duration_us: number | null;
  complete: boolean | null;
  parts: Part[];
  top_cause: string | null;
  unattributed_us: number | null;
  grade: string | null;
  imputed_us: number | null;
  bounds_us: {
    [k: string]: number[];
  };
  cannot_show: string[];
  overlapping: {
    [k: string]: number;
  };
  sentence: string;
  episodes: Episode[];
  episodes_all: number;
  episodes_cut: boolean;
  events: Event[];
  events_all: number;
  connection: {
    /**
     * decided once per trace, see schema/README.md
     */
    connection_id?: string;
    /**
     * server, client, network or unknown
     */
    vantage?: string;
    /**
     * 16 hex digits: xxh3-64 of header, first record, declared id, vantage
     */
    trace_id?: string;
    /**
     * analysis_version * 2^40 + 3 * (largest seq folded + 1), + 1 when what went out at that time is judged, + 1 more in the connection of a whole trace
     */
    version?: number;
    /**
     * rules of fold that made this row
     */
    analysis_version?: number;
    /**
     * day on which the trace started; 1970-01-01 when undated
     */
    trace_day?: string;
    /**
     * wall clock of the first record, null when the trace has none
     */
    started_at?: string | null;
    /**
     * first to last record
     */
    duration_us?: number;
    /**
     * the trace has its end, and no record of it was rejected; a reject that names no connection counts for all of its file, in line v1 for none
     */
    complete?: boolean;
    /**
     * name of the file that was read last, for people; in no key
     */
    source_file?: string;
    /**
     * contained, sequential, ndjson, quic_trace, line_v1
     */
    serialization?: string;
    /**
     * the trace's header as JSON, for export
     */
    header?: string;
    /**
     * unit of time in the source: ms, us
     */
    time_unit?: string;
    /**
     * the first record's time as the source wrote it
     */
    time_base_ns?: number;
    /**
     * catalogue/dialects entry that translated it
     */
    dialect?: string;
    /**
     * which units the dialect applied, e.g. rtt=ms
     */
    unit_rule?: string;
    /**
     * writer of the trace: aioquic, quic-go ...
     */
    stack?: string;
    /**
     * as the trace says, else empty
     */
    stack_version?: string;
    /**
     * as the trace says, else empty
     */
    congestion_controller?: string;
    /**
     * version of QUIC that was spoken, hex without leading zeros: 1, 6b3343cf (version 2), ff00001d (draft 29); empty where no record says it
     */
    quic_version?: string;
    /**
     * name of the server
     */
    server?: string | null;
    /**
     * cluster of the server
     */
    cluster?: string | null;
    /**
     * point of presence
     */
    pop?: string | null;
    /**
     * release of the server's software, as whoever deploys it says
     */
    server_release?: string | null;
    /**
     * client's network operator
     */
    carrier?: string | null;
    /**
     * client's autonomous system
     */
    asn?: number | null;
    /**
     * client's country
     */
    country?: string | null;
    /**
     * client's region
     */
    region?: string | null;
    /**
     * client's city
     */
    city?: string | null;
    /**
     * client's H3 cell
     */
    h3_cell?: string | null;
    /**
     * lte, 3g, wifi ...
     */
    network_type?: string | null;
    /**
     * client application version
     */
    app_version?: string | null;
    /**
     * client device
     */
    device?: string | null;
    /**
     * truncated client address, /24 or /48
     */
    client_network?: string | null;
    /**
     * keyed hash of the client's first ip:port
     */
    client_key?: string | null;
    /**
     * records of this connection that became events
     */
    events_seen?: number;
    /**
     * all, none, or dropped: kept, until the store dropped them for their age or its size
     */
    events_kept?: string;
    /**
     * with which the events were kept: 1 if a rule of content took them, else the share; 0 = they could not be
     */
    event_probability?: number;
    /**
     * the server's own sampling of connections; outside of 0.000001 to 1 it is unknown, and requests weigh 1
     */
    trace_probability?: number;
    /**
     * first packet to the first 1-RTT packet received (client: sent)
     */
    handshake_us?: number | null;
    /**
     * 1-RTT packets went both ways
     */
    handshake_complete?: boolean;
    /**
     * empty, attempted, accepted, rejected
     */
    zero_rtt?: string;
    /**
     * Retry packets
     */
    retries?: number;
    /**
     * path changes
     */
    migrations?: number;
    /**
     * paths with packets of their own numbers (multipath), else 1
     */
    paths?: number;
    /**
     * PATH_CHALLENGE frames of ours that were answered
     */
    paths_validated?: number;
    /**
     * changes of our 1-RTT keys after the first
     */
    key_updates?: number;
    /**
     * first reason that is not the ordinary end
     */
    close_reason?: string;
    /**
     * error code as written
     */
    close_code?: string;
    /**
     * local, remote or empty
     */
    close_owner?: string;
    /**
     * packets
     */
    packets_sent?: number;
    /**
     * packets
     */
    packets_received?: number;
    /**
     * packet bytes, headers included
     */
    bytes_sent?: number;
    /**
     * packet bytes, headers included
     */
    bytes_received?: number;
    /**
     * packets that only acknowledge
     */
    pure_acks_sent?: number;
    /**
     * packets with stream data
     */
    data_packets_sent?: number;
    /**
     * stream bytes, every time they were sent
     */
    stream_bytes_sent?: number;
    /**
     * stream bytes, counted once
     */
    unique_stream_bytes_sent?: number;
    /**
     * packets that repeat stream data
     */
    retransmitted_packets?: number;
    /**
     * stream bytes sent again
     */
    retransmitted_bytes?: number;
    /**
     * received packets below the largest number seen
     */
    packets_out_of_order?: number;
    /**
     * packet_dropped events
     */
    packets_dropped?: number;
    /**
     * declared, counted or (by what was sent again) inferred lost, MTU probes left out, spurious ones included
     */
    packets_lost?: number;
    /**
     * bytes of those
     */
    bytes_lost?: number;
    /**
     * declared lost, acknowledged later
     */
    packets_spurious?: number;
    /**
     * lost in the Initial and Handshake spaces
     */
    packets_lost_handshake?: number;
    /**
     * lost in the application space
     */
    packets_lost_data?: number;
    /**
     * probe timer series
     */
    ptos?: number;
    /**
     * of those, answered by a packet that was sent before the timer fired
     */
    ptos_spurious?: number;
    /**
     * longest time without any record
     */
    idle_max_us?: number;
    /**
     * first window seen
     */
    initial_congestion_window?: number | null;
    /**
     * our own sum
     */
    bytes_in_flight_max?: number;
    /**
     * time-weighted mean of our own sum while anything was in flight
     */
    bytes_in_flight_mean?: number;
    /**
     * times the log's figure and our sum were more than one packet apart
     */
    in_flight_disagreements?: number;
    /**
     * RTT samples
     */
    rtt_samples?: number;
    /**
     * least sample
     */
    rtt_min_us?: number | null;
    /**
     * largest sample
     */
    rtt_max_us?: number | null;
    /**
     * mean of the samples
     */
    rtt_mean_us?: number | null;
    /**
     * standard deviation of the samples
     */
    rtt_stdev_us?: number | null;
    /**
     * first sample
     */
    rtt_handshake_us?: number | null;
    /**
     * samples by bucket b = floor(ln(us) / ln(1.02)); a bucket's middle is within 1 % of its samples
     */
    rtt_histogram?: {
      [k: string]: unknown;
    };
    /**
     * most retransmissions of one range of bytes
     */
    retransmissions_max?: number;
    /**
     * first send to first retransmission
     */
    retransmission_delay_min_us?: number | null;
    retransmission_delay_max_us?: number | null;
    retransmission_delay_mean_us?: number | null;
    retransmission_delay_stdev_us?: number | null;
    /**
     * request streams
     */
    requests?: number;
    /**
     * request streams that ended
     */
    requests_complete?: number;
    /**
     * causes that this log could not have shown
     */
    cannot_show?: string[];
    /**
     * what of its log is missing or out of order, by kind: schema/README.md
     */
    damage?: {
      [k: string]: unknown;
    };
    open_episodes?: unknown;
    /**
     * values of fields with a column that are none it can hold: kept in more, used by nothing
     */
    values_unread?: number;
    [k: string]: unknown;
  };
  coverage: ExplainedCoverage;
  siblings: Siblings | null;
  begun?: BegunRequest[];
}
/**
 * How long a request waited for one cause; `bounds_us` where it is not known exactly, and what it would have been
 * spared without it, with the interval of that prediction.
 */
export interface Part {
  cause: string;
  us: number;
  known: string;
  bounds_us: number[] | null;
  saves_us: number | null;
  saves_interval_us: number[] | null;
}
/**
 * How much of one request a trace shows, and how its line of an access log was joined to it.
 */
export interface ExplainedCoverage {
  requests: number;
  traced: number;
  weight: number;
  coverage: string;
  link: string;
  events_seen: number | null;
  events_kept: string | null;
}
/**
 * What traced requests spent their time on that are like one without a trace, in what makes a difference there: of
 * the same protocol, no more than `within_s` apart, and alike in each column of `alike_in`: of the same value, or
 * (`response_bytes`, `duration_us`) half to twice as much, or (`duration_us_or_more`) half as long or longer.
 * `causes` are those that are most often the largest part first; none where the requests are too few. `top_cause` is
 * the largest part of two thirds of them, null where none is. In the columns of `unseen_in` no traced request of that
 * time has the value.
 */
export interface Siblings {
  requests: number;
  clusters: number;
  alike_in: string[];
  unseen_in: string[];
  within_s: number;
  top_cause: string | null;
  causes: SiblingCause[];
  examples: string[];
}
/**
 * What share of the time of requests that are like another one cause has, with its 95 % interval by user (else
 * connection), and of how many of them it is the largest part.
 */
export interface SiblingCause {
  cause: string;
  share: number | null;
  low: number | null;
  high: number | null;
  largest_of: number;
}
/**
 * A connection that an upload had.
 */
export interface FoundConnection {
  connection_id: string;
  vantage: string;
  trace_id: string;
  events_seen: number;
  requests: number;
}
/**
 * Frames of streams, or in buckets the bytes of each stream; `is_again` is a retransmission.
 */
export interface FrameColumns {
  seq?: number[];
  time_us?: number[];
  is_sent?: boolean[];
  frame_type?: string[];
  stream_id?: number[];
  offset?: number[];
  length?: number[];
  fin?: boolean[];
  is_again?: boolean[];
  bucket_start_us?: number[];
  bytes_sent?: number[];
  bytes_received?: number[];
  bytes_again?: number[];
}
/**
 * Cells of a heat map, as columns of one length: requests that began in a step and took from `from_us` up to, not
 * with, `to_us`.
 */
export interface HeatDocument {
  since: string;
  until: string;
  step_s: number;
  bands_per_decade: number;
  started_at: string[];
  from_us: number[];
  to_us: number[];
  requests: number[];
  traced: number[];
  weight: number[];
  coverage: Coverage;
}
/**
 * The ends of 95 % intervals over time, in us, null where nothing bounds one.
 */
export interface IntervalColumns {
  low: (number | null)[];
  high: (number | null)[];
}
/**
 * How much may be sent, as each side stated it.
 */
export interface LimitColumns {
  seq?: number[];
  time_us?: number[];
  is_ours?: boolean[];
  limit_name?: string[];
  stream_id?: number[];
  maximum?: number[];
}
/**
 * What a load read; `connections_found` is not told to who may only upload.
 */
export interface LoadedDocument {
  files: number;
  connections: number;
  events: number;
  requests: number;
  rejected: {
    [k: string]: number;
  };
  values_unread: number;
  limits_crossed: {
    [k: string]: number;
  };
  erased: number;
  bytes: number;
  seconds: number;
  connections_found?: FoundConnection[];
}
/**
 * Losses, changes of state, of path, of keys, probes.
 */
export interface MarkColumns {
  seq?: number[];
  time_us?: number[];
  name?: string[];
  packet_type?: string[];
  packet_number?: (number | null)[];
  bytes?: number[];
  trigger?: string[];
  old_state?: string[];
  new_state?: string[];
  owner?: string[];
  path_id?: (number | null)[];
  pto_count?: (number | null)[];
  lost_packets?: (number | null)[];
  lost_bytes?: (number | null)[];
}
/**
 * What the sender knows of its path.
 */
export interface MetricColumns {
  seq?: number[];
  time_us?: number[];
  bucket_start_us?: number[];
  congestion_window?: (number | null)[] | (number | null)[][];
  bytes_in_flight?: (number | null)[] | (number | null)[][];
  ssthresh?: (number | null)[] | (number | null)[][];
  pacing_rate?: (number | null)[] | (number | null)[][];
  latest_rtt_us?: (number | null)[] | (number | null)[][];
  smoothed_rtt_us?: (number | null)[] | (number | null)[][];
  min_rtt_us?: (number | null)[] | (number | null)[][];
  rtt_variance_us?: (number | null)[] | (number | null)[][];
}
/**
 * A report of `quiclens report`, with its title, notes on its figures, what to say where it has no row, and words
 * for the figures, and the strata, that its rows name.
 */
export interface NamedReportDocument {
  name: string;
  params: {
    [k: string]: unknown;
  };
  columns: ReportColumn[];
  rows: unknown[][];
  samples: number;
  groups: number | null;
  groups_shown: number | null;
  coverage: ReportCoverage;
  warnings: ReportWarning[];
  title: string;
  notes: string[];
  nothing: string;
  words: {
    [k: string]: string;
  };
}
/**
 * A column of a report and its unit, "" where it has none.
 */
export interface ReportColumn {
  name: string;
  unit: string;
}
/**
 * What makes a report's figures doubtful: of which kind it is, and a sentence.
 */
export interface ReportWarning {
  kind: "sample_ratio_mismatch" | "users_in_several_arms" | "more";
  text: string;
}
/**
 * Durations of requests over time, the group with most requests first; `groups` is how many there are, of which
 * `series` has the largest, or those with the largest share of requests slower than `slow_us`, and last all others.
 */
export interface OverTimeDocument {
  since: string;
  until: string;
  step_s: number;
  by: string[];
  drawn: "largest" | "slowest";
  slow_us: number | null;
  series: Series[];
  groups: number;
  coverage: Coverage;
}
/**
 * One group over time, or all `groups` together that have no series of their own, with an empty `group`: columns of
 * one length; a quantile in us, null where too few were measured. `intervals` are by quantile; null where they were
 * not asked for, where requests or steps are too many, and of groups together.
 */
export interface Series {
  group: {
    [k: string]: string | null;
  };
  groups: number;
  started_at: string[];
  requests: number[];
  traced: number[];
  p50: (number | null)[];
  p75: (number | null)[];
  p90: (number | null)[];
  p95: (number | null)[];
  p99: (number | null)[];
  intervals: {
    [k: string]: IntervalColumns;
  } | null;
}
/**
 * Packets, or in buckets how many were sent and received, and the last numbers that were sent and acknowledged.
 */
export interface PacketColumns {
  seq?: number[];
  time_us?: number[];
  is_sent?: boolean[];
  packet_type?: string[];
  packet_number?: (number | null)[];
  bytes?: number[];
  acked?: number[][][];
  bucket_start_us?: number[];
  packets_sent?: number[];
  bytes_sent?: number[];
  packets_received?: number[];
  bytes_received?: number[];
  last_sent?: (number | null)[];
  last_acked?: (number | null)[];
}
/**
 * RFC 9457, and two members of ours.
 */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: string;
  hint: string;
  [k: string]: unknown;
}
/**
 * A table with a name. Of `groups` the first `groups_shown` have rows (null where it has no groups); `samples` and
 * `coverage` are of all. `warnings` say what makes its figures doubtful.
 */
export interface ReportDocument {
  name: string;
  params: {
    [k: string]: unknown;
  };
  columns: ReportColumn[];
  rows: unknown[][];
  samples: number;
  groups: number | null;
  groups_shown: number | null;
  coverage: ReportCoverage;
  warnings: ReportWarning[];
}
/**
 * What pictures of a trace are drawn from: exact, or in buckets of `bucket_us`. With `marks_cut` there are more
 * marks, later ones, than these; `losses` are all that were declared lost. `bytes_sent_before` are those of
 * packets that were sent before `from_us`; limits that stood then are there at `from_us`.
 */
export interface SeriesDocument {
  connection_id: string;
  vantage: string;
  trace_id: string;
  packets: PacketColumns;
  metrics: MetricColumns;
  frames: FrameColumns;
  from_us: number;
  to_us: number;
  events: number;
  losses: number;
  bytes_sent_before: number;
  exact: boolean;
  bucket_us: number | null;
  marks: MarkColumns;
  marks_cut: boolean;
  limits: LimitColumns;
}
/**
 * The slowest requests, the longest first, or those that took the most times as long as is usual; `next` is the
 * `after` that gives those behind them, null where none are, and where a list was asked by a column. With one, where
 * those of all its values are too many, `values` is how many it has, of which `values_shown` are in the list; else
 * both are null.
 */
export interface SlowDocument {
  requests: SlowRequest[];
  next: string | null;
  values: number | null;
  values_shown: number | null;
  coverage: Coverage;
}
/**
 * A request as a list has it; a column of `by` that is none of these is there under its own name. `usual_us` is how
 * long requests of its carrier, path and size take, where the list is sorted by it and there are enough of them.
 */
export interface SlowRequest {
  request_id: string;
  external_id: string | null;
  connection_id: string | null;
  stream_id: number | null;
  started_at: string | null;
  server: string | null;
  carrier: string | null;
  region: string | null;
  vantage: string | null;
  source: string;
  method: string | null;
  authority: string | null;
  path: string | null;
  status: number | null;
  duration_us: number | null;
  logged_duration_us: number | null;
  top_cause: string | null;
  top_cause_us: number | null;
  coverage: string;
  grade: string;
  usual_us: number | null;
}
/**
 * What traced requests spent their time on over time: columns of one length, of causes that there were.
 */
export interface SpentDocument {
  since: string;
  until: string;
  step_s: number;
  started_at: string[];
  requests: number[];
  traced: number[];
  cause_us: {
    [k: string]: number[];
  };
  coverage: Coverage;
}
/**
 * All stretches of one kind: those that overlap count once in `total_us`.
 */
export interface Stop {
  kind: string;
  episodes: number;
  total_us: number;
  median_us: number;
  longest_us: number;
}
/**
 * By what a connection was stopped, or how it recovered.
 */
export interface StopsDocument {
  connection_id: string;
  vantage: string;
  trace_id: string;
  episodes: Episode[];
  open: string[];
  kinds: Stop[];
  duration_us: number;
  cannot_show: string[];
}
/**
 * The request streams of a trace, by their start.
 */
export interface StreamsDocument {
  connection_id: string;
  vantage: string;
  trace_id: string;
  streams: {
    connection_id: string;
    vantage: string;
    trace_id: string;
    stream_id: number;
    analysis_version: number;
    /**
     * wall clock of start_us
     */
    started_at: string | null;
    /**
     * ATTRIBUTION clock mark
     */
    start_us: number;
    request_end_us: number | null;
    response_start_us: number | null;
    first_byte_us: number | null;
    last_byte_us: number | null;
    end_us: number;
    /**
     * observed or inferred
     */
    start_is: string;
    /**
     * acked, received, imputed (the record of it is missing), last_byte, reset, trace_end, last_event or end_not_logged
     */
    end_is: string;
    /**
     * the request ended within the trace
     */
    complete: boolean;
    /**
     * end_us - start_us
     */
    duration_us: number;
    /**
     * null where the trace has no HTTP events
     */
    method: string | null;
    authority: string | null;
    path: string | null;
    status: number | null;
    /**
     * x-request-id or traceparent header
     */
    external_id: string | null;
    /**
     * stream bytes of the request
     */
    request_bytes: number;
    /**
     * stream bytes of the response
     */
    response_bytes: number;
    /**
     * packets that carried the response
     */
    packets: number;
    /**
     * of those, declared lost
     */
    packets_lost: number;
    retransmitted_bytes: number;
    /**
     * longest time from sending a packet of this stream to declaring it lost
     */
    detection_us: number | null;
    /**
     * smoothed RTT when the request ended
     */
    rtt_us: number | null;
    /**
     * least RTT up to then
     */
    min_rtt_us: number | null;
    /**
     * first event that names the stream
     */
    first_seq: number;
    /**
     * last event that names the stream
     */
    last_seq: number;
    /**
     * causes whose time is an inference; the others are observed
     */
    inferred: string[];
    /**
     * causes that this log could not have shown
     */
    cannot_show: string[];
    /**
     * how long each condition held, whatever else held too
     */
    overlapping: {
      [k: string]: unknown;
    };
    /**
     * whole: no record of it is missing; repaired: what is missing changes neither the largest part nor the duration by more than a twentieth; damaged: it may
     */
    grade: string;
    /**
     * of duration_us, what lies between the records beside missing ones: any cause may have held in it
     */
    imputed_us: number;
    /**
     * least that a part, or the duration, can be; a cause that is not there has a part that is known exactly
     */
    bounds_low: {
      [k: string]: unknown;
    };
    /**
     * most that it can be
     */
    bounds_high: {
      [k: string]: unknown;
    };
    /**
     * by how much the request would have ended earlier without the cause
     */
    saves: {
      [k: string]: unknown;
    };
    parts?: unknown;
    [k: string]: unknown;
  }[];
}
/**
 * What has become worse in a stretch of time, of the requests that `where` leaves, the most lost seconds first;
 * `level` is the chance that is told.
 */
export interface TriageDocument {
  where: string[];
  since: string;
  until: string;
  before_since: string;
  tested: number;
  level: number;
  findings: TriageFinding[];
  coverage: Coverage;
}
/**
 * Who has become worse (no condition: all), since when, how many, and what of.
 *
 * `since_low` and `since_high` bound the moment with 95 % confidence. `measure` is `slow` (longer than nine in ten of
 * the same kind), `very_slow` (than 99 in 100), `extreme` (than 999 in 1,000) or `failed`; or, where users feel
 * nothing, of traced requests `handshake` (waited for one), `loss` (lost a packet) or `retransmission` (waited for
 * one), or of all `not_quic`. The shares are of that measure; `excess` is how many requests count beyond the share
 * before, of weighted ones how many they are worth. `slower_us` and the cause's means compare requests of the same
 * paths.
 */
export interface TriageFinding {
  sentence: string;
  conditions: ConditionDocument[];
  measure: string;
  since: string;
  since_low: string;
  since_high: string;
  requests: number;
  requests_all: number;
  users: number | null;
  users_all: number | null;
  share_before: number;
  share_after: number;
  excess: number;
  chance: number;
  dispersion: number;
  slower_us: number | null;
  lost_s: number;
  cause: string | null;
  cause_before_us: number | null;
  cause_after_us: number | null;
  traced_before: number;
  traced_after: number;
  examples: TriageExample[];
}
/**
 * A request that shows a finding.
 */
export interface TriageExample {
  request_id: string;
  started_at: string;
  duration_us: number | null;
  top_cause: string | null;
}
