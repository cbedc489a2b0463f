-- One row is one sample of a tail over time: how long a request took that ended as it should, of the groups that are drawn,
-- by their hashes; the stretch of time that it began in ends the key.
SELECT
    arrayConcat(CAST([/* by */] AS Array(Nullable(String))), [toNullable(toString(intDiv(toUnixTimestamp(assumeNotNull(started_at)), {step_s:UInt32}) * {step_s:UInt32}))]) AS key,
    coalesce(user_hash, connection_id, request_id) AS sample_cluster,
    assumeNotNull(duration_us) AS value,
    weight,
    1 AS number
FROM requests
WHERE (/* ingest/measured_request.sql */)
    AND (/* began_within.sql */)
    AND cityHash64(toString(CAST([/* by */] AS Array(Nullable(String))))) IN (SELECT arrayJoin({drawn:Array(UInt64)}))
/* conditions */
