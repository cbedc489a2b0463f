-- For lists of requests: beside each, how long is usual of its stratum, which is the median of those that ended as they should,
-- within 1 % (a brain float has seven bits of fraction); no row of a stratum that has too few.
LEFT ANY JOIN
(
    SELECT
        cityHash64((/* stratum.sql */)) AS usual_stratum,
        toUInt64(quantileBFloat16Weighted(0.5)(assumeNotNull(duration_us), toUInt64(round(weight * 1000000)))) AS median_us
    FROM requests
    WHERE (/* ingest/measured_request.sql */)
        AND started_hour >= toStartOfHour({usual_since:DateTime64(6, 'UTC')})
        AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_hour <= toStartOfHour(assumeNotNull({until:Nullable(DateTime64(6, 'UTC'))})))
        AND started_at >= {usual_since:DateTime64(6, 'UTC')}
        AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at < {until:Nullable(DateTime64(6, 'UTC'))})
    GROUP BY usual_stratum
    HAVING count() >= {enough:UInt32}
) AS usual ON cityHash64((/* stratum.sql */)) = usual.usual_stratum
