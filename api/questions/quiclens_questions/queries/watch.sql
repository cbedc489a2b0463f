-- One row is one cell and one measure in which it may have just become worse, the surest first; `is_found` says whether it
-- has. Totals of all cells stand in every row; a row without a measure has them alone. `watch.py` says why the test is what
-- it is.
--
-- Of each test, k of n requests of the window count and x of m before it. Without a change k is beta-binomial around the
-- share before, with the variance that the dispersion and a baseline of m requests give it. The chance of k or more is
-- bounded from above by a geometric series (Feller, "An Introduction to Probability Theory" I, VI.3). Chances of the tests
-- of one measure are combined as Simes does it, and `q` is that of Benjamini and Hochberg over all measures. Nothing of the baseline is beyond the last edge, so that it shows no dispersion there: it is
-- that of the edge before. A measure whose chance is above `level` cannot be found, and is only counted.
SELECT
    pool,
    cells,
    measure,
    p,
    test,
    least(1, min(p * tests / place) OVER (ORDER BY place DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)) AS q,
    measure != '' AND q <= {level:Float64} AS is_found,
    hits[test] AS k,
    of[test] AS n,
    hits_before[test] AS x,
    of_before[test] AS m,
    dispersions[test] AS dispersion,
    if(measure = 'duration', pow(1.02, edges[test] + 1), NULL) AS beyond_us,
    if(of[1] >= 100, pow(1.02, p99_bucket + 0.5), NULL) AS p99,
    if(of_before[1] >= 100, pow(1.02, p99_bucket_before + 0.5), NULL) AS p99_before,
    tests,
    cells_tested,
    pools_tested,
    requests_tested,
    cells_left_out,
    requests_left_out,
    requests_all,
    traced_all,
    weight_all
FROM
(
    SELECT
        *,
        candidate.1 AS measure,
        candidate.2 AS p,
        candidate.3 AS test,
        row_number() OVER (ORDER BY measure = '', p, pool, measure) AS place
    FROM
    (
        SELECT
            *,
            row_number() OVER (ORDER BY pool) = 1 AS is_first,
            arrayDistinct(measures) AS names,
            arrayMap(
                name -> arraySort(arrayFilter((p, other) -> other = name, chances, measures)), names
            ) AS chances_of_measures,
            arrayFilter(
                each -> each.2 <= {level:Float64},
                arrayMap(
                    (name, sorted) -> (
                        name,
                        arrayMin(arrayMap((p, rank) -> p * length(sorted) / rank, sorted, arrayEnumerate(sorted))),
                        toUInt8(arrayFirstIndex((other, p) -> other = name AND p = sorted[1], measures, chances))
                    ),
                    names,
                    chances_of_measures
                )
            ) AS candidates,
            sum(length(arrayDistinct(arrayFilter((_, enough) -> enough, measures, is_enough)))) OVER () AS tests,
            countIf(is_tested) OVER () AS cells_tested,
            countIf(is_tested AND length(pool) < {columns:UInt8}) OVER () AS pools_tested,
            sumIf(requests, is_tested) OVER () AS requests_tested,
            sumIf(cells, NOT is_tested) OVER () AS cells_left_out,
            sumIf(requests, NOT is_tested) OVER () AS requests_left_out,
            sum(requests) OVER () AS requests_all,
            sum(traced) OVER () AS traced_all,
            sum(weight) OVER () AS weight_all
        FROM
        (
            SELECT
                *,
                arrayExists(enough -> enough, is_enough) AS is_tested,
                arrayMap(
                    (k, n, a, b, prior, suspect) -> if(
                        suspect,
                        least(
                            1,
                            exp(
                                lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + lgamma(k + a) - lgamma(a)
                                + lgamma(n - k + b) - lgamma(b) + lgamma(prior) - lgamma(n + prior)
                            )
                            / greatest(0, 1 - if(n - k < 1, 0, (n - k) / (n - k - 1 + b) * greatest(1, (k + a) / (k + 1))))
                        ),
                        1
                    ),
                    hits,
                    of,
                    arrayMap((prior, x, m) -> prior * (x + 1) / (m + 1), priors, hits_before, of_before) AS as_,
                    arrayMap((prior, x, m) -> prior * (m - x) / (m + 1), priors, hits_before, of_before) AS bs,
                    priors,
                    arrayMap(
                        (k, n, x, m, b, prior, enough) -> enough AND prior > 0 AND b >= 1
                            AND k > 0 AND k * (m - x) >= {times_min:Float64} * x * (n - k),
                        hits,
                        of,
                        hits_before,
                        of_before,
                        bs,
                        priors,
                        is_enough
                    )
                ) AS chances
            FROM
            (
                SELECT
                    *,
                    arrayMap(
                        (n, m, dispersion) -> (n - 1) / (dispersion * (1 + (n - 1) / (m + 2)) - 1) - 1,
                        of,
                        of_before,
                        dispersions
                    ) AS priors
                FROM
                (
                    SELECT
                        *,
                        arrayConcat(
                            arrayMap(_ -> 'duration', edges), ['failed', 'handshake', 'not_quic', 'loss', 'retransmission']
                        ) AS measures,
                        arrayMap(
                            (now, before) -> notEmpty(pool)
                                AND now >= {samples_min:UInt64}
                                AND before >= {samples_before_min:UInt64},
                            of,
                            of_before
                        ) AS is_enough,
                        arrayMap(
                            (ratio, trust, common) -> greatest(
                                1, ({trust_in_common:Float64} * common + trust * ratio) / ({trust_in_common:Float64} + trust)
                            ),
                            ratios,
                            trusts,
                            arrayMap(
                                (weighted, weights) -> if(weights > 0, greatest(1, weighted / weights), 1),
                                sumForEach(arrayMap((ratio, trust) -> ratio * trust, ratios, trusts)) OVER (),
                                sumForEach(trusts) OVER ()
                            )
                        ) AS dispersions_shown,
                        arrayMap(
                            (place, dispersion) -> if(place = length(edges), dispersions_shown[greatest(1, place - 1)], dispersion),
                            arrayEnumerate(of),
                            dispersions_shown
                        ) AS dispersions
                    FROM
                    (
                        SELECT
                            *,
                            arrayMap((here, alone) -> if(alone > 0, here / alone, 0), scatter, scatter_alone) AS ratios,
                            arrayMap(
                                alone -> if(alone > 0, (stretches - 1) / (1 + stretches / (2 * alone)), 0), scatter_alone
                            ) AS trusts
                        FROM (/* watch_counts.sql */)
                    )
                )
            )
        )
    )
    ARRAY JOIN if(empty(candidates) AND is_first, [('', 1., 1)], candidates) AS candidate
)
ORDER BY place
