-- One row is one path's requests of a finding: for how many those stand that came since it began, and before it, the time that
-- those took and what the traced ones spent it on; how many have a trace, and for how many requests these speak; and in every
-- row how many requests and users it has in all since then, of how many of those that were asked about, whatever else was found
-- among them.
SELECT
    path,
    after,
    before,
    mean_after_us,
    mean_before_us,
    traced_after,
    traced_before,
    traced_weight_after,
    traced_weight_before,
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
        sumIf(weight, is_after AND is_measured) AS after,
        sumIf(weight, NOT is_after AND is_measured) AS before,
        if(after > 0, sumIf(weight * duration_us, is_after AND is_measured) / after, 0) AS mean_after_us,
        if(before > 0, sumIf(weight * duration_us, NOT is_after AND is_measured) / before, 0) AS mean_before_us,
        countIf(is_after AND is_measured AND trace_weight > 0) AS traced_after,
        countIf(NOT is_after AND is_measured AND trace_weight > 0) AS traced_before,
        sumIf(trace_weight, is_after AND is_measured) AS traced_weight_after,
        sumIf(trace_weight, NOT is_after AND is_measured) AS traced_weight_before,
        sumForEachIf(arrayMap(cause -> cause * trace_weight, [/* causes */]), is_after AND is_measured) AS cause_after_us,
        sumForEachIf(arrayMap(cause -> cause * trace_weight, [/* causes */]), NOT is_after AND is_measured) AS cause_before_us
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
