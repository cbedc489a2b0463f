-- One row: how many of the sampled traces have records that are missing or stand twice.
SELECT
    countIf(t.missing > 0 OR t.doubled > 0) AS traces_with_gaps,
    sum(t.missing) AS missing,
    sum(t.doubled) AS doubled,
    count() AS audited
FROM (/* pipeline/sampled_traces.sql */) AS t
LIMIT 1
