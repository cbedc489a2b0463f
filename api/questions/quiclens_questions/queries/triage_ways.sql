-- One row is one request of a window or of the stretch before it, for the other questions of triage: in which segment of time
-- it lies (0 = before the window), and what happened to it on its way; of traced ones whether it waited for a handshake, lost a
-- packet, or waited for lost data to be sent again or for a probe. `every`: one of so many is there.
SELECT
    *,
    arrayCount(edge -> assumeNotNull(started_at) >= edge, {edges:Array(DateTime64(6, 'UTC'))}) AS segment,
    complete AND trace_weight > 0 AS is_traced,
    handshake_us > 0 AS is_after_handshake,
    ifNull(packets_lost > 0, 0) AS has_lost,
    loss_recovery_us + pto_us > 0 AS has_waited_for_repair,
    isNotNull(protocol) AS has_protocol,
    ifNull(protocol != 'h3', 0) AS is_not_quic
FROM requests
WHERE started_at IS NOT NULL
    AND ({every:UInt32} = 1 OR cityHash64(request_id) % {every:UInt32} = 0)
    AND (/* in_window.sql */)
/* conditions */
