-- Dumped by `python -m quiclens_schema.migrate dump`: what the migrations make. Not applied by anything.

CREATE TABLE connection_aliases
(
    `alias` String CODEC(ZSTD(3)),
    `connection_id` String CODEC(ZSTD(3)),
    `vantage` LowCardinality(String) CODEC(ZSTD(3)),
    `trace_id` String CODEC(ZSTD(3)),
    `role` LowCardinality(String) CODEC(ZSTD(3)),
    `version` UInt64 CODEC(ZSTD(3)),
    `trace_day` Date CODEC(ZSTD(3)),
    `server` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `first_us` Int64 CODEC(ZSTD(3)),
    `last_us` Int64 CODEC(ZSTD(3)),
    `first_at` Nullable(DateTime64(6, 'UTC')) CODEC(ZSTD(3)),
    `last_at` Nullable(DateTime64(6, 'UTC')) CODEC(ZSTD(3)),
    INDEX by_connection_id connection_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY trace_day
ORDER BY (alias, connection_id, vantage, trace_id, role)
SETTINGS enable_block_number_column = 1, fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE TABLE connections
(
    `connection_id` String CODEC(ZSTD(3)),
    `vantage` LowCardinality(String) CODEC(ZSTD(3)),
    `trace_id` String CODEC(ZSTD(3)),
    `version` UInt64 CODEC(ZSTD(3)),
    `analysis_version` UInt16 CODEC(ZSTD(3)),
    `trace_day` Date CODEC(ZSTD(3)),
    `started_at` Nullable(DateTime64(6, 'UTC')) CODEC(ZSTD(3)),
    `duration_us` UInt64 CODEC(ZSTD(3)),
    `complete` Bool CODEC(ZSTD(3)),
    `source_file` String CODEC(ZSTD(3)),
    `serialization` LowCardinality(String) CODEC(ZSTD(3)),
    `header` String CODEC(ZSTD(3)),
    `time_unit` LowCardinality(String) CODEC(ZSTD(3)),
    `time_base_ns` Int64 CODEC(ZSTD(3)),
    `dialect` LowCardinality(String) CODEC(ZSTD(3)),
    `unit_rule` LowCardinality(String) CODEC(ZSTD(3)),
    `stack` LowCardinality(String) CODEC(ZSTD(3)),
    `stack_version` LowCardinality(String) CODEC(ZSTD(3)),
    `congestion_controller` LowCardinality(String) CODEC(ZSTD(3)),
    `quic_version` LowCardinality(String) CODEC(ZSTD(3)),
    `server` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `cluster` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `pop` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `server_release` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `carrier` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `asn` Nullable(UInt32) CODEC(ZSTD(3)),
    `country` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `region` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `city` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `h3_cell` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `network_type` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `app_version` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `device` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `client_network` Nullable(String) CODEC(ZSTD(3)),
    `client_key` Nullable(String) CODEC(ZSTD(3)),
    `events_seen` UInt64 CODEC(ZSTD(3)),
    `events_kept` LowCardinality(String) CODEC(ZSTD(3)),
    `event_probability` Float64 CODEC(ZSTD(3)),
    `trace_probability` Float64 CODEC(ZSTD(3)),
    `handshake_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `handshake_complete` Bool CODEC(ZSTD(3)),
    `zero_rtt` LowCardinality(String) CODEC(ZSTD(3)),
    `retries` UInt32 CODEC(ZSTD(3)),
    `migrations` UInt32 CODEC(ZSTD(3)),
    `paths` UInt32 CODEC(ZSTD(3)),
    `paths_validated` UInt32 CODEC(ZSTD(3)),
    `key_updates` UInt32 CODEC(ZSTD(3)),
    `close_reason` String CODEC(ZSTD(3)),
    `close_code` String CODEC(ZSTD(3)),
    `close_owner` LowCardinality(String) CODEC(ZSTD(3)),
    `packets_sent` UInt64 CODEC(ZSTD(3)),
    `packets_received` UInt64 CODEC(ZSTD(3)),
    `bytes_sent` UInt64 CODEC(ZSTD(3)),
    `bytes_received` UInt64 CODEC(ZSTD(3)),
    `pure_acks_sent` UInt64 CODEC(ZSTD(3)),
    `data_packets_sent` UInt64 CODEC(ZSTD(3)),
    `stream_bytes_sent` UInt64 CODEC(ZSTD(3)),
    `unique_stream_bytes_sent` UInt64 CODEC(ZSTD(3)),
    `retransmitted_packets` UInt64 CODEC(ZSTD(3)),
    `retransmitted_bytes` UInt64 CODEC(ZSTD(3)),
    `packets_out_of_order` UInt64 CODEC(ZSTD(3)),
    `packets_dropped` UInt64 CODEC(ZSTD(3)),
    `packets_lost` UInt64 CODEC(ZSTD(3)),
    `bytes_lost` UInt64 CODEC(ZSTD(3)),
    `packets_spurious` UInt64 CODEC(ZSTD(3)),
    `packets_lost_handshake` UInt64 CODEC(ZSTD(3)),
    `packets_lost_data` UInt64 CODEC(ZSTD(3)),
    `ptos` UInt64 CODEC(ZSTD(3)),
    `ptos_spurious` UInt64 CODEC(ZSTD(3)),
    `idle_max_us` UInt64 CODEC(ZSTD(3)),
    `initial_congestion_window` Nullable(UInt64) CODEC(ZSTD(3)),
    `bytes_in_flight_max` UInt64 CODEC(ZSTD(3)),
    `bytes_in_flight_mean` Float64 CODEC(ZSTD(3)),
    `in_flight_disagreements` UInt64 CODEC(ZSTD(3)),
    `rtt_samples` UInt64 CODEC(ZSTD(3)),
    `rtt_min_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `rtt_max_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `rtt_mean_us` Nullable(Float64) CODEC(ZSTD(3)),
    `rtt_stdev_us` Nullable(Float64) CODEC(ZSTD(3)),
    `rtt_handshake_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `rtt_histogram` Map(UInt16, UInt32) CODEC(ZSTD(3)),
    `retransmissions_max` UInt32 CODEC(ZSTD(3)),
    `retransmission_delay_min_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `retransmission_delay_max_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `retransmission_delay_mean_us` Nullable(Float64) CODEC(ZSTD(3)),
    `retransmission_delay_stdev_us` Nullable(Float64) CODEC(ZSTD(3)),
    `requests` UInt64 CODEC(ZSTD(3)),
    `requests_complete` UInt64 CODEC(ZSTD(3)),
    `cannot_show` Array(LowCardinality(String)) CODEC(ZSTD(3)),
    `damage` Map(LowCardinality(String), UInt64) CODEC(ZSTD(3)),
    `open_episodes` String CODEC(ZSTD(3)),
    `values_unread` UInt64 CODEC(ZSTD(3)),
    INDEX by_trace_id trace_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_connection_id connection_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY trace_day
ORDER BY (connection_id, vantage, trace_id)
SETTINGS min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1, enable_block_number_column = 1, fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE TABLE dimension_versions
(
    `started_hour` DateTime('UTC') CODEC(ZSTD(3)),
    `dimension` LowCardinality(String) CODEC(ZSTD(3)),
    `value` String CODEC(ZSTD(3)),
    `requests` UInt64 CODEC(ZSTD(3)),
    `version` UInt64 CODEC(ZSTD(3)),
    `is_deleted` UInt8 CODEC(ZSTD(3))
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY toDate(started_hour)
ORDER BY (dimension, started_hour, value)
SETTINGS min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1, fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE TABLE dropped_days
(
    `table_name` LowCardinality(String),
    `day` Date,
    `rows` UInt64,
    `bytes` UInt64,
    `why` LowCardinality(String),
    `dropped_at` DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = MergeTree
ORDER BY (table_name, day)
SETTINGS index_granularity = 8192;

CREATE TABLE episodes
(
    `connection_id` String CODEC(ZSTD(3)),
    `vantage` LowCardinality(String) CODEC(ZSTD(3)),
    `trace_id` String CODEC(ZSTD(3)),
    `kind` LowCardinality(String) CODEC(ZSTD(3)),
    `path_id` UInt64 CODEC(ZSTD(3)),
    `stream_id` Int64 CODEC(ZSTD(3)),
    `first_seq` UInt64 CODEC(ZSTD(3)),
    `last_seq` UInt64 CODEC(ZSTD(3)),
    `version` UInt64 CODEC(ZSTD(3)),
    `analysis_version` UInt16 CODEC(ZSTD(3)),
    `trace_day` Date CODEC(ZSTD(3)),
    `start_us` Int64 CODEC(ZSTD(3)),
    `end_us` Int64 CODEC(ZSTD(3)),
    `confirmed` Bool CODEC(ZSTD(3)),
    `trigger` LowCardinality(String) CODEC(ZSTD(3)),
    `packet_number` Nullable(UInt64) CODEC(ZSTD(3)),
    `bytes` UInt64 CODEC(ZSTD(3)),
    `count` UInt32 CODEC(ZSTD(3)),
    `detection_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `wait_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `congestion_window` Nullable(UInt64) CODEC(ZSTD(3)),
    INDEX by_connection_id connection_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY trace_day
ORDER BY (connection_id, vantage, trace_id, kind, path_id, stream_id, first_seq)
SETTINGS min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1, fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE TABLE erased
(
    `kind` LowCardinality(String),
    `hash` String,
    `key_id` LowCardinality(String),
    `erased_at` DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = MergeTree
ORDER BY (kind, hash)
SETTINGS index_granularity = 8192;

CREATE TABLE events
(
    `connection_id` LowCardinality(String) CODEC(ZSTD(3)),
    `vantage` LowCardinality(String) CODEC(ZSTD(3)),
    `trace_id` LowCardinality(String) CODEC(ZSTD(3)),
    `seq` UInt64 CODEC(DoubleDelta, ZSTD(1)),
    `trace_day` Date CODEC(ZSTD(3)),
    `time_us` Int64 CODEC(Delta(8), ZSTD(3)),
    `time_ns` UInt16 CODEC(ZSTD(3)),
    `name` LowCardinality(String) CODEC(ZSTD(6)),
    `shape` LowCardinality(String) CODEC(ZSTD(6)),
    `packet_type` LowCardinality(String) CODEC(ZSTD(6)),
    `trigger` LowCardinality(String) CODEC(ZSTD(3)),
    `new_state` LowCardinality(String) CODEC(ZSTD(3)),
    `old_state` LowCardinality(String) CODEC(ZSTD(3)),
    `timer_type` LowCardinality(String) CODEC(ZSTD(3)),
    `event_type` LowCardinality(String) CODEC(ZSTD(3)),
    `owner` LowCardinality(String) CODEC(ZSTD(3)),
    `http_frame_type` LowCardinality(String) CODEC(ZSTD(3)),
    `dcid` LowCardinality(String) CODEC(ZSTD(6)),
    `scid` LowCardinality(String) CODEC(ZSTD(3)),
    `path_id` Nullable(UInt64) CODEC(ZSTD(3)),
    `packet_number` Nullable(UInt64) CODEC(T64, ZSTD(3)),
    `packet_bytes` Nullable(UInt64) CODEC(ZSTD(6)),
    `payload_bytes` Nullable(UInt64) CODEC(ZSTD(3)),
    `stream_id` Nullable(UInt64) CODEC(ZSTD(3)),
    `offset` Nullable(UInt64) CODEC(ZSTD(3)),
    `length` Nullable(UInt64) CODEC(ZSTD(3)),
    `congestion_window` Nullable(UInt64) CODEC(ZSTD(6)),
    `bytes_in_flight` Nullable(UInt64) CODEC(ZSTD(6)),
    `packets_in_flight` Nullable(UInt64) CODEC(ZSTD(3)),
    `ssthresh` Nullable(UInt64) CODEC(ZSTD(3)),
    `pacing_rate` Nullable(UInt64) CODEC(ZSTD(3)),
    `pto_count` Nullable(UInt64) CODEC(ZSTD(3)),
    `min_rtt_us` Nullable(UInt64) CODEC(ZSTD(6)),
    `smoothed_rtt_us` Nullable(UInt64) CODEC(ZSTD(6)),
    `latest_rtt_us` Nullable(UInt64) CODEC(ZSTD(6)),
    `rtt_variance_us` Nullable(UInt64) CODEC(ZSTD(6)),
    `ack_delay_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `delta_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `lost_packets` Nullable(UInt64) CODEC(ZSTD(3)),
    `lost_bytes` Nullable(UInt64) CODEC(ZSTD(3)),
    `count` Nullable(UInt64) CODEC(T64, ZSTD(1)),
    `app_limited` Nullable(UInt64) CODEC(ZSTD(3)),
    `frames.frame_type` Array(LowCardinality(String)) CODEC(ZSTD(6)),
    `frames.stream_id` Array(UInt64) CODEC(ZSTD(6)),
    `frames.offset` Array(UInt64) CODEC(T64, ZSTD(6)),
    `frames.length` Array(UInt64) CODEC(ZSTD(6)),
    `frames.fin` Array(UInt8) CODEC(ZSTD(6)),
    `frames.maximum` Array(UInt64) CODEC(ZSTD(6)),
    `frames.ack_delay_us` Array(UInt64) CODEC(ZSTD(6)),
    `frames.ack_ranges` Array(UInt16) CODEC(ZSTD(6)),
    `frames.shape` Array(LowCardinality(String)) CODEC(ZSTD(6)),
    `acked.from` Array(UInt64) CODEC(Delta(8), ZSTD(6)),
    `acked.to` Array(UInt64) CODEC(Delta(8), ZSTD(6)),
    `exact` Array(Int64) CODEC(ZSTD(6)),
    `more` Map(LowCardinality(String), String) CODEC(ZSTD(6))
)
ENGINE = ReplacingMergeTree
PARTITION BY trace_day
ORDER BY (connection_id, vantage, trace_id, seq)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE TABLE link_leases
(
    `fence` UInt64,
    `holder` String,
    `expires_at` DateTime64(6, 'UTC')
)
ENGINE = MergeTree
ORDER BY fence
SETTINGS enable_block_number_column = 1, fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE TABLE link_marks
(
    `name` String,
    `mark` String,
    `version` UInt64,
    `made_at` DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplacingMergeTree(version)
ORDER BY name
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE TABLE link_pending
(
    `token` String,
    `began_at` DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = MergeTree
ORDER BY token
SETTINGS index_granularity = 8192;

CREATE TABLE rejects
(
    `source` String CODEC(ZSTD(3)),
    `offset` UInt64 CODEC(ZSTD(3)),
    `length` UInt64 CODEC(ZSTD(3)),
    `hash` String CODEC(ZSTD(3)),
    `reason` LowCardinality(String) CODEC(ZSTD(3)),
    `file` String CODEC(ZSTD(3)),
    `trace_id` String CODEC(ZSTD(3)),
    `seq` Nullable(UInt64) CODEC(ZSTD(3)),
    `seq_last` Nullable(UInt64) CODEC(ZSTD(3)),
    `bytes` String CODEC(ZSTD(3)),
    `ingested_at` DateTime64(6, 'UTC') DEFAULT now64(6) CODEC(ZSTD(3))
)
ENGINE = ReplacingMergeTree(length)
ORDER BY (source, offset)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE TABLE request_lines
(
    `log_id` String CODEC(ZSTD(3)),
    `offset` UInt64 CODEC(ZSTD(3)),
    `line_day` Date CODEC(ZSTD(3)),
    `time` DateTime64(6, 'UTC') CODEC(ZSTD(3)),
    `time_is` LowCardinality(String) CODEC(ZSTD(3)),
    `external_id` Nullable(String) CODEC(ZSTD(3)),
    `connection_id` Nullable(String) CODEC(ZSTD(3)),
    `stream_id` Nullable(UInt64) CODEC(ZSTD(3)),
    `method` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `authority` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `path` Nullable(String) CODEC(ZSTD(3)),
    `status` Nullable(UInt16) CODEC(ZSTD(3)),
    `duration_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `request_bytes` Nullable(UInt64) CODEC(ZSTD(3)),
    `response_bytes` Nullable(UInt64) CODEC(ZSTD(3)),
    `protocol` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `server` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `cluster` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `pop` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `server_release` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `client_network` Nullable(String) CODEC(ZSTD(3)),
    `client_key` Nullable(String) CODEC(ZSTD(3)),
    `carrier` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `asn` Nullable(UInt32) CODEC(ZSTD(3)),
    `country` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `region` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `city` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `h3_cell` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `network_type` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `app` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `app_version` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `device` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `user_hash` Nullable(String) CODEC(ZSTD(3)),
    `request_number` Nullable(UInt32) CODEC(ZSTD(3)),
    `rtt_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `arm` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `more` Map(LowCardinality(String), String) CODEC(ZSTD(3)),
    `rtt_variance_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `tcp_congestion_window_packets` Nullable(UInt32) CODEC(ZSTD(3)),
    `tcp_packets_lost_outstanding` Nullable(UInt32) CODEC(ZSTD(3)),
    `tcp_packets_retransmitted_outstanding` Nullable(UInt32) CODEC(ZSTD(3)),
    `stored_at` DateTime64(6, 'UTC') MATERIALIZED now64(6) CODEC(ZSTD(3)),
    INDEX by_connection_id connection_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_time time TYPE minmax GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY line_day
ORDER BY (log_id, offset)
SETTINGS enable_block_number_column = 1, fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE TABLE request_versions
(
    `request_id` String CODEC(ZSTD(3)),
    `started_hour` DateTime('UTC') CODEC(ZSTD(3)),
    `started_at` Nullable(DateTime64(6, 'UTC')) CODEC(ZSTD(3)),
    `external_id` Nullable(String) CODEC(ZSTD(3)),
    `connection_id` Nullable(String) CODEC(ZSTD(3)),
    `stream_id` Nullable(UInt64) CODEC(ZSTD(3)),
    `trace_id` Nullable(String) CODEC(ZSTD(3)),
    `vantage` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `log_id` Nullable(String) CODEC(ZSTD(3)),
    `offset` Nullable(UInt64) CODEC(ZSTD(3)),
    `source` LowCardinality(String) CODEC(ZSTD(3)),
    `link` LowCardinality(String) CODEC(ZSTD(3)),
    `coverage` LowCardinality(String) CODEC(ZSTD(3)),
    `weight` Float64 CODEC(ZSTD(3)),
    `complete` Bool CODEC(ZSTD(3)),
    `duration_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `logged_duration_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `top_cause` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `top_cause_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `method` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `authority` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `path` Nullable(String) CODEC(ZSTD(3)),
    `status` Nullable(UInt16) CODEC(ZSTD(3)),
    `request_bytes` Nullable(UInt64) CODEC(ZSTD(3)),
    `response_bytes` Nullable(UInt64) CODEC(ZSTD(3)),
    `protocol` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `server` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `cluster` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `pop` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `client_network` Nullable(String) CODEC(ZSTD(3)),
    `carrier` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `asn` Nullable(UInt32) CODEC(ZSTD(3)),
    `country` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `region` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `city` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `h3_cell` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `network_type` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `app` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `app_version` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `device` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `user_hash` Nullable(String) CODEC(ZSTD(3)),
    `request_number` Nullable(UInt32) CODEC(ZSTD(3)),
    `arm` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `stack` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `congestion_controller` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `rtt_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `min_rtt_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `packets_lost` Nullable(UInt64) CODEC(ZSTD(3)),
    `handshake_us` UInt64 CODEC(ZSTD(3)),
    `amplification_us` UInt64 CODEC(ZSTD(3)),
    `upload_us` UInt64 CODEC(ZSTD(3)),
    `server_think_us` UInt64 CODEC(ZSTD(3)),
    `pto_us` UInt64 CODEC(ZSTD(3)),
    `loss_recovery_us` UInt64 CODEC(ZSTD(3)),
    `connection_flow_control_us` UInt64 CODEC(ZSTD(3)),
    `stream_flow_control_us` UInt64 CODEC(ZSTD(3)),
    `stream_limit_us` UInt64 CODEC(ZSTD(3)),
    `scheduling_us` UInt64 CODEC(ZSTD(3)),
    `bandwidth_us` UInt64 CODEC(ZSTD(3)),
    `cwnd_blocked_us` UInt64 CODEC(ZSTD(3)),
    `pacing_us` UInt64 CODEC(ZSTD(3)),
    `app_limited_us` UInt64 CODEC(ZSTD(3)),
    `queueing_us` UInt64 CODEC(ZSTD(3)),
    `network_us` UInt64 CODEC(ZSTD(3)),
    `remote_wait_us` UInt64 CODEC(ZSTD(3)),
    `receiving_us` UInt64 CODEC(ZSTD(3)),
    `receiver_hol_us` UInt64 CODEC(ZSTD(3)),
    `unattributed_us` UInt64 CODEC(ZSTD(3)),
    `saves` Map(LowCardinality(String), UInt64) CODEC(ZSTD(3)),
    `cannot_show` Array(LowCardinality(String)) CODEC(ZSTD(3)),
    `grade` LowCardinality(String) CODEC(ZSTD(3)),
    `imputed_us` UInt64 CODEC(ZSTD(3)),
    `bounds_low` Map(LowCardinality(String), UInt64) CODEC(ZSTD(3)),
    `bounds_high` Map(LowCardinality(String), UInt64) CODEC(ZSTD(3)),
    `rtt_variance_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `tcp_congestion_window_packets` Nullable(UInt32) CODEC(ZSTD(3)),
    `tcp_packets_lost_outstanding` Nullable(UInt32) CODEC(ZSTD(3)),
    `tcp_packets_retransmitted_outstanding` Nullable(UInt32) CODEC(ZSTD(3)),
    `end_is` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `trace_weight` Float64 CODEC(ZSTD(3)),
    `zero_rtt` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `migrations` Nullable(UInt32) CODEC(ZSTD(3)),
    `initial_congestion_window` Nullable(UInt64) CODEC(ZSTD(3)),
    `stack_version` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `quic_version` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `server_release` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `started_minute` DateTime('UTC') DEFAULT ifNull(toStartOfMinute(started_at), toDateTime(0, 'UTC')) CODEC(ZSTD(3)),
    `line_key` String DEFAULT ifNull(concat(log_id, '/', toString(offset)), '') CODEC(ZSTD(3)),
    `day` Date DEFAULT toDate(started_hour) CODEC(ZSTD(3)),
    `crosses` UInt8 CODEC(ZSTD(3)),
    `version` UInt64 CODEC(ZSTD(3)),
    `is_deleted` UInt8 CODEC(ZSTD(3)),
    INDEX by_crosses crosses TYPE minmax GRANULARITY 16,
    INDEX by_external_id external_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_request_id request_id TYPE bloom_filter(0.01) GRANULARITY 1,
    PROJECTION by_log
    (
        SELECT
            log_id,
            started_hour,
            min(offset),
            max(offset)
        GROUP BY
            log_id,
            started_hour
    ),
    PROJECTION by_connection
    (
        SELECT
            connection_id,
            day,
            started_minute,
            count()
        GROUP BY
            connection_id,
            day,
            started_minute
    )
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY day
ORDER BY (started_hour, started_minute, request_id, line_key)
SETTINGS deduplicate_merge_projection_mode = 'rebuild', min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1, fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE TABLE rollup_versions
(
    `started_hour` DateTime('UTC') CODEC(ZSTD(3)),
    `bucket_at` DateTime('UTC') CODEC(ZSTD(3)),
    `carrier` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `region` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `city` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `pop` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `protocol` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `network_type` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `app_version` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `server_release` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `requests` UInt64 CODEC(ZSTD(3)),
    `measured` UInt64 CODEC(ZSTD(3)),
    `traced` UInt64 CODEC(ZSTD(3)),
    `failed` UInt64 CODEC(ZSTD(3)),
    `weight` Float64 CODEC(ZSTD(3)),
    `duration_histogram` Map(UInt16, Float64) CODEC(ZSTD(3)),
    `weight_squares` Float64 CODEC(ZSTD(3)),
    `measured_weight_squares` Float64 CODEC(ZSTD(3)),
    `ended_weight` Float64 CODEC(ZSTD(3)),
    `ended_weight_squares` Float64 CODEC(ZSTD(3)),
    `failed_weight` Float64 CODEC(ZSTD(3)),
    `parts_weight` Float64 CODEC(ZSTD(3)),
    `parts_weight_squares` Float64 CODEC(ZSTD(3)),
    `handshake_weight` Float64 CODEC(ZSTD(3)),
    `loss_weight` Float64 CODEC(ZSTD(3)),
    `retransmission_weight` Float64 CODEC(ZSTD(3)),
    `version` UInt64 CODEC(ZSTD(3)),
    `is_deleted` UInt8 CODEC(ZSTD(3))
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY toDate(started_hour)
ORDER BY (bucket_at, carrier, region, city, pop, protocol, network_type, app_version, server_release)
SETTINGS allow_nullable_key = 1, min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1, fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE TABLE schema_leases
(
    `fence` UInt64,
    `holder` String,
    `expires_at` DateTime64(6, 'UTC')
)
ENGINE = MergeTree
ORDER BY fence
SETTINGS enable_block_number_column = 1, fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE TABLE schema_migrations
(
    `number` UInt32,
    `name` String,
    `checksum` String,
    `applied_at` DateTime64(6, 'UTC') DEFAULT now64(6),
    `additive` Bool DEFAULT false
)
ENGINE = ReplacingMergeTree
ORDER BY number
SETTINGS index_granularity = 8192;

CREATE TABLE streams
(
    `connection_id` String CODEC(ZSTD(3)),
    `vantage` LowCardinality(String) CODEC(ZSTD(3)),
    `trace_id` String CODEC(ZSTD(3)),
    `stream_id` UInt64 CODEC(ZSTD(3)),
    `version` UInt64 CODEC(ZSTD(3)),
    `analysis_version` UInt16 CODEC(ZSTD(3)),
    `trace_day` Date CODEC(ZSTD(3)),
    `started_at` Nullable(DateTime64(6, 'UTC')) CODEC(ZSTD(3)),
    `start_us` Int64 CODEC(ZSTD(3)),
    `request_end_us` Nullable(Int64) CODEC(ZSTD(3)),
    `response_start_us` Nullable(Int64) CODEC(ZSTD(3)),
    `first_byte_us` Nullable(Int64) CODEC(ZSTD(3)),
    `last_byte_us` Nullable(Int64) CODEC(ZSTD(3)),
    `end_us` Int64 CODEC(ZSTD(3)),
    `start_is` LowCardinality(String) CODEC(ZSTD(3)),
    `end_is` LowCardinality(String) CODEC(ZSTD(3)),
    `complete` Bool CODEC(ZSTD(3)),
    `duration_us` UInt64 CODEC(ZSTD(3)),
    `method` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `authority` LowCardinality(Nullable(String)) CODEC(ZSTD(3)),
    `path` Nullable(String) CODEC(ZSTD(3)),
    `status` Nullable(UInt16) CODEC(ZSTD(3)),
    `external_id` Nullable(String) CODEC(ZSTD(3)),
    `request_bytes` UInt64 CODEC(ZSTD(3)),
    `response_bytes` UInt64 CODEC(ZSTD(3)),
    `packets` UInt64 CODEC(ZSTD(3)),
    `packets_lost` UInt64 CODEC(ZSTD(3)),
    `retransmitted_bytes` UInt64 CODEC(ZSTD(3)),
    `detection_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `rtt_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `min_rtt_us` Nullable(UInt64) CODEC(ZSTD(3)),
    `first_seq` UInt64 CODEC(ZSTD(3)),
    `last_seq` UInt64 CODEC(ZSTD(3)),
    `handshake_us` UInt64 CODEC(ZSTD(3)),
    `amplification_us` UInt64 CODEC(ZSTD(3)),
    `upload_us` UInt64 CODEC(ZSTD(3)),
    `server_think_us` UInt64 CODEC(ZSTD(3)),
    `pto_us` UInt64 CODEC(ZSTD(3)),
    `loss_recovery_us` UInt64 CODEC(ZSTD(3)),
    `connection_flow_control_us` UInt64 CODEC(ZSTD(3)),
    `stream_flow_control_us` UInt64 CODEC(ZSTD(3)),
    `stream_limit_us` UInt64 CODEC(ZSTD(3)),
    `scheduling_us` UInt64 CODEC(ZSTD(3)),
    `bandwidth_us` UInt64 CODEC(ZSTD(3)),
    `cwnd_blocked_us` UInt64 CODEC(ZSTD(3)),
    `pacing_us` UInt64 CODEC(ZSTD(3)),
    `app_limited_us` UInt64 CODEC(ZSTD(3)),
    `queueing_us` UInt64 CODEC(ZSTD(3)),
    `network_us` UInt64 CODEC(ZSTD(3)),
    `remote_wait_us` UInt64 CODEC(ZSTD(3)),
    `receiving_us` UInt64 CODEC(ZSTD(3)),
    `receiver_hol_us` UInt64 CODEC(ZSTD(3)),
    `unattributed_us` UInt64 CODEC(ZSTD(3)),
    `inferred` Array(LowCardinality(String)) CODEC(ZSTD(3)),
    `cannot_show` Array(LowCardinality(String)) CODEC(ZSTD(3)),
    `overlapping` Map(LowCardinality(String), UInt64) CODEC(ZSTD(3)),
    `grade` LowCardinality(String) CODEC(ZSTD(3)),
    `imputed_us` UInt64 CODEC(ZSTD(3)),
    `bounds_low` Map(LowCardinality(String), UInt64) CODEC(ZSTD(3)),
    `bounds_high` Map(LowCardinality(String), UInt64) CODEC(ZSTD(3)),
    `saves` Map(LowCardinality(String), UInt64) CODEC(ZSTD(3)),
    INDEX by_connection_id connection_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY trace_day
ORDER BY (connection_id, vantage, trace_id, stream_id)
SETTINGS min_age_to_force_merge_seconds = 3600, min_age_to_force_merge_on_partition_only = 1, enable_block_number_column = 1, fsync_after_insert = 1, fsync_part_directory = 1, index_granularity = 8192;

CREATE VIEW aliases_now
(
    `alias` String,
    `connection_id` String,
    `vantage` LowCardinality(String),
    `trace_id` String,
    `role` LowCardinality(String),
    `version` UInt64,
    `trace_day` Date,
    `server` LowCardinality(Nullable(String)),
    `first_us` Int64,
    `last_us` Int64,
    `first_at` Nullable(DateTime64(6, 'UTC')),
    `last_at` Nullable(DateTime64(6, 'UTC'))
)
AS SELECT *
FROM connection_aliases
FINAL
WHERE (trace_id, connection_id) IN (
    SELECT
        trace_id,
        connection_id
    FROM traces_now
);

CREATE VIEW aliases_of
AS SELECT *
FROM connection_aliases
FINAL
WHERE (connection_id = {connection_id:String}) AND ((trace_id, connection_id) IN (
    SELECT
        trace_id,
        connection_id
    FROM traces_of(connection_id = {connection_id:String})
));

CREATE VIEW connections_now
(
    `connection_id` String,
    `vantage` LowCardinality(String),
    `trace_id` String,
    `version` UInt64,
    `analysis_version` UInt16,
    `trace_day` Date,
    `started_at` Nullable(DateTime64(6, 'UTC')),
    `duration_us` UInt64,
    `complete` Bool,
    `source_file` String,
    `serialization` LowCardinality(String),
    `header` String,
    `time_unit` LowCardinality(String),
    `time_base_ns` Int64,
    `dialect` LowCardinality(String),
    `unit_rule` LowCardinality(String),
    `stack` LowCardinality(String),
    `stack_version` LowCardinality(String),
    `congestion_controller` LowCardinality(String),
    `quic_version` LowCardinality(String),
    `server` LowCardinality(Nullable(String)),
    `cluster` LowCardinality(Nullable(String)),
    `pop` LowCardinality(Nullable(String)),
    `server_release` LowCardinality(Nullable(String)),
    `carrier` LowCardinality(Nullable(String)),
    `asn` Nullable(UInt32),
    `country` LowCardinality(Nullable(String)),
    `region` LowCardinality(Nullable(String)),
    `city` LowCardinality(Nullable(String)),
    `h3_cell` LowCardinality(Nullable(String)),
    `network_type` LowCardinality(Nullable(String)),
    `app_version` LowCardinality(Nullable(String)),
    `device` LowCardinality(Nullable(String)),
    `client_network` Nullable(String),
    `client_key` Nullable(String),
    `events_seen` UInt64,
    `events_kept` LowCardinality(String),
    `event_probability` Float64,
    `trace_probability` Float64,
    `handshake_us` Nullable(UInt64),
    `handshake_complete` Bool,
    `zero_rtt` LowCardinality(String),
    `retries` UInt32,
    `migrations` UInt32,
    `paths` UInt32,
    `paths_validated` UInt32,
    `key_updates` UInt32,
    `close_reason` String,
    `close_code` String,
    `close_owner` LowCardinality(String),
    `packets_sent` UInt64,
    `packets_received` UInt64,
    `bytes_sent` UInt64,
    `bytes_received` UInt64,
    `pure_acks_sent` UInt64,
    `data_packets_sent` UInt64,
    `stream_bytes_sent` UInt64,
    `unique_stream_bytes_sent` UInt64,
    `retransmitted_packets` UInt64,
    `retransmitted_bytes` UInt64,
    `packets_out_of_order` UInt64,
    `packets_dropped` UInt64,
    `packets_lost` UInt64,
    `bytes_lost` UInt64,
    `packets_spurious` UInt64,
    `packets_lost_handshake` UInt64,
    `packets_lost_data` UInt64,
    `ptos` UInt64,
    `ptos_spurious` UInt64,
    `idle_max_us` UInt64,
    `initial_congestion_window` Nullable(UInt64),
    `bytes_in_flight_max` UInt64,
    `bytes_in_flight_mean` Float64,
    `in_flight_disagreements` UInt64,
    `rtt_samples` UInt64,
    `rtt_min_us` Nullable(UInt64),
    `rtt_max_us` Nullable(UInt64),
    `rtt_mean_us` Nullable(Float64),
    `rtt_stdev_us` Nullable(Float64),
    `rtt_handshake_us` Nullable(UInt64),
    `rtt_histogram` Map(UInt16, UInt32),
    `retransmissions_max` UInt32,
    `retransmission_delay_min_us` Nullable(UInt64),
    `retransmission_delay_max_us` Nullable(UInt64),
    `retransmission_delay_mean_us` Nullable(Float64),
    `retransmission_delay_stdev_us` Nullable(Float64),
    `requests` UInt64,
    `requests_complete` UInt64,
    `cannot_show` Array(LowCardinality(String)),
    `damage` Map(LowCardinality(String), UInt64),
    `open_episodes` String,
    `values_unread` UInt64
)
AS SELECT *
FROM connections
FINAL
WHERE (trace_id, connection_id) IN (
    SELECT
        trace_id,
        connection_id
    FROM traces_now
);

CREATE VIEW connections_of
AS SELECT *
FROM connections
FINAL
WHERE (connection_id = {connection_id:String}) AND ((trace_id, connection_id) IN (
    SELECT
        trace_id,
        connection_id
    FROM traces_of(connection_id = {connection_id:String})
));

CREATE VIEW episodes_now
(
    `connection_id` String,
    `vantage` LowCardinality(String),
    `trace_id` String,
    `kind` LowCardinality(String),
    `path_id` UInt64,
    `stream_id` Int64,
    `first_seq` UInt64,
    `last_seq` UInt64,
    `version` UInt64,
    `analysis_version` UInt16,
    `trace_day` Date,
    `start_us` Int64,
    `end_us` Int64,
    `confirmed` Bool,
    `trigger` LowCardinality(String),
    `packet_number` Nullable(UInt64),
    `bytes` UInt64,
    `count` UInt32,
    `detection_us` Nullable(UInt64),
    `wait_us` Nullable(UInt64),
    `congestion_window` Nullable(UInt64)
)
AS SELECT *
FROM episodes
FINAL
WHERE (trace_id, connection_id, analysis_version) IN (
    SELECT
        trace_id,
        connection_id,
        analysis_version
    FROM traces_now
);

CREATE VIEW episodes_of
AS SELECT *
FROM episodes
FINAL
WHERE (connection_id = {connection_id:String}) AND ((trace_id, connection_id, analysis_version) IN (
    SELECT
        trace_id,
        connection_id,
        analysis_version
    FROM traces_of(connection_id = {connection_id:String})
));

CREATE VIEW events_now
(
    `connection_id` LowCardinality(String),
    `vantage` LowCardinality(String),
    `trace_id` LowCardinality(String),
    `seq` UInt64,
    `trace_day` Date,
    `time_us` Int64,
    `time_ns` UInt16,
    `name` LowCardinality(String),
    `shape` LowCardinality(String),
    `packet_type` LowCardinality(String),
    `trigger` LowCardinality(String),
    `new_state` LowCardinality(String),
    `old_state` LowCardinality(String),
    `timer_type` LowCardinality(String),
    `event_type` LowCardinality(String),
    `owner` LowCardinality(String),
    `http_frame_type` LowCardinality(String),
    `dcid` LowCardinality(String),
    `scid` LowCardinality(String),
    `path_id` Nullable(UInt64),
    `packet_number` Nullable(UInt64),
    `packet_bytes` Nullable(UInt64),
    `payload_bytes` Nullable(UInt64),
    `stream_id` Nullable(UInt64),
    `offset` Nullable(UInt64),
    `length` Nullable(UInt64),
    `congestion_window` Nullable(UInt64),
    `bytes_in_flight` Nullable(UInt64),
    `packets_in_flight` Nullable(UInt64),
    `ssthresh` Nullable(UInt64),
    `pacing_rate` Nullable(UInt64),
    `pto_count` Nullable(UInt64),
    `min_rtt_us` Nullable(UInt64),
    `smoothed_rtt_us` Nullable(UInt64),
    `latest_rtt_us` Nullable(UInt64),
    `rtt_variance_us` Nullable(UInt64),
    `ack_delay_us` Nullable(UInt64),
    `delta_us` Nullable(UInt64),
    `lost_packets` Nullable(UInt64),
    `lost_bytes` Nullable(UInt64),
    `count` Nullable(UInt64),
    `app_limited` Nullable(UInt64),
    `frames.frame_type` Array(LowCardinality(String)),
    `frames.stream_id` Array(UInt64),
    `frames.offset` Array(UInt64),
    `frames.length` Array(UInt64),
    `frames.fin` Array(UInt8),
    `frames.maximum` Array(UInt64),
    `frames.ack_delay_us` Array(UInt64),
    `frames.ack_ranges` Array(UInt16),
    `frames.shape` Array(LowCardinality(String)),
    `acked.from` Array(UInt64),
    `acked.to` Array(UInt64),
    `exact` Array(Int64),
    `more` Map(LowCardinality(String), String)
)
AS SELECT *
FROM events
FINAL;

CREATE VIEW request_dimensions
(
    `started_hour` DateTime('UTC'),
    `dimension` LowCardinality(String),
    `value` String,
    `requests` UInt64
)
AS SELECT
    started_hour,
    dimension,
    value,
    requests
FROM dimension_versions
FINAL;

CREATE VIEW request_rollups
(
    `started_hour` DateTime('UTC'),
    `bucket_at` DateTime('UTC'),
    `carrier` LowCardinality(Nullable(String)),
    `region` LowCardinality(Nullable(String)),
    `city` LowCardinality(Nullable(String)),
    `pop` LowCardinality(Nullable(String)),
    `protocol` LowCardinality(Nullable(String)),
    `network_type` LowCardinality(Nullable(String)),
    `app_version` LowCardinality(Nullable(String)),
    `server_release` LowCardinality(Nullable(String)),
    `requests` UInt64,
    `measured` UInt64,
    `traced` UInt64,
    `failed` UInt64,
    `weight` Float64,
    `duration_histogram` Map(UInt16, Float64),
    `weight_squares` Float64,
    `measured_weight_squares` Float64,
    `ended_weight` Float64,
    `ended_weight_squares` Float64,
    `failed_weight` Float64,
    `parts_weight` Float64,
    `parts_weight_squares` Float64,
    `handshake_weight` Float64,
    `loss_weight` Float64,
    `retransmission_weight` Float64
)
AS SELECT
    started_hour,
    bucket_at,
    carrier,
    region,
    city,
    pop,
    protocol,
    network_type,
    app_version,
    server_release,
    requests,
    measured,
    traced,
    failed,
    weight,
    duration_histogram,
    weight_squares,
    measured_weight_squares,
    ended_weight,
    ended_weight_squares,
    failed_weight,
    parts_weight,
    parts_weight_squares,
    handshake_weight,
    loss_weight,
    retransmission_weight
FROM rollup_versions
FINAL;

CREATE VIEW requests
(
    `request_id` String,
    `started_hour` DateTime('UTC'),
    `started_at` Nullable(DateTime64(6, 'UTC')),
    `external_id` Nullable(String),
    `connection_id` Nullable(String),
    `stream_id` Nullable(UInt64),
    `trace_id` Nullable(String),
    `vantage` LowCardinality(Nullable(String)),
    `log_id` Nullable(String),
    `offset` Nullable(UInt64),
    `source` LowCardinality(String),
    `link` LowCardinality(String),
    `coverage` LowCardinality(String),
    `weight` Float64,
    `complete` Bool,
    `duration_us` Nullable(UInt64),
    `logged_duration_us` Nullable(UInt64),
    `top_cause` LowCardinality(Nullable(String)),
    `top_cause_us` Nullable(UInt64),
    `method` LowCardinality(Nullable(String)),
    `authority` LowCardinality(Nullable(String)),
    `path` Nullable(String),
    `status` Nullable(UInt16),
    `request_bytes` Nullable(UInt64),
    `response_bytes` Nullable(UInt64),
    `protocol` LowCardinality(Nullable(String)),
    `server` LowCardinality(Nullable(String)),
    `cluster` LowCardinality(Nullable(String)),
    `pop` LowCardinality(Nullable(String)),
    `client_network` Nullable(String),
    `carrier` LowCardinality(Nullable(String)),
    `asn` Nullable(UInt32),
    `country` LowCardinality(Nullable(String)),
    `region` LowCardinality(Nullable(String)),
    `city` LowCardinality(Nullable(String)),
    `h3_cell` LowCardinality(Nullable(String)),
    `network_type` LowCardinality(Nullable(String)),
    `app` LowCardinality(Nullable(String)),
    `app_version` LowCardinality(Nullable(String)),
    `device` LowCardinality(Nullable(String)),
    `user_hash` Nullable(String),
    `request_number` Nullable(UInt32),
    `arm` LowCardinality(Nullable(String)),
    `stack` LowCardinality(Nullable(String)),
    `congestion_controller` LowCardinality(Nullable(String)),
    `rtt_us` Nullable(UInt64),
    `min_rtt_us` Nullable(UInt64),
    `packets_lost` Nullable(UInt64),
    `handshake_us` UInt64,
    `amplification_us` UInt64,
    `upload_us` UInt64,
    `server_think_us` UInt64,
    `pto_us` UInt64,
    `loss_recovery_us` UInt64,
    `connection_flow_control_us` UInt64,
    `stream_flow_control_us` UInt64,
    `stream_limit_us` UInt64,
    `scheduling_us` UInt64,
    `bandwidth_us` UInt64,
    `cwnd_blocked_us` UInt64,
    `pacing_us` UInt64,
    `app_limited_us` UInt64,
    `queueing_us` UInt64,
    `network_us` UInt64,
    `remote_wait_us` UInt64,
    `receiving_us` UInt64,
    `receiver_hol_us` UInt64,
    `unattributed_us` UInt64,
    `saves` Map(LowCardinality(String), UInt64),
    `cannot_show` Array(LowCardinality(String)),
    `grade` LowCardinality(String),
    `imputed_us` UInt64,
    `bounds_low` Map(LowCardinality(String), UInt64),
    `bounds_high` Map(LowCardinality(String), UInt64),
    `rtt_variance_us` Nullable(UInt64),
    `tcp_congestion_window_packets` Nullable(UInt32),
    `tcp_packets_lost_outstanding` Nullable(UInt32),
    `tcp_packets_retransmitted_outstanding` Nullable(UInt32),
    `end_is` LowCardinality(Nullable(String)),
    `trace_weight` Float64,
    `zero_rtt` LowCardinality(Nullable(String)),
    `migrations` Nullable(UInt32),
    `initial_congestion_window` Nullable(UInt64),
    `stack_version` LowCardinality(Nullable(String)),
    `quic_version` LowCardinality(Nullable(String)),
    `server_release` LowCardinality(Nullable(String))
)
AS SELECT
    request_id,
    started_hour,
    started_at,
    external_id,
    connection_id,
    stream_id,
    trace_id,
    vantage,
    log_id,
    offset,
    source,
    link,
    coverage,
    weight,
    complete,
    duration_us,
    logged_duration_us,
    top_cause,
    top_cause_us,
    method,
    authority,
    path,
    status,
    request_bytes,
    response_bytes,
    protocol,
    server,
    cluster,
    pop,
    client_network,
    carrier,
    asn,
    country,
    region,
    city,
    h3_cell,
    network_type,
    app,
    app_version,
    device,
    user_hash,
    request_number,
    arm,
    stack,
    congestion_controller,
    rtt_us,
    min_rtt_us,
    packets_lost,
    handshake_us,
    amplification_us,
    upload_us,
    server_think_us,
    pto_us,
    loss_recovery_us,
    connection_flow_control_us,
    stream_flow_control_us,
    stream_limit_us,
    scheduling_us,
    bandwidth_us,
    cwnd_blocked_us,
    pacing_us,
    app_limited_us,
    queueing_us,
    network_us,
    remote_wait_us,
    receiving_us,
    receiver_hol_us,
    unattributed_us,
    saves,
    cannot_show,
    grade,
    imputed_us,
    bounds_low,
    bounds_high,
    rtt_variance_us,
    tcp_congestion_window_packets,
    tcp_packets_lost_outstanding,
    tcp_packets_retransmitted_outstanding,
    end_is,
    trace_weight,
    zero_rtt,
    migrations,
    initial_congestion_window,
    stack_version,
    quic_version,
    server_release
FROM request_versions
FINAL
WHERE ((
    SELECT count()
    FROM request_versions
    FINAL
    WHERE crosses = 1
) = 0) OR (trace_id IS NOT NULL) OR (line_key NOT IN (
    SELECT line_key
    FROM request_versions
    FINAL
    WHERE crosses = 1
));

CREATE VIEW streams_now
(
    `connection_id` String,
    `vantage` LowCardinality(String),
    `trace_id` String,
    `stream_id` UInt64,
    `version` UInt64,
    `analysis_version` UInt16,
    `trace_day` Date,
    `started_at` Nullable(DateTime64(6, 'UTC')),
    `start_us` Int64,
    `request_end_us` Nullable(Int64),
    `response_start_us` Nullable(Int64),
    `first_byte_us` Nullable(Int64),
    `last_byte_us` Nullable(Int64),
    `end_us` Int64,
    `start_is` LowCardinality(String),
    `end_is` LowCardinality(String),
    `complete` Bool,
    `duration_us` UInt64,
    `method` LowCardinality(Nullable(String)),
    `authority` LowCardinality(Nullable(String)),
    `path` Nullable(String),
    `status` Nullable(UInt16),
    `external_id` Nullable(String),
    `request_bytes` UInt64,
    `response_bytes` UInt64,
    `packets` UInt64,
    `packets_lost` UInt64,
    `retransmitted_bytes` UInt64,
    `detection_us` Nullable(UInt64),
    `rtt_us` Nullable(UInt64),
    `min_rtt_us` Nullable(UInt64),
    `first_seq` UInt64,
    `last_seq` UInt64,
    `handshake_us` UInt64,
    `amplification_us` UInt64,
    `upload_us` UInt64,
    `server_think_us` UInt64,
    `pto_us` UInt64,
    `loss_recovery_us` UInt64,
    `connection_flow_control_us` UInt64,
    `stream_flow_control_us` UInt64,
    `stream_limit_us` UInt64,
    `scheduling_us` UInt64,
    `bandwidth_us` UInt64,
    `cwnd_blocked_us` UInt64,
    `pacing_us` UInt64,
    `app_limited_us` UInt64,
    `queueing_us` UInt64,
    `network_us` UInt64,
    `remote_wait_us` UInt64,
    `receiving_us` UInt64,
    `receiver_hol_us` UInt64,
    `unattributed_us` UInt64,
    `inferred` Array(LowCardinality(String)),
    `cannot_show` Array(LowCardinality(String)),
    `overlapping` Map(LowCardinality(String), UInt64),
    `grade` LowCardinality(String),
    `imputed_us` UInt64,
    `bounds_low` Map(LowCardinality(String), UInt64),
    `bounds_high` Map(LowCardinality(String), UInt64),
    `saves` Map(LowCardinality(String), UInt64)
)
AS SELECT *
FROM streams
FINAL
WHERE (trace_id, connection_id, analysis_version) IN (
    SELECT
        trace_id,
        connection_id,
        analysis_version
    FROM traces_now
);

CREATE VIEW streams_of
AS SELECT *
FROM streams
FINAL
WHERE (connection_id = {connection_id:String}) AND ((trace_id, connection_id, analysis_version) IN (
    SELECT
        trace_id,
        connection_id,
        analysis_version
    FROM traces_of(connection_id = {connection_id:String})
));

CREATE VIEW traces_now
(
    `trace_id` String,
    `connection_id` String,
    `analysis_version` UInt16
)
AS SELECT
    trace_id,
    argMax(each.connection_id, (each.version, each.connection_id)) AS connection_id,
    argMax(each.analysis_version, (each.version, each.connection_id)) AS analysis_version
FROM connections AS each
GROUP BY trace_id;

CREATE VIEW traces_of
AS SELECT
    trace_id,
    argMax(each.connection_id, (each.version, each.connection_id)) AS connection_id,
    argMax(each.analysis_version, (each.version, each.connection_id)) AS analysis_version
FROM connections AS each
WHERE trace_id IN (
    SELECT trace_id
    FROM connections
    WHERE connection_id = {connection_id:String}
)
GROUP BY trace_id;
