-- One row: how many of the sampled traces have records that are missing or stand twice.
SELECT countIf(sampled.missing > 0 OR sampled.doubled > 0) AS traces_with_gaps
FROM (/* pipeline/sampled_traces.sql */) AS sampled
LIMIT 1
