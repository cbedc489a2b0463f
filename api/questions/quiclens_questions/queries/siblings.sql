-- One row is one traced request that may be like another without a trace, the nearest in time first: in which columns the two
-- have the same, whether it was half to twice as large, took half to twice as long, and took half as long or longer (one bit
-- each, in the order of `others` and then of these), how much later it began, whose it is, for how many it stands, how long it
-- took, on what it spent that time, in the vocabulary's order, and which of these is the largest part (the first of several, from
-- 0; -1: it took no time). Requests of the other's own connection are none.
SELECT
    request_id,
    arraySum(arrayMap(
        (is_like, place) -> if(is_like, bitShiftLeft(toUInt32(1), place), 0),
        arrayConcat(
            arrayMap((value, other) -> value = other, [/* values */], {others:Array(String)}),
            [
                {bytes:UInt64} > 0 AND ifNull(response_bytes, 0) BETWEEN intDiv({bytes:UInt64}, 2) AND {bytes:UInt64} * 2,
                {took_us:UInt64} > 0 AND duration BETWEEN intDiv({took_us:UInt64}, 2) AND {took_us:UInt64} * 2,
                {took_us:UInt64} > 0 AND duration >= intDiv({took_us:UInt64}, 2)
            ]
        ),
        range(length({others:Array(String)}) + 3)
    )) AS same,
    dateDiff('microsecond', {at:DateTime64(6, 'UTC')}, assumeNotNull(started_at)) AS later_us,
    toString(cityHash64(coalesce(user_hash, connection_id, request_id))) AS cluster,
    trace_weight,
    assumeNotNull(duration_us) AS duration,
    [/* causes */] AS spent,
    if(arrayMax(spent) > 0, indexOf(spent, arrayMax(spent)) - 1, -1) AS largest
FROM requests
WHERE (/* in_window.sql */)
    AND trace_weight > 0
    AND (/* ingest/measured_request.sql */)
    AND protocol = {protocol:String}
    AND connection_id IS DISTINCT FROM {connection_id:Nullable(String)}
ORDER BY
    abs(later_us),
    request_id
LIMIT {limit:UInt32}
