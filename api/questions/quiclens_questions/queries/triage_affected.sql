-- One row is one path's requests of a finding: how many there are since it began and before it, the time that those took and
-- what the traced ones spent it on; and in every row how many requests and users it has in all since then, of how many of
-- those that were asked about, whatever else was found among them.
SELECT
    path,
    after,
    before,
    mean_after_us,
    mean_before_us,
    traced_after,
    traced_before,
    cause_after_us,
    cause_before_us,
    found_requests,
    found_users,
    all_requests,
    all_users
FROM
(
    SELECT
        ifNull(path, '') AS path,
        countIf(is_after AND is_measured) AS after,
        countIf(NOT is_after AND is_measured) AS before,
        if(after > 0, sumIf(duration_us, is_after AND is_measured) / after, 0) AS mean_after_us,
        if(before > 0, sumIf(duration_us, NOT is_after AND is_measured) / before, 0) AS mean_before_us,
        countIf(is_after AND is_measured AND trace_weight > 0) AS traced_after,
        countIf(NOT is_after AND is_measured AND trace_weight > 0) AS traced_before,
        sumForEachIf([/* causes */], is_after AND is_measured AND trace_weight > 0) AS cause_after_us,
        sumForEachIf([/* causes */], NOT is_after AND is_measured AND trace_weight > 0) AS cause_before_us
    FROM
    (
        SELECT
            *,
            started_at >= {began:DateTime64(6, 'UTC')} AS is_after,
            (/* ingest/measured_request.sql */) AS is_measured
        FROM requests
        WHERE started_at IS NOT NULL
            AND (/* holds */)
            AND (/* in_window.sql */)
        /* conditions */
    )
    GROUP BY path
) AS of_paths
CROSS JOIN
(
    SELECT
        countIf((/* holds */)) AS found_requests,
        uniqExactIf(user_hash, (/* holds */)) AS found_users,
        count() AS all_requests,
        uniqExact(user_hash) AS all_users
    FROM requests
    WHERE started_at >= {began:DateTime64(6, 'UTC')}
        AND (/* in_window.sql */)
    /* asked conditions */
) AS counted
ORDER BY
    after DESC,
    path
LIMIT 10000
