-- One row is one cell that was looked at: how many of its requests in the window took longer than 99 of 100 did before,
-- whether that is more than chance makes of thousands of cells, and what its p99 is and was.
--
-- Without a change, how many of n new requests are beyond the rank-th largest of m earlier ones is beta-binomial with rank
-- and m - rank + 1, whatever the durations' distribution (Gumbel and von Schelling, Annals of Mathematical Statistics 21,
-- 1950). The threshold is at or above it, so p errs to the large side. That holds for requests on their own; those of one
-- client are alike. `dispersion` is by how much more unevenly than alone they fell on the stretches before the window, of
-- all cells together, and so many requests count as one. A cell that is not `times_min` times as often beyond has p = 1.
-- Found are those of Benjamini and Hochberg (Journal of the Royal Statistical Society B 57, 1995) among all tested: cells
-- share no request, and what hits many at once moves them the same way, which leaves that valid.
SELECT
    pool,
    cells,
    requests,
    traced,
    weight,
    samples,
    samples_before,
    if(samples >= 100, pow(1.02, p99_bucket + 0.5), NULL) AS p99,
    if(samples_before >= 100, pow(1.02, p99_bucket_before + 0.5), NULL) AS p99_before,
    pow(1.02, bucket + 1) AS beyond_us,
    beyond,
    beyond_before,
    dispersion,
    p,
    least(1, q_here) AS q,
    is_tested,
    is_tested AND q <= {rate:Float64} AS is_found
FROM
(
    SELECT
        *,
        min(p * tests / place_by_p) OVER (
            PARTITION BY is_tested
            ORDER BY place_by_p DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS q_here
    FROM
    (
        SELECT
            *,
            count() OVER (PARTITION BY is_tested) AS tests,
            row_number() OVER (PARTITION BY is_tested ORDER BY p, pool) AS place_by_p
        FROM
        (
            SELECT
                *,
                notEmpty(pool) AND samples >= {samples_min:UInt64} AND samples_before >= {samples_before_min:UInt64} AS is_tested,
                is_tested AND beyond > 0
                    AND beyond * samples_before >= {times_min:Float64} * beyond_before * samples AS is_larger,
                toUInt64(floor(samples / dispersion)) AS n,
                toUInt64(floor(beyond / dispersion)) AS slow,
                toUInt64(floor(samples_before / dispersion)) AS m,
                least(toUInt64(ceil(rank / dispersion)), m) AS above,
                lgamma(n + 1) + lgamma(m + 1) - lgamma(above) - lgamma(m - above + 1) - lgamma(n + m + 1) AS log_constant,
                if(
                    is_larger,
                    least(
                        1,
                        arraySum(
                            count -> exp(
                                log_constant + lgamma(count + above) - lgamma(count + 1)
                                + lgamma(n - count + m - above + 1) - lgamma(n - count + 1)
                            ),
                            range(slow, if(is_larger, n + 1, slow))
                        )
                    ),
                    1
                ) AS p
            FROM
            (
                SELECT
                    *,
                    sum(scatter) OVER () AS scatters,
                    sum(scatter_alone) OVER () AS scatters_alone,
                    if(scatters_alone > 0, greatest(1, scatters / scatters_alone), 1) AS dispersion
                FROM (/* regression_counts.sql */)
            )
        )
    )
)
ORDER BY
    is_found DESC,
    p,
    samples DESC,
    pool
