-- One row is one event that no picture may leave out: a loss, a change of state, of path, of keys or of limits, a probe.
-- Rows that stand twice are alike: taking one of each seq needs no look at the others' columns, as FINAL does.
SELECT
    seq,
    time_us,
    name,
    packet_type,
    packet_number,
    ifNull(packet_bytes, 0) AS bytes,
    trigger,
    old_state,
    new_state,
    owner,
    path_id,
    pto_count,
    lost_packets,
    lost_bytes
FROM events
WHERE connection_id = {connection_id:String}
    AND vantage = {vantage:String}
    AND trace_id = {trace_id:String}
    AND seq BETWEEN {first_seq:UInt64} AND {last_seq:UInt64}
    AND time_us BETWEEN {from_us:Int64} AND {to_us:Int64}
    AND (name IN {marks:Array(String)} OR (pto_count > 0 AND name = 'quic:recovery_metrics_updated') OR lost_packets > 0)
ORDER BY seq
LIMIT 1 BY seq
LIMIT {limit:UInt32}
