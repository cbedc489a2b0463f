-- One row: the 95th percentile of how long the requests of a stretch of time took that ended as they should, weighted, in
-- us; null where there are none. Approximate: it says where "slow" begins, and groups are ordered by that alone.
SELECT if(count() = 0, NULL, quantileTDigestWeighted(0.95)(assumeNotNull(duration_us), toUInt64(round(weight * 1000000)))) AS slow_us
FROM requests
WHERE (/* began_within.sql */) AND (/* ingest/measured_request.sql */)
/* conditions */
LIMIT 1
