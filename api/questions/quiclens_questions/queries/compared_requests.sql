-- One row is one request in one stratum of a comparison. The last column of each_by names its arm.
SELECT
    arrayPopBack(each_by) AS by_values,
    assumeNotNull(each_by[-1]) AS arm,
    coalesce(user_hash, connection_id, request_id) AS sample_cluster,
    weight,
    is_failed,
    duration_us,
    rtt_us,
    arrayJoin(arrayFilter(
        each -> each != '',
        [
            'all',
            if(ifNull(response_bytes < 4096, 0), 'responses_below_4_kib', ''),
            if(ifNull(request_number > 0, 0), 'reused_connections', ''),
            if(ifNull(number_in_session > {later:UInt32}, 0), 'later_requests', ''),
            if(ifNull(rtt_us < 500000, 0), 'rtt_below_500_ms', ''),
            if(ifNull(number_in_session > {later:UInt32}, 0) AND ifNull(rtt_us < 500000, 0), 'later_and_rtt_below_500_ms', '')
        ]
    )) AS stratum
FROM (/* requests_in_sessions.sql */)
WHERE each_by[-1] IS NOT NULL AND complete
