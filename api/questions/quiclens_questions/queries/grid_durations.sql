-- One row is one sample of the grid: how long a request took that ended, with its implementation, the handshake of its
-- connection, its size, its path's least round trip and its connection's share of lost packets, each as a class. Linking
-- has said which trace is the request's.
SELECT
    arrayConcat(each_by, [toNullable(implementation), toNullable(handshake), toNullable(toString(size_class)), toNullable(toString(rtt_class)), toNullable(toString(loss_class))]) AS key,
    sample_cluster,
    duration AS value,
    trace_weight AS weight,
    1 AS number
FROM
(
    SELECT
        CAST([/* by */] AS Array(Nullable(String))) AS each_by,
        coalesce(nullIf(toString(r.stack), ''), toString(r.protocol), 'unknown') AS implementation,
        if(c.zero_rtt = 'accepted', '0-RTT', '1-RTT') AS handshake,
        arrayFirstIndex(bound -> ifNull(r.response_bytes, 0) <= bound, {size_bounds:Array(UInt64)}) AS size_class,
        arrayFirstIndex(bound -> ifNull(r.min_rtt_us, r.rtt_us) <= bound, {rtt_bounds_us:Array(UInt64)}) AS rtt_class,
        arrayFirstIndex(bound -> c.packets_lost <= bound * c.packets_sent, {loss_bounds:Array(Float64)}) AS loss_class,
        coalesce(r.user_hash, r.connection_id) AS sample_cluster,
        r.trace_weight AS trace_weight,
        assumeNotNull(r.duration_us) AS duration
    FROM
    (
        SELECT *
        FROM requests
        WHERE (/* ingest/measured_request.sql */) AND trace_id IS NOT NULL AND (min_rtt_us IS NOT NULL OR rtt_us IS NOT NULL)
            AND (/* in_window.sql */)
        /* conditions */
    ) AS r
    INNER JOIN
    (
        SELECT
            connection_id,
            vantage,
            trace_id,
            zero_rtt,
            packets_lost,
            packets_sent
        FROM connections
        FINAL
        WHERE (/* days_until.sql */)
            AND packets_sent > 0
    ) AS c ON c.connection_id = r.connection_id AND c.vantage = r.vantage AND c.trace_id = r.trace_id
)
