-- One row is one path's requests of a finding, or those of all paths beyond the most frequent: for how many those stand that
-- came since it began, and before it, the time that those took and what the traced ones spent it on; how many have a trace, and
-- for how many requests these speak; and in every row how many requests and users it has in all since then, of how many of those
-- that were asked about, whatever else was found among them.
SELECT
    sum(of_paths.after) AS after,
    sum(of_paths.before) AS before,
    if(after > 0, sum(took_after_us) / after, 0) AS mean_after_us,
    if(before > 0, sum(took_before_us) / before, 0) AS mean_before_us,
    sum(of_paths.traced_after) AS traced_after,
    sum(of_paths.traced_before) AS traced_before,
    sum(of_paths.traced_weight_after) AS traced_weight_after,
    sum(of_paths.traced_weight_before) AS traced_weight_before,
    sumForEach(of_paths.cause_after_us) AS cause_after_us,
    sumForEach(of_paths.cause_before_us) AS cause_before_us,
    any(counted.found_requests) AS found_requests,
    any(counted.found_users) AS found_users,
    any(counted.all_requests) AS all_requests,
    any(counted.all_users) AS all_users
FROM
(
    SELECT
        sumIf(weight, is_after AND is_measured) AS after,
        sumIf(weight, NOT is_after AND is_measured) AS before,
        sumIf(weight * duration_us, is_after AND is_measured) AS took_after_us,
        sumIf(weight * duration_us, NOT is_after AND is_measured) AS took_before_us,
        countIf(is_after AND is_measured AND trace_weight > 0) AS traced_after,
        countIf(NOT is_after AND is_measured AND trace_weight > 0) AS traced_before,
        sumIf(trace_weight, is_after AND is_measured) AS traced_weight_after,
        sumIf(trace_weight, NOT is_after AND is_measured) AS traced_weight_before,
        sumForEachIf(arrayMap(cause -> cause * trace_weight, [/* causes */]), is_after AND is_measured) AS cause_after_us,
        sumForEachIf(arrayMap(cause -> cause * trace_weight, [/* causes */]), NOT is_after AND is_measured) AS cause_before_us,
        least(row_number() OVER (ORDER BY after DESC, before DESC, path), {paths_at_most:UInt32} + 1) AS place
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
GROUP BY place
ORDER BY place
