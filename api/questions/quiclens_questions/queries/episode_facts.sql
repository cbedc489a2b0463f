-- The only row counts all episodes of a trace that overlap a stream's time, as episodes.sql finds them: what the
-- sentence of a request says of them where there are more than an answer has.
SELECT
    count() AS episodes,
    sumIf(count, kind = 'pto') AS probes,
    maxIf(ifNull(wait_us, 0), kind = 'pto') AS probe_wait_us,
    toBool(countIf(kind = 'pto') > 0 AND countIf(kind = 'pto' AND ifNull(trigger, '') != 'spurious') = 0) AS probes_needless,
    countIf(kind = 'spurious_loss' AND stream_id = {stream_id:Int64}) AS losses_spurious,
    countIf(kind = 'app_limited') AS pauses,
    maxIf(end_us - start_us, kind = 'app_limited') AS longest_pause_us,
    countIf(kind = 'amplification') AS limit_stops,
    countIf(endsWith(kind, '_flow_control')) AS credit_stalls,
    nullIf(argMaxIf(assumeNotNull(episodes.congestion_window), end_us - start_us, kind = 'cwnd_blocked' AND episodes.congestion_window > 0), 0)
        AS congestion_window
FROM episodes
FINAL
WHERE (/* episode_of_stream.sql */)
